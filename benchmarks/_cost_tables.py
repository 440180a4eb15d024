"""The tables of speed and memory at growing sizes, against what is possible and against others."""

from _table import Table, listing, table, where

ACCURACY = "{accuracy:.2p} %"
_LIMITS = {
    "layers": "{n_layers}",
    "threads": "{n_jobs}",
    "": "{what}",
    "skdp": "{seconds:.2f} s",
    "bare calls": "{bare_seconds:.2f} s",
    "ratio": "{ratio:.2f}",
    "accuracy": (ACCURACY, ""),
}
_DIRECTIONS = {
    "directions": "{n_directions}",
    "computed to find the class": "{errors_for_class:.1f}",
    "to know all errors": "{errors_for_all:.1f}",
    "of": "{of}",
}


def limits(record):
    counts = where(record["rows"], what="directions")
    return (
        listing([row for row in record["rows"] if row not in counts], _LIMITS)
        + "\n\nErrors of a digit that are computed in full, one layer:\n\n"
        + listing(counts, _DIRECTIONS)
    )


_PROBES = {"all": "predict", "n_probe=4": "predict_4", "n_probe=2": "predict_2"}
_GROWTH = {
    "": "{what}",
    "size": "{size:,}",
    "fit": "{fit_seconds:.2f} s",
    "data": "{data_mib:.0f} MiB",
    "model": "{model_mib:.0f} MiB",
    "peak of fit above the data": "{fit_peak_above_data_mib:.0f} MiB",
    "queries": "{queries:,}",
    **{f"predict, {probe}": f"{{{name}_seconds:.2f}} s" for probe, name in _PROBES.items()},
    **{f"accuracy, {probe}": f"{{{name}_accuracy:.2p}} %" for probe, name in _PROBES.items()},
}


def growth(record):
    slopes = record["settings"]["exponents"].items()
    exponents = "; ".join(f"{name.replace('_', ' ')} {slope:.2f}" for name, slope in slopes)
    return f"{listing(record['rows'], _GROWTH)}\n\nExponents: {exponents}."


digits_models = Table(
    {
        "model": "{model}",
        "rows": "{rows:,}",
        "accuracy": ACCURACY,
        "fit": "{fit_seconds:.1f} s",
        "predict": "{predict_seconds:.2f} s",
        "a query": lambda rows: f"{1e6 * rows[0]['predict_seconds'] / rows[0]['queries']:.0f} µs",
        "peak of fit above the data": "{fit_peak_above_data_mib:.0f} MiB",
    }
)
_KINDS = {"source": "DPSource", "classifier": "WideCDMMAClassifier"}


def _setting(rows):
    setting = rows[0]["setting"]
    return setting if rows[0]["kind"] == "source" else f"{setting} layers"


memory = Table(
    {
        "": lambda rows: _KINDS[rows[0]["kind"]],
        "setting": _setting,
        "data": "{data}",
        "step": "{step}",
        "held before": "{before_mib:.0f} MiB",
        "peak above the data": "{peak_mib:.0f} MiB",
        "relative to the data": lambda rows: f"{rows[0]['peak_mib'] / rows[0]['data_mib']:.2f}",
    }
)


def _milliseconds(key):
    return lambda rows: f"{1000 * rows[0][key]:.0f} ms"


_FIRST = {
    "release": "{case}",
    "load": _milliseconds("load"),
    "predict 1,000 rows": _milliseconds("first"),
    "both, median": _milliseconds("median_of_both"),
    "once more": _milliseconds("again"),
}
_ENCODED = {
    "columns": "{case}",
    "million values encoded a second": "{million_values_a_second:.1f}",
}


def startup(record):
    rows = record["rows"]
    imports = where(rows, what="import")
    ratios = {f"relative to {row['case']}": f"{{ratio_to_{row['case']}:.2f}}" for row in imports}
    parts = [
        listing(imports, {"import": "{case}", "seconds": "{seconds:.2f} s", **ratios}),
        listing(where(rows, what="first"), _FIRST),
        listing(where(rows, what="encode"), _ENCODED),
    ]
    return "\n\n".join(parts)


# What the cases of the scale of exact sums are.
SCALE = {
    "digits": "fit of 60,000 digits",
    "sums": "sums of their 784 pixels",
    "stream": "stream, 100 columns",
    "persons": "the same, by persons",
    "file": "the same columns in Parquet files",
    "dask-0": "stream, one process",
}
FEEDS = {
    "feed-pandas": "`pandas.read_parquet`, then `add`",
    "feed-polars": "`polars.read_parquet`, then `add`",
    "feed-batches": "`pyarrow.dataset(...).to_batches()`, `add` of each",
    "feed-parquet": "`add_parquet`",
}
_SUMS = {
    "": lambda rows: SCALE.get(rows[0]["case"], f"Dask, workers: {rows[0].get('workers')}"),
    "rows": "{rows:,}",
    "seconds": ("{seconds:.1f}", "{wall_seconds:.1f}"),
    "ratio": "{ratio:.1f}",
    "peak": tuple(f"{{peak_{what}mib:.0f}} MiB" for what in ("above_rows_", "", "above_start_")),
    "files": "{file_mib:.1f} MiB",
}


def statistics_scale(record):
    """Seconds, ratio to a plain product of the same rows, and memory."""
    rows = [row for row in record["rows"] if not row["case"].startswith(("feed", "many"))]
    return (
        "Processor seconds of one thread, and their ratio to X.T @ X in float64 of the same "
        "chunks; a column of a stream is three terms, so that nine times that product is needed. "
        "Wall-clock seconds on Dask clusters, whose workers also make the rows; all gave the same "
        "sums. Peak memory is that of the process, or of the largest worker, where rows are "
        "streamed, and what comes on top of the rows, or of the start, elsewhere.\n\n"
        + listing(rows, _SUMS)
    )


def feeds(record):
    """Seconds and memory of four ways from Parquet files to sums, and their ratios to pandas."""
    rows = where(record["rows"], case=tuple(FEEDS))
    first, body = rows[0], []
    for row in rows:
        seconds, peak = row["seconds"], row["peak_above_start_mib"]
        times = f"{seconds:.2f}", f"{seconds / first['seconds']:.2f}"
        memory = f"{peak:.0f} MiB", f"{peak / first['peak_above_start_mib']:.2f}"
        body.append([FEEDS[row["case"]], *times, f"{row['rows'] / seconds:,.0f}", *memory])
    header = ["", "seconds", "of pandas", "rows a second", "peak above start", "of pandas"]
    return (
        f"{first['rows']:,} rows of 20 columns of numbers, 10 of text, 5 of truth values and 5 of "
        f"whole numbers with missing ones, in Parquet files of {first['file_mib']:.0f} MiB; "
        f"{first['terms']} terms are summed. Processor seconds of one thread, reading included. "
        "All gave the same sums, bit for bit.\n\n" + table(header, body)
    )


# What is to be reached on paper, and the price of an hour of a core in US dollars (an assumption).
ROWS, CORES, PRICE = 10**9, 64, 0.05
ROWS_OF_A_PERSON = 5
HOUR = 3600
COMPUTED = {
    "stream": "sums of rows that are in memory",
    "file": "sums of rows in Parquet files, reading included",
    "dask-1": "sums on a worker of Dask, which also makes the rows",
}


def billion(record):
    """What 10⁹ rows of 100 columns take on 64 cores, from what was measured."""
    rows = {row["case"]: row for row in record["rows"]}
    header = ["", "measured", f"10⁹ rows × 100 columns, {CORES} cores"]
    body = [
        *(_computing(rows[case], what) for case, what in COMPUTED.items()),
        *_traffic(rows["dask-4"], rows["many"]),
        *_memory(rows),
    ]
    return (
        "Extrapolated in proportion from the cases above and a cluster of two workers that summed "
        f"{rows['many']['chunks']:,} chunks of hardly any rows, on cores that the scheduler and "
        "other work shared. Rows in files are random float64 numbers, which no compression makes "
        "smaller: the worst case. Not included: starting the workers, and a storage that is "
        "slower than that. One accumulator "
        "holds no more than 2³⁰ rows, 1.07·10⁹.\n\n" + table(header, body)
    )


def _computing(row, what):
    seconds = row.get("worker_seconds", row.get("seconds")) / row["rows"] * 1e6
    hours = seconds * ROWS / 1e6 / HOUR
    measured = f"{seconds:.1f} s of a core for 10⁶ rows"
    paper = (
        f"{hours:.1f} hours of a core: {hours / CORES * 60:.1f} minutes, "
        f"{hours * PRICE:.2f} $ at {PRICE} $ an hour of a core"
    )
    if "file_mib" in row:
        measured += f", files of {row['file_mib'] / row['rows'] * 1e6:.0f} MiB"
        size = row["file_mib"] / row["rows"] * ROWS
        rate = size / (hours / CORES * HOUR)
        paper += f"; {size / 2**20:.2f} TiB of files, {rate / 2**10:.1f} GiB/s from storage"
    return [what, measured, paper]


def _traffic(row, many):
    chunk = row["rows"] / row["chunks"]
    n_chunks = ROWS / chunk
    sent = row["sent_mib"] / row["chunks"]
    rate = many["chunks"] / many["wall_seconds"]
    each = f"{sent:.2f} MiB for each chunk of {chunk:,.0f} rows, on 4 workers"
    sums = f"{row['sums_mib']:.2f} MiB"
    minutes = f"{n_chunks / rate / 60:.1f} minutes, less with larger chunks"
    chunks = f"{n_chunks:,.0f} chunks of {chunk:,.0f} rows: {minutes}"
    return [
        ["sums between workers", each, f"{sent * n_chunks / 2**10:.1f} GiB in all"],
        ["what arrives in the end", sums, sums],
        ["chunks that the scheduler manages", f"{rate:.0f} a second", chunks],
    ]


def _memory(rows):
    worker, persons, stream = rows["dask-4"], rows["persons"], rows["dask-0"]
    n_persons = persons["rows"] / ROWS_OF_A_PERSON
    each = (persons["peak_mib"] - stream["peak_mib"]) / n_persons
    peak, start = worker["peak_mib"], worker["start_mib"]
    of_worker = f"{peak:.0f} MiB, of which {start:.0f} at the start"
    of_persons = (
        f"{each * ROWS / ROWS_OF_A_PERSON / 2**10:.0f} GiB in one process, where persons have "
        f"{ROWS_OF_A_PERSON} rows each; none where rows are protected"
    )
    return [
        ["memory of a worker", of_worker, f"{peak:.0f} MiB: it does not grow"],
        ["memory for the list of persons", f"{each * 2**20:.0f} bytes a person", of_persons],
    ]

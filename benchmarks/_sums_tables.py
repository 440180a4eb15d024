"""The tables of exact sums over many rows: time, memory, feeding, and the way to 10⁹ rows."""

from _table import load, table

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
    "pandas": "`pandas.read_parquet`, then `add`",
    "polars": "`polars.read_parquet`, then `add`",
    "batches": "`pyarrow.dataset(...).to_batches()`, `add` of each",
    "parquet": "`add_parquet`",
}
# What is to be reached on paper, and the price of an hour of a core in US dollars (an assumption).
ROWS, CORES, PRICE = 10**9, 64, 0.05
ROWS_OF_A_PERSON = 5
HOUR = 3600


def statistics_scale():
    """Seconds, ratio to a plain product of the same rows, and memory."""
    rows = load("statistics_scale")["rows"]
    body = [_scale_row(row) for row in rows if not row["case"].startswith(("feed", "many"))]
    return (
        "Processor seconds of one thread, and their ratio to X.T @ X in float64 of the same "
        "chunks; a column of a stream is three terms, so that nine times that product is needed. "
        "Wall-clock seconds on Dask clusters, whose workers also make the rows; all gave the same "
        "sums. Peak memory is that of the process, or of the largest worker, where rows are "
        "streamed, and what comes on top of the rows, or of the start, elsewhere.\n\n"
        + table(["", "rows", "seconds", "ratio", "peak", "files"], body)
    )


def _scale_row(row):
    what = SCALE.get(row["case"], f"Dask, workers: {row.get('workers')}")
    ratio = f"{row['ratio']:.1f}" if "ratio" in row else "–"
    memory = next(row[key] for key in row if key.startswith("peak"))
    file = f"{row['file_mib']:.1f} MiB" if "file_mib" in row else "–"
    seconds = row.get("seconds", row.get("wall_seconds"))
    return [what, f"{row['rows']:,}", f"{seconds:.1f}", ratio, f"{memory:.0f} MiB", file]


def feeds():
    """Seconds and memory of four ways from Parquet files to sums, and their ratios to pandas."""
    rows = {row["case"]: row for row in load("statistics_scale")["rows"]}
    first = rows["feed-pandas"]
    body = []
    for name, what in FEEDS.items():
        row = rows[f"feed-{name}"]
        seconds, peak = row["seconds"], row["peak_above_start_mib"]
        times = f"{seconds:.2f}", f"{seconds / first['seconds']:.2f}"
        memory = f"{peak:.0f} MiB", f"{peak / first['peak_above_start_mib']:.2f}"
        body.append([what, *times, f"{row['rows'] / seconds:,.0f}", *memory])
    header = ["", "seconds", "of pandas", "rows a second", "peak above start", "of pandas"]
    return (
        f"{first['rows']:,} rows of 20 columns of numbers, 10 of text, 5 of truth values and 5 of "
        f"whole numbers with missing ones, in Parquet files of {first['file_mib']:.0f} MiB; "
        f"{first['terms']} terms are summed. Processor seconds of one thread, reading included. "
        "All gave the same sums, bit for bit.\n\n" + table(header, body)
    )


def billion():
    """What 10⁹ rows of 100 columns take on 64 cores, from what was measured."""
    rows = {row["case"]: row for row in load("statistics_scale")["rows"]}
    header = [
        "",
        "measured",
        f"{ROWS:.0e} rows × 100 columns, {CORES} cores".replace("e+09", "0⁹"),
    ]
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


COMPUTED = {
    "stream": "sums of rows that are in memory",
    "file": "sums of rows in Parquet files, reading included",
    "dask-1": "sums on a worker of Dask, which also makes the rows",
}


def _computing(row, what):
    seconds = row.get("worker_seconds", row.get("seconds")) / row["rows"] * 1e6
    hours = seconds * ROWS / 1e6 / HOUR
    measured = f"{seconds:.1f} s of a core for 10⁶ rows"
    if "file_mib" in row:
        measured += f", files of {row['file_mib'] / row['rows'] * 1e6:.0f} MiB"
    paper = (
        f"{hours:.1f} hours of a core: {hours / CORES * 60:.1f} minutes, "
        f"{hours * PRICE:.2f} $ at {PRICE} $ an hour of a core"
    )
    if "file_mib" in row:
        size = row["file_mib"] / row["rows"] * ROWS
        rate = size / (hours / CORES * HOUR)
        paper += f"; {size / 2**20:.2f} TiB of files, {rate / 2**10:.1f} GiB/s from storage"
    return [what, measured, paper]


def _traffic(row, many):
    chunk = row["rows"] / row["chunks"]
    n_chunks = ROWS / chunk
    sent = row["sent_mib"] / row["chunks"]
    rate = many["chunks"] / many["wall_seconds"]
    return [
        [
            "sums between workers",
            f"{sent:.2f} MiB for each chunk of {chunk:,.0f} rows, on 4 workers",
            f"{sent * n_chunks / 2**10:.1f} GiB in all",
        ],
        ["what arrives in the end", f"{row['sums_mib']:.2f} MiB", f"{row['sums_mib']:.2f} MiB"],
        [
            "chunks that the scheduler manages",
            f"{rate:.0f} a second",
            f"{n_chunks:,.0f} chunks of {chunk:,.0f} rows: {n_chunks / rate / 60:.1f} minutes, "
            "less with larger chunks",
        ],
    ]


def _memory(rows):
    worker, persons, stream = rows["dask-4"], rows["persons"], rows["dask-0"]
    n_persons = persons["rows"] / ROWS_OF_A_PERSON
    each = (persons["peak_mib"] - stream["peak_mib"]) / n_persons
    peak, start = worker["peak_mib"], worker["start_mib"]
    return [
        [
            "memory of a worker",
            f"{peak:.0f} MiB, of which {start:.0f} at the start",
            f"{peak:.0f} MiB: it does not grow",
        ],
        [
            "memory for the list of persons",
            f"{each * 2**20:.0f} bytes a person",
            f"{each * ROWS / ROWS_OF_A_PERSON / 2**10:.0f} GiB in one process, where persons have "
            f"{ROWS_OF_A_PERSON} rows each; none where rows are protected",
        ],
    ]

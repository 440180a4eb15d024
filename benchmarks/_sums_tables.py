"""The tables of exact sums over many rows: time, memory, feeding, and the way to 10⁹ rows."""

from _measured_tables import with_columns
from _table import table, where

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


def scale(record):
    rows = [row for row in record["rows"] if not row["case"].startswith(("feed", "many"))]
    return with_columns(
        rows, title=lambda row: SCALE.get(row["case"], f"Dask, workers: {row.get('workers')}")
    )


def feeds(record):
    """Four ways from Parquet files to sums, with their ratios to pandas."""
    rows = where(record["rows"], case=tuple(FEEDS))
    seconds, peak = rows[0]["seconds"], rows[0]["peak_above_start_mib"]
    return with_columns(
        rows,
        title=lambda row: FEEDS[row["case"]],
        time_ratio=lambda row: row["seconds"] / seconds,
        peak_ratio=lambda row: row["peak_above_start_mib"] / peak,
        rate=lambda row: row["rows"] / row["seconds"],
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

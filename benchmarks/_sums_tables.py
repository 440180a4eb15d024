"""The tables of exact sums over many rows: time, memory, feeding, and the way to 10⁹ rows."""

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


COLUMNS = {
    "title": lambda r: SCALE.get(r["case"], f"Dask, workers: {r.get('workers')}"),
    "shown": lambda r: not r["case"].startswith(("feed", "many")),
}


# What is to be reached on paper, and the price of an hour of a core in US dollars (an assumption).
ROWS, CORES, PRICE = 10**9, 64, 0.05
ROWS_OF_A_PERSON, HOUR = 5, 3600


def computing(record):
    """What 10⁹ rows of 100 columns take of cores and files, from what was measured."""
    rows = {row["case"]: row for row in record["rows"]}
    found = []
    for case in ("stream", "file", "dask-1"):
        row = rows[case]
        seconds = row.get("worker_seconds", row.get("seconds")) / row["rows"]
        hours = seconds * ROWS / HOUR
        each = {"case": case, "seconds": seconds * 1e6, "hours": hours, "price": hours * PRICE}
        each["minutes"] = hours / CORES * 60
        if "file_mib" in row:
            size = row["file_mib"] / row["rows"]
            rate = size * ROWS / (hours / CORES * HOUR) / 2**10
            each |= {"mib": size * 1e6, "tib": size * ROWS / 2**20, "rate": rate}
        found.append(each)
    return found

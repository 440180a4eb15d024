"""How to run the benchmarks: commands, with the rows and hours of their results."""

from _store import HERE
from _table import load, table


def page():
    """Return README.md: its pattern, whose table names result files and what these need."""
    text, *lines = (HERE / "pages" / "README.md").read_text().split("\n| ")
    header, *body = [line.strip().removesuffix(" |").split(" | ") for line in lines]
    return f"{text}\n{table(header, [_line(*line) for line in body])}\n"


def _line(names, needs):
    records = [load(name) for name in names.split(", ")]
    time = [record["seconds"] for record in records if "seconds" in record]
    rows = sum(len(record["rows"]) for record in records)
    hours = _hours(max(time) if time else sum(map(seconds, records)))
    return [f"`{records[0]['command']}`", needs, rows, hours]


def seconds(record):
    """Sum of the recorded seconds; those of a source that served several rows count once."""
    total, sources = 0.0, set()
    for row in record["rows"]:
        spent = sum(value or 0.0 for name, value in row.items() if name.endswith("seconds"))
        source = (row.get("case"), row.get("level"), row.get("variant"), spent)
        if row.get("model") != "source alone" or source not in sources:
            total += spent
        sources.add(source)
    return total


def _hours(spent):
    if not spent:
        return "not recorded"
    return f"{spent / 3600:.1f}" if spent >= 360 else "less than 0.1"


def made_at(record):
    """Commits and cores behind a result file."""
    runs = record.get("runs") or [record]
    commits = sorted({run["commit"] for run in runs})
    cores = sorted({run["cores"] for run in runs})
    some = f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits)} commits"
    return f"{some}, {' or '.join(map(str, cores))} cores"

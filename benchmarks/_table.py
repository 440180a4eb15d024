"""What the tables share: result files, Markdown, per cent with a spread."""

import json
from pathlib import Path

HERE = Path(__file__).parent


def load(name):
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def percent(value):
    return f"{100 * value:.2f} %"


def spread(row):
    return f"{100 * row['mean']:.1f} ± {100 * row['sd']:.1f} %"


def mean_spread(values):
    if not values:
        return "–"
    mean = sum(values) / len(values)
    sd = (sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1)) ** 0.5
    return f"{mean:.1f} ± {sd:.1f} %" if len(values) > 1 else f"{mean:.1f} %"


def levels(rows):
    return list(dict.fromkeys(r["epsilon"] for r in rows if r["epsilon"] != "-"))


def pick(rows, key="accuracy", **wanted):
    return [r[key] for r in rows if all(r[name] == value for name, value in wanted.items())]


def epsilon_name(epsilon):
    return "∞" if epsilon == "inf" else f"{float(epsilon):g}"

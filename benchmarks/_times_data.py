"""Five tables whose outcome is a time to an event, in public bounds."""

import functools

import numpy as np
import pandas as pd
from _confidence_data import CUT, categories, numbers
from _tasks import data_file

from skdp import Schema

# Units and code books; laboratory values that spread over decades are logarithmic. The years of
# a sample are those of the study.
FLCHAIN = (
    numbers(age=(50, 110), **{"flc.grp": (1, 10), "sample.yr": (1995, 2003)})
    | {
        "creatinine": {"type": "numeric", "low": 0.3, "high": 12, "log": True, "missing": True},
        "kappa": {"type": "numeric", "low": 0.01, "high": 40, "log": True},
        "lambda": {"type": "numeric", "low": 0.01, "high": 40, "log": True},
    }
    | categories(mgus=("no", "yes"), sex=("F", "M"))
)
WHAS500 = numbers(
    age=(18, 110), bmi=(10, 60), diasbp=(0, 200), hr=(20, 220), los=(0, 60), sysbp=(40, 260)
) | categories(
    **dict.fromkeys(("afb", "av3", "chf", "cvd", "gender", "miord", "mitype", "sho"), (0, 1))
)
HEART = {
    name: {"type": "numeric", "low": low, "high": high, "log": log}
    for name, low, high, log in (
        ("age", 18, 100, False),
        ("creatinine_phosphokinase", 10, 10_000, True),
        ("ejection_fraction", 5, 85, False),
        ("platelets", 10_000, 1_000_000, True),
        ("serum_creatinine", 0.2, 12, True),
        ("serum_sodium", 110, 155, False),
    )
} | categories(
    **dict.fromkeys(("anaemia", "diabetes", "high_blood_pressure", "sex", "smoking"), (0, 1))
)
# Columns, file, horizon in days: ten years and a half of flchain, five of the trials, six of
# whas500 and 285 days of the clinic, as their studies planned; ten years of nwtco.
TABLES = {
    "flchain": (FLCHAIN, "outcomes/flchain_time.csv.gz", 3833.0),
    "gbsg2": (CUT["gbsg2"][2], "outcomes/gbsg2.csv.gz", 1826.0),
    "whas500": (WHAS500, "outcomes/whas500_time.csv.gz", 2191.0),
    "nwtco": (CUT["nwtco"][2], "outcomes/nwtco.csv.gz", 3652.0),
    "heart_failure": (HEART, "heart_failure/heart_failure.csv", 285.0),
}


@functools.cache
def whole(name):
    """Return the columns of a table, events and times, and its schema."""
    columns, file, horizon = TABLES[name]
    rows = pd.read_csv(data_file(file)).rename(columns={"DEATH_EVENT": "event"})
    y = np.zeros(len(rows), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rows["event"] == 1, rows["time"]
    outcome = {"type": "event", "horizon": horizon}
    schema = Schema.from_mapping({"version": 1, "columns": columns, "outcome": outcome})
    return rows[list(columns)], y, schema


def split(name, draw):
    """Return numbers of rows to learn from, and of test rows: a third."""
    order = np.random.RandomState(draw).permutation(len(whole(name)[1]))
    n_test = len(order) // 3
    return order[n_test:], order[:n_test]

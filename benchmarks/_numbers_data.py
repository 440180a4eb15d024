"""Four tables whose outcome is a number, in public bounds, as regressions see them."""

import functools

import numpy as np
from _confidence_data import CUT, categories, numbers, outcomes
from _tables_peers import Rows
from sklearn.datasets import load_diabetes

from skdp import Schema, TabularEncoder

# Most rows to be predicted; a quarter of a smaller table.
MOST_TEST = 4000
# Units and code books: 65 is the greatest age of the experiment's families, a year of visits is
# less than two a week; amounts are logarithms of dollars, lc of 1 + per cent.
DOCTOR = (
    numbers(
        lc=(0, np.log(101)), lpi=(0, 8), fmde=(0, 9), ndisease=(0, 60), linc=(0, 11),
        lfam=(0, np.log(20)), educdec=(0, 25), age=(0, 65),
    )
    | categories(
        health=("poor", "fair", "good", "excellent"), sex=("female", "male"),
        **dict.fromkeys(("idp", "physlim", "child", "black"), (False, True)),
    )
)  # fmt: skip
# Years, kg/m², mmHg, mg/dl (s1, s2, s3, s6), a ratio (s4) and the logarithm of mg/dl (s5).
DIABETES = numbers(
    age=(18, 90), bmi=(15, 45), bp=(50, 140), s1=(80, 320), s2=(30, 250), s3=(15, 110),
    s4=(1, 10), s5=(3, 6.5), s6=(50, 130),
) | categories(sex=(1, 2))  # fmt: skip
TABLES = {  # columns, outcome, its public bounds
    "diamonds": (CUT["diamonds"][2], "price", (np.log(300), np.log(20_000))),
    "doctor": (DOCTOR, "mdu", (0.0, 80.0)),
    "vietnam": (CUT["vietnam"][2], "lntotal", (6.0, 13.0)),
    "diabetes": (DIABETES, "target", (25.0, 350.0)),
}
FILES = {"diamonds": "diamonds", "doctor": "doctor_contacts", "vietnam": "vietnam_expenditure"}


def diabetes():
    return load_diabetes(as_frame=True, scaled=False).frame


@functools.cache
def whole(name):
    """Return the frame of a table, the logarithm of a price or the number itself, the schema."""
    columns, outcome, (low, high) = TABLES[name]
    frame = outcomes(FILES[name]) if name in FILES else diabetes()
    y = frame[outcome].to_numpy(float)
    bounds = {"type": "number", "low": low, "high": high}
    schema = Schema.from_mapping({"version": 1, "columns": columns, "outcome": bounds})
    return frame[list(columns)], np.log(y) if outcome == "price" else y, schema


@functools.cache
def encoded(name):
    """Return all rows in [0, 1], and the kind of each column."""
    frame, _, schema = whole(name)
    encoder = TabularEncoder(schema).fit(frame)
    return encoder.transform(frame), encoder.column_kinds_


def split(name, draw):
    """Return numbers of rows to learn from, and of test rows."""
    order = np.random.RandomState(draw).permutation(len(whole(name)[1]))
    n_test = min(len(order) // 4, MOST_TEST)
    return order[n_test:], order[:n_test]


def rows_of(name, draw, framed=False):
    """Return rows of a draw with places between the bounds; ``framed``: numbers in their unit."""
    frame, y, schema = whole(name)
    learn, test = split(name, draw)
    if framed:
        return Rows(frame.iloc[learn], y[learn], frame.iloc[test], y[test], schema)
    low, high = TABLES[name][2]
    places, (X, kinds) = np.clip((y - low) / (high - low), 0, 1), encoded(name)
    return Rows(X[learn], places[learn], X[test], places[test], kinds)

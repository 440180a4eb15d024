"""Causes of values that a schema does not allow: decimal signs, dates, IDs, spelling.

Each function reads private values and returns text for their owner, which must stay private.
"""

import re
import unicodedata
from collections import Counter
from datetime import date

import numpy as np

from skdp.tabular._columns import MOST
from skdp.tabular._values import canonical, missing_values, numbers
from skdp.utils._frames import as_elements
from skdp.utils._validation import listed

# Share of unreadable values from which they are probably written in another way, rather than rare
# categories that the source does not list (rule of thumb).
MANY = 0.1
# Number of values that a text names.
_SHOWN = 5
# Fewest different numbers that are evidence of record numbers, and the probability that so many
# draws from their range all differ, below which they are (rules of thumb).
_RECORDS, _BY_CHANCE = 20, 1e-3
# Names of columns with IDs of people, without separators between words, and with record numbers.
_WHO = "patients?|persons?|people|subjects?|participants?|customers?|clients?|members?|users?"
_ID = "id|ids|uid|pid|mrn|ssn|pseudonym"
_KEY = f"{_ID}|nr|no|num|number|code|key"
PERSON_ID = re.compile(rf"(?:{_ID})|(?:{_WHO})(?:{_KEY})?")
_RECORD_ID = re.compile(rf"(?:{_ID})|(?:{_WHO}|records?|rows?|cases?)(?:{_KEY})|unnamed|index")
# Signs of money, and signs between thousands that look alike.
MONEY = "$€£"
ALIKE = {"'": "'’", " ": " \u00a0\u202f"}


def number_pattern(decimal, thousands):
    """Return the pattern of a number with these signs, in front or behind with one of money."""
    groups = rf"[1-9][0-9]{{0,2}}([{ALIKE.get(thousands, thousands)}][0-9]{{3}})+"
    number = rf"(([0-9]*|{groups})[{decimal}][0-9]+|{groups}|[0-9]+)([eE][+-]?[0-9]+)?"
    return re.compile(rf"\s*[+-]?[{MONEY}]?\s?{number}\s?[{MONEY}]?\s*")


# How the commands read numbers with other signs: 51,383.86, then 12,5 and 1.234,5, then others.
_READINGS = {
    "--thousands ','": number_pattern(".", ","),
    "--decimal ','": number_pattern(",", "."),
    '--thousands "\'"': number_pattern(".", "'"),
    "--thousands ' '": number_pattern(".", " "),
    "--decimal ',' --thousands \"'\"": number_pattern(",", "'"),
    "--decimal ',' --thousands ' '": number_pattern(",", " "),
}
# 12 and 12.5, which need none of them.
_PLAIN = re.compile(r"\s*[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s*")
# Texts that mark missing cells in many exports, without white space and punctuation.
_MARKS = {"ka", "na", "unbekannt", "keineangabe", "unknown", "notavailable", "missing"} | set(
    "?-."
)
# 2020-02-29, 29.2.2020 and 2/29/20, with or without a time of day.
_DATE = re.compile(
    r"\s*(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{2}(\d{2})?)([T ].*)?\s*"
)
# 12 mg, < 0.3, 38,5°C, ~5, 120+.
_WITH_TEXT = re.compile(r"[<>≤≥=~≈]*\s*[+-]?\d[\d.,]*\s*(\D{0,12}|[a-zA-Zµ%°/^*0-9.\s]{0,12})")


def letters(name):
    """Return the letters of a name in lower case, without separators between words."""
    return re.sub(r"[^a-z]", "", str(name).casefold())


def is_record_number(name, values):
    """Return whether a column numbers the records rather than measuring something."""
    # Its values are different whole numbers, and either as dense as 30 of 1 to 50 or 1,000 of 1 to
    # 70,000, or the column is named like an ID. Numbers of many digits under another name are not
    # found: costs in whole dollars may all differ, too.
    given = numbers(values)
    given = given[~np.isnan(given)]
    whole = len(given) >= _RECORDS and np.isfinite(given).all() and (given == np.rint(given)).all()
    if not whole or len(np.unique(given)) < len(given):
        return False
    drawn = np.arange(len(given)) / (np.ptp(given) + 1)
    dense = np.log1p(-drawn).sum() < np.log(_BY_CHANCE)
    return bool(dense) or _RECORD_ID.fullmatch(letters(name)) is not None


def number_forms(values):
    """Count texts that people read as numbers, but programs do not, and say how commands do.

    Those with a decimal comma or signs between thousands, those with a unit or "<" around; and the
    options by which most of the first are read.
    """
    texts = Counter(value for value in as_elements(values).tolist() if isinstance(value, str))
    others = {text: n for text, n in texts.items() if not _PLAIN.fullmatch(text)}
    read = {
        option: {text for text in others if pattern.fullmatch(text)}
        for option, pattern in _READINGS.items()
    }
    signs = set().union(*read.values())
    counts = {option: sum(texts[text] for text in found) for option, found in read.items()}
    best = [option for option, count in counts.items() if count == max(counts.values())]
    advice = " or ".join(o for o in best if o in ("--thousands ','", "--decimal ','")) or best[0]
    within = (text for text in set(others) - signs if _WITH_TEXT.fullmatch(text.strip()))
    return sum(texts[t] for t in signs), sum(texts[t] for t in within), advice


def missing_marks(values):
    """Return values of a public column that probably mark missing cells: 'k.A.', -99."""
    given = numbers(values)
    known = np.unique(given[np.isfinite(given)])
    marks = []
    for ordered in (known, -known):  # a number of nines, farther from others than these reach
        least, *others = np.sort(ordered)[:2].tolist() if len(known) > 2 else [0.0]
        if set(f"{abs(least):g}") == {"9"} and others[0] - least > np.ptp(np.sort(ordered)[1:]):
            marks.append(f"{least if ordered is known else -least:g}")
    cells = as_elements(values)[~missing_values(values)]
    texts = {v for v in cells.tolist() if isinstance(v, str) and not any(map(str.isdigit, v))}
    in_numbers = np.isfinite(given).sum() > MOST * len(cells)
    return marks + sorted(t for t in texts if in_numbers or same_spelling(t) in _MARKS)


def are_dates(values):
    """Return whether most values that are there are dates, as a type or as text."""
    values = as_elements(values)
    if values.dtype.kind in "biufmM":
        return values.dtype.kind in "mM"
    given = values[~missing_values(values)].tolist()
    found = sum(
        isinstance(v, date) or (isinstance(v, str) and _DATE.fullmatch(v) is not None)
        for v in given
    )
    return found > MOST * len(given)


def same_spelling(text):
    """Return a text without case, accents, white space and punctuation."""
    plain = unicodedata.normalize("NFKD", str(text)).casefold()
    return "".join(c for c in plain if c.isalnum() or c in "+<>=%") or str(text)


def spellings(values, listing):
    """Return values that are not listed, with their counts, in two lists.

    Those that differ from a listed one in case, white space and punctuation alone, with that one;
    and the others.
    """
    by_form: dict = {}  # None where several agree
    for value in listing:
        form = same_spelling(value)
        by_form[form] = None if form in by_form else value
    counts = Counter(_as_text(value) for value in as_elements(values).tolist())
    counted = [(text, n, by_form.get(same_spelling(text))) for text, n in counts.most_common()]
    return [c for c in counted if c[2] is not None], [c for c in counted if c[2] is None]


def most_frequent(values):
    """Return the most frequent values as text, with their counts."""
    counts = Counter(_as_text(value) for value in as_elements(values).tolist())
    return described([(text, count, None) for text, count in counts.most_common()])


def described(counted):
    """Return the first values with their counts and the listed values that may be meant."""

    def show(value):
        text, count, near = value
        return f"{text!r:.40} ({count:,}{'' if near is None else f'; {str(near)!r:.40}?'})"

    return listed(counted, _SHOWN, show)


def _as_text(value):
    """Return a cell as text, numbers as the shortest one."""
    if isinstance(value, str):
        return value
    form = canonical(value)
    return f"{form:g}" if isinstance(form, float) else str(form)

"""Causes of values that a schema does not allow: units, decimal signs, spelling.

Each function reads private values and returns text for their owner, which must stay private.
"""

import re
import unicodedata
from collections import Counter
from datetime import date
from difflib import get_close_matches

import numpy as np

from skdp.tabular._columns import MOST, values_outside
from skdp.tabular._values import canonical, missing_values, numbers
from skdp.utils._frames import as_elements
from skdp.utils._validation import listed

# Share of unreadable values from which they are probably written in another way, rather than rare
# categories that the source does not list (rule of thumb).
MANY = 0.1
# Numbers of conversions and of values that a text names.
_CONVERSIONS, _SHOWN = 3, 5
# Similarity of texts, from 0 to 1 by difflib, that suggests a typing error, and the smallest
# length for which it does (rules of thumb).
_SIMILAR, _LONG = 0.8, 4
# Conversions between two units of one quantity: the factor, the quantity and the two units. Its
# words are searched in the name of the column, to prefer matching conversions.
_FACTORS = (
    (88.4, "creatinine", "µmol/l", "mg/dl"),
    (18.016, "glucose", "mg/dl", "mmol/l"),
    (38.67, "cholesterol", "mg/dl", "mmol/l"),
    (88.57, "triglycerides", "mg/dl", "mmol/l"),
    (17.104, "bilirubin", "µmol/l", "mg/dl"),
    (59.48, "uric acid or urate", "µmol/l", "mg/dl"),
    (2.801, "urea (bun)", "mg/dl", "mmol/l"),
    (4.008, "calcium", "mg/dl", "mmol/l"),
    (7.50062, "pressure", "mmHg", "kPa"),
    (2.54, "height or length", "cm", "inches"),
    (30.48, "height or length", "cm", "feet"),
    (2.20462, "weight (wt)", "pounds", "kg"),
    (365.25, "age or time", "days", "years"),
    (30.4375, "age or time", "days", "months"),
    (12.0, "age or time", "months", "years"),
    (7.0, "time", "days", "weeks"),
    (24.0, "time", "hours", "days"),
    (60.0, "time", "minutes", "hours"),
)
# Factors of metric units, and of lost decimal signs, for any quantity.
_DECIMAL = (
    (10.0, "g/l and g/dl, mm and cm"),
    (100.0, "percent and shares, cm and m"),
    (1000.0, "mg and g, g and kg"),
)
# Degrees: (x + before)·scale + after.
_DEGREES = (
    ("from °F to °C", -32.0, 1 / 1.8, 0.0),
    ("from °C to °F", 0.0, 1.8, 32.0),
    ("from kelvin to °C", -273.15, 1.0, 0.0),
    ("from °C to kelvin", 0.0, 1.0, 273.15),
)
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


def conversions(name, values, low, high):
    """Return conversions of units that bring nearly all outside values into the public bounds.

    At most three texts, to follow "if they were"; those of the quantity that the name says first.
    """
    candidates = [
        (f"converted {text}", "temperature fever", (values + before) * scale + after)
        for text, before, scale, after in _DEGREES
    ]
    for factor, what, unit, other in _FACTORS:
        candidates += [
            (f"divided by {factor:.6g} ({what} in {unit} for {other})", what, values / factor),
            (f"multiplied by {factor:.6g} ({what} in {other} for {unit})", what, values * factor),
        ]
    for factor, what in _DECIMAL:
        text = f"by {factor:g} ({what}, a lost decimal sign)"
        candidates += [
            (f"divided {text}", "", values / factor),
            (f"multiplied {text}", "", values * factor),
        ]
    fits = [
        (text, words)
        for text, words, converted in candidates
        if len(values_outside(converted, low, high)) <= (1 - 0.98) * len(values)  # rule of thumb
    ]
    about = [text for text, words in fits if _is_about(name, words)]
    general = [text for text, words in fits if not words]
    others = [] if about else [text for text, words in fits if words]
    return [*about, *general, *others][:_CONVERSIONS]


def _is_about(name, words):
    """Return whether a column's name has a word of a quantity, or the beginning of one."""
    of_quantity = re.findall(r"[a-z]{2,}", words)
    parts = re.findall(r"[a-z]+", name.casefold())
    return any(
        part == word or (len(part) >= _LONG and (part.startswith(word) or word.startswith(part)))
        for part in parts
        for word in of_quantity
        if word != "or"
    )


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


class Spelling:
    """Values that are not listed in a schema, and the listed ones that may be meant.

    ``alike`` differ from one in case, white space and punctuation alone, ``other`` in more.
    """

    def __init__(self, values, listing):
        self._by_form: dict = {}  # by what remains of it; None where several agree
        for value in listing:
            form = same_spelling(value)
            self._by_form[form] = None if form in self._by_form else value
        counts = Counter(_as_text(value) for value in as_elements(values).tolist())
        alike: list = []
        other: list = []
        for text, count in counts.most_common():
            sure = self._by_form.get(same_spelling(text))
            if sure is not None:
                alike.append((text, count, sure))
            else:
                near = self._near(text) if len(other) < 200 else None  # of the most frequent ones
                other.append((text, count, near))
        self.n_alike, self.n_other = (sum(n for _, n, _ in texts) for texts in (alike, other))
        self.alike, self.other = _described(alike), _described(other)

    def _near(self, text):
        """Return the listed value that a text abbreviates or misspells, or None."""
        form = same_spelling(text)
        matches = [other for other in self._by_form if other.startswith(form)]
        if len(matches) != 1 and len(form) >= _LONG:
            matches = get_close_matches(form, self._by_form, n=1, cutoff=_SIMILAR)
        return self._by_form[matches[0]] if len(matches) == 1 else None


def most_frequent(values):
    """Return the most frequent values as text, with their counts."""
    counts = Counter(_as_text(value) for value in as_elements(values).tolist())
    return _described([(text, count, None) for text, count in counts.most_common()])


def _described(counted):
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

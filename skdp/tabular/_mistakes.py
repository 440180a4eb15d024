"""Causes of values that a schema does not allow: decimal signs, dates, IDs, spelling.

Each function reads private values and returns text for their owner; keep it private.
"""

import re
import shlex
import unicodedata
from collections import Counter
from datetime import date

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skdp.tabular._columns import LEAST, MOST
from skdp.tabular._values import as_number, canonical, missing_values, numbers, person_ids
from skdp.utils._frames import as_elements
from skdp.utils._validation import listed

# Share of unreadable values from which they are probably written differently, rather than rare
# categories that the source does not list.
MANY = 0.1
# Share of values that are certainly mistakes.
FEW = 0.01
# Number of values that a text names.
_SHOWN = 5
# Fewest different numbers that are evidence of record numbers, and the probability that so many
# draws from their range all differ, below which they are.
_RECORDS, _BY_CHANCE = 20, 1e-3
# Fewest different IDs of people: fewer may be groups.
_PEOPLE = 10
_DIGIT = re.compile(r"\d")
# Names of columns with IDs of people, without separators between words, and with record numbers.
_WHO = "patients?|persons?|people|subjects?|participants?|customers?|clients?|members?|users?"
_ID = "id|ids|uid|pid|mrn|ssn|pseudonym"
_KEY = f"{_ID}|nr|no|num|number|nummer|code|key"
_THEIRS = "cases?|study|records?|pat|patienten|kunden|fall"
_PERSON_ID = re.compile(rf"(?:{_ID})|(?:{_WHO})(?:{_KEY})?|(?:{_THEIRS})(?:{_KEY})")
_RECORD_ID = re.compile(rf"(?:{_ID})|(?:{_WHO}|{_THEIRS}|rows?)(?:{_KEY})|unnamed|index")
# Names of what is known only after the outcome, without separators between words.
_AFTER = re.compile(
    r"time|tte|los|lenfol|exit|t?stop|(?:last)?fu[p]?(?:time|days|months|years)?|.*followup.*|.*survival.*"
    r"|(?:time|days|months|years)(?:to|until|survived).*|(?:date|time|cause)(?:of|at)?death"
    r"|lengthofstay|discharge.*"
)
# Names of times at which rows came under observation.
_ENTRY = re.compile(r"^(?:t?start|tstart|begin|enter|entry|entered|left)|entry|enrol|truncat")
# Cells of rows that are not records.
_TOTALS = {
    "total",
    "totals",
    "grand total",
    "subtotal",
    "sum",
    "summe",
    "gesamt",
    "gesamtsumme",
} | {
    *("insgesamt", "zwischensumme", "somme", "suma", "totale", "totaal", "average", "mean"),
    *("mittelwert", "durchschnitt"),
}
# Signs between thousands that look alike; signs and codes of money.
ALIKE = {"'": "'’", " ": " \u00a0\u202f"}
_MONEY = r"(?:[$€£]|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|CAD|AUD|JPY)"


def number_reader(decimal, thousands, units=()):
    """Return a function from text to a plain number, such as '-1234.5', or None.

    The text has these signs, and perhaps money, a unit or a minus sign in front or behind.
    """
    thousands = ALIKE.get(thousands, thousands or "")
    groups = rf"[1-9][0-9]{{0,2}}([{thousands}][0-9]{{3}})+" if thousands else "[0-9]+"
    number = rf"(([0-9]*|{groups})[{decimal}][0-9]+|{groups}|[0-9]+)([eE][+-]?[0-9]+)?"
    money = rf"(?:{'|'.join([_MONEY, *map(re.escape, units)])})?\s?"
    pattern = re.compile(
        rf"\s*{money}(?P<sign>[+−-]?)\s?{money}(?P<number>{number})\s?"
        rf"(?P<behind>-?)\s?{money}(?P<last>-?)\s*"
    )
    plain = str.maketrans({decimal: "."} | dict.fromkeys(thousands))

    def read(text):
        found = pattern.fullmatch(text)
        signs = "".join(found.group("sign", "behind", "last")) if found else ""
        if found is None or len(signs) > 1:
            return None
        return ("-" if signs in ("-", "−") else "") + found["number"].translate(plain)

    return read


# How the commands read numbers with other signs: 51,383.86, then 12,5 and 1.234,5, then others.
_READINGS = {
    "--thousands ','": number_reader(".", ","),
    "--decimal ','": number_reader(",", "."),
    '--thousands "\'"': number_reader(".", "'"),
    "--thousands ' '": number_reader(".", " "),
    "--decimal ',' --thousands \"'\"": number_reader(",", "'"),
    "--decimal ',' --thousands ' '": number_reader(",", " "),
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
# The first number in a text, with its signs.
_NUMBER = re.compile(r"[+-]?\d[\d.,]*")
# 12 mg, < 0.3, 38,5°C, ~5, 120+, EUR 3,000.
_WITH_TEXT = re.compile(
    r"([<>≤≥=~≈]*|[A-Z]{2,3}(?=\s))\s*[+-]?\d[\d.,]*\s*(\D{0,12}|[a-zA-Zµ%°/^*0-9.\s]{0,12})"
)


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
    """Count texts that only people read as numbers, and name the options to read them.

    The first count is of decimal commas, thousands separators, money and a minus sign behind.
    Then a Counter has what is added to other numbers: units, percent signs, "<".
    """
    texts = Counter(value for value in as_elements(values).tolist() if isinstance(value, str))
    others = [text for text in texts if not _PLAIN.fullmatch(text)]
    read = {
        option: {text for text in others if reader(text) is not None}
        for option, reader in _READINGS.items()
    }
    signs = set().union(*read.values())
    counts = {option: sum(texts[text] for text in found) for option, found in read.items()}
    best = [option for option, count in counts.items() if count == max(counts.values())]
    advice = " or ".join(o for o in best if o in ("--thousands ','", "--decimal ','")) or best[0]
    extras: Counter = Counter()
    for text in set(others) - signs:
        if _WITH_TEXT.fullmatch(text.strip()):
            extras[" ".join(_NUMBER.sub(" ", text).split())] += texts[text]
    return sum(texts[text] for text in signs), extras, advice


def missing_marks(values):
    """Return values of a public column that probably mark missing cells: 'k.A.', -99."""
    cells = as_elements(values)[~missing_values(values)]
    is_number = ~np.isnan(numbers(cells))
    texts = {v for v in cells[~is_number].tolist() if isinstance(v, str) and not _DIGIT.search(v)}
    in_numbers = is_number.sum() > MOST * len(cells)
    marks = sorted(t for t in texts if in_numbers or same_spelling(t) in _MARKS)
    return [*nines(values), *marks]


def missing_option(marks):
    """Return the option of the commands for marks of missing values in columns, by name.

    A number is a mark in its column only: 9 may be a value of others.
    """
    named = {
        f"{name}={mark}" if not np.isnan(as_number(mark)) else mark: None
        for name, of_column in marks.items()
        for mark in of_column
    }
    return f"--missing={shlex.quote(','.join(named))}"


def nines(values):
    """Return numbers of nines at an end of a column, far from all others: 9, -99."""
    # Farther than the range of the others; or repeated, and alone below 0 or twice as far as any
    # two of them.
    given = numbers(values)
    known, times = np.unique(given[np.isfinite(given)], return_counts=True)
    gaps, found = np.diff(known), []
    for end, gap, others in ((0, gaps[:1], gaps[1:]), (-1, gaps[-1:], gaps[:-1])):
        if len(others) and set(f"{abs(known[end]):g}") == {"9"}:
            apart = gap[0] > 2 * others.max() or known[0] < 0 <= known[1]
            if (apart and times[end] >= LEAST) or gap[0] > others.sum():
                found.append(f"{known[end]:g}")
    return found


def odd_numbers(values):
    """Return texts such as '<5', '12%' and '#DIV/0!' among numbers, or instead of many."""
    cells = as_elements(values)[~missing_values(values)]
    is_number = ~np.isnan(numbers(cells))
    texts = {str(v).strip() for v in cells[~is_number].tolist()}
    odd = sorted(t for t in texts if _WITH_TEXT.fullmatch(t) or t.startswith("#"))
    return odd if is_number.sum() > MOST * len(cells) or len(odd) > _RECORDS else []


def respelled(listing):
    """Return listed texts that differ from others only in case, white space or punctuation."""
    forms = Counter(map(same_spelling, listing))
    return [value for value in listing if forms[same_spelling(value)] > 1]


def is_known_after(name):
    """Return whether a column is named like a time of follow-up or a length of stay."""
    return _AFTER.fullmatch(letters(name)) is not None


def said_of_ids(name, values):
    """Return why a column's name suggests IDs of people with several rows, or ""."""
    if not _PERSON_ID.fullmatch(letters(name)):
        return ""
    ids = id_texts(values)
    people, n = ids.nunique(), len(ids)
    # A column of that name is believed up to 100 rows of a person, on average.
    if people < max(_PEOPLE, n / 100) or n - people < LEAST or n - people <= FEW * n:
        return ""
    return (
        f"The column {name!r:.100} has {people:,} different values in {n:,} rows. If these "
        "are people, the release protects their single rows only: name the column with "
        "--group (groups=), and do not list it in the schema."
    )


def id_texts(values):
    """Return the IDs in a column, as text, without missing ones."""
    values = as_elements(values)
    given = values[~missing_values(values)]
    return pd.Series(person_ids(np.asarray(given, dtype=object)), dtype=object).map(str)


def repeats_like_people(values):
    """Return whether equal values are adjacent or equally frequent, like IDs in several rows."""
    given = as_elements(values)[~missing_values(values)]
    x = numbers(given)
    if np.isfinite(x).all() and (x % 1).any():
        return False
    codes, different = pd.factorize(id_texts(given))
    n, times = len(different), np.bincount(codes)
    if not (_RECORDS <= n < len(codes) <= _RECORDS * n):
        return False
    return bool(np.ptp(times) == 0 or np.count_nonzero(np.diff(codes)) == n - 1)


def start_of(frame, stop):
    """Return the column in which rows begin where the row before ended, or None."""
    ends = numbers(frame[stop])
    for name in frame.columns:
        starts = np.full(len(ends), np.nan) if name == stop else numbers(frame[name])
        joined = np.count_nonzero(starts[1:] == ends[:-1])
        if joined >= LEAST and joined > MANY * len(ends) and not (starts >= ends).any():
            return name
    return None


def entries_of(frame, stop):
    """Return the column that seems to say when rows came under observation, or None."""
    ends = numbers(frame[stop])
    for name in frame.columns:
        if name == stop or not _ENTRY.search(letters(name)):
            continue
        starts = numbers(frame[name])
        known = np.isfinite(starts) & np.isfinite(ends)
        late = np.count_nonzero(starts[known] > 0)
        if late >= LEAST and late > FEW * len(ends) and (starts <= ends)[known].all():
            return name
    return None


def odd_rows(frame):
    """Return a text about rows that are not records, and whether some certainly are not.

    These are totals, names of columns, and rows with at most one cell, such as headings.
    """
    (n, p), columns = frame.shape, [frame.iloc[:, k] for k in range(frame.shape[1])]
    filled = np.sum([~missing_values(column) for column in columns], axis=0)
    usual, is_last = np.median(filled), np.arange(n) == n - 1
    names, totals = np.zeros(n, dtype=int), np.zeros(n, dtype=bool)
    for name, column in zip(frame.columns, columns, strict=True):
        x, texts = numbers(column), {}
        if not is_numeric_dtype(column.dtype):
            given = enumerate(as_elements(column).tolist())
            texts = {i: text.strip(" :.") for i, text in given if isinstance(text, str)}
        names[[i for i, text in texts.items() if text == name]] += 1
        words = [i for i, text in texts.items() if text.casefold() in _TOTALS]
        totals[words] |= len(words) == 1
        others = x[:-1][np.isfinite(x[:-1])]
        if len(others) >= _PEOPLE and others.sum() > others.max() > 0:
            totals |= is_last & np.isclose(x[-1], others.sum(), rtol=1e-9)
    surely = (totals & ((filled < usual) | is_last)) | (names > p / 2)
    sparse = (filled <= 1) & (usual > 1) & (p > 2)
    rows = np.flatnonzero(surely | (sparse if sparse.sum() <= MANY * n else False))
    cells = [[c for c in frame.iloc[i] if not missing_values([c])[0]] for i in rows[:_SHOWN]]
    shown = [f"{i + 1} ({str(*row[:1])!r:.40})" for i, row in zip(rows, cells, strict=False)]
    text = (
        f"{len(rows):,} rows seem to be totals, headings or notes rather than records, such as "
        f"{', '.join(shown)}: delete them."
    )
    return text if len(rows) else "", bool(surely.any())


def are_dates(values):
    """Return whether most values are dates, by type or as text."""
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

    First those that differ from a listed value only in case, white space and punctuation, with
    this value; then the others.
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
    """Return the first values with their counts and the listed values probably meant."""

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

"""The owner's check of a table: what ruins a release is found, and good tables are left alone."""

import re

import numpy as np
import pandas as pd
import pytest

from skdp.datasets import load_adult, load_heart_disease
from skdp.tabular import Schema, check_table, schema_from

N = 400
SCHEMA = Schema.from_mapping(
    {
        "version": 1,
        "columns": {
            "age": {"type": "numeric", "low": 18, "high": 110},
            "temperature": {"type": "numeric", "low": 30, "high": 45},
            "creatinine": {
                "type": "numeric",
                "low": 0.2,
                "high": 12,
                "log": True,
                "missing": True,
            },
            "sex": {"type": "category", "categories": ["female", "male"]},
            "ward": {"type": "category", "categories": ["Surgery", "Medicine", "7"]},
        },
        "classes": ["died", "home"],
    }
)


def patients():
    rng = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "age": rng.normal(60, 15, N).clip(18, 105).round(),
            "temperature": rng.normal(37.2, 0.8, N).round(1),
            "creatinine": np.exp(rng.normal(0, 0.4, N)).round(2),
            "sex": rng.choice(["female", "male"], N),
            "ward": rng.choice(["Surgery", "Medicine", "7.0"], N),
            "outcome": rng.choice(["died", "home"], N),
        }
    )


def stops(table, **settings):
    return [each.name for each in check_table(table, SCHEMA, label="outcome", **settings).stops]


def remarks(table, **settings):
    return [each.name for each in check_table(table, SCHEMA, label="outcome", **settings).remarks]


def some(share):
    """Return a mask of a share of the rows, the first ones."""
    return np.arange(N) < round(share * N)


def replaced(name, share, value):
    """Return the patients with other values in the first rows of a column."""
    table = patients().astype(object)
    changed = value(table[name]) if callable(value) else value
    return table.assign(**{name: np.where(some(share), changed, table[name])})


def with_commas(values):
    return values.astype(str).str.replace(".", ",", regex=False)


RUINED = {
    "age:clipped": replaced("age", 1, lambda x: x * 12),
    "temperature:clipped": replaced("temperature", 1, lambda x: x * 1.8 + 32),
    "creatinine:clipped": replaced("creatinine", 0.2, lambda x: x * 88.4),
    "temperature:codes": replaced("temperature", 0.05, -99),
    "temperature:decimals": replaced("temperature", 1, with_commas),
    "creatinine:unread": replaced("creatinine", 1, lambda x: x.astype(str) + " mg/dl"),
    "age:missing": replaced("age", 0.2, None),
    "sex:spelling": replaced("sex", 0.02, lambda x: " " + x + " "),
    "ward:spelling": replaced("ward", 1, lambda x: x.str.upper()),
    "sex:unlisted": replaced("sex", 1, lambda x: x.str[0]),
    "outcome:spelling": replaced("outcome", 0.02, lambda x: x.str.title()),
    "outcome:unlisted": replaced("outcome", 0.2, "transferred"),
    "outcome:missing": replaced("outcome", 0.6, None),
    "outcome:classes": replaced("outcome", 1, "home"),
    "duplicates": pd.concat([patients()] * 2),
    "people": patients().assign(PatientNr=np.arange(N) // 2),
}


def test_a_good_table_has_no_findings():
    report = check_table(patients(), SCHEMA, label="outcome")
    assert report.findings == ()
    assert report.n_rows == N
    assert dict(report.classes) == patients()["outcome"].value_counts().to_dict()
    assert report.counts == tuple((name, 0, 0, 0) for name in SCHEMA.names)


@pytest.mark.parametrize("name", RUINED)
def test_what_ruins_a_release_is_a_stop(name):
    assert stops(RUINED[name]) == [name]


@pytest.mark.parametrize("name", [n for n in RUINED if n not in ("duplicates", "outcome:classes")])
def test_few_rows_never_stop_a_release(name):
    """One record must not decide; four cells do not, whatever is wrong with them."""
    table = patients().astype(object)
    ruined = RUINED[name].astype(object)
    for column in set(ruined) - set(table):
        table[column] = np.arange(N).astype(object)
    table.iloc[:4] = ruined.iloc[:4][list(table)]
    assert stops(table) == []


def test_counts_are_those_of_the_cells():
    table = replaced("creatinine", 0.05, None)
    table.loc[table.index[-3:], "creatinine"] = [500, "unknown", np.inf]
    table.loc[table.index[-1:], "ward"] = "8"
    counts = {name: rest for name, *rest in check_table(table, SCHEMA).counts}
    assert counts["creatinine"] == [N * 0.05, 1, 2]
    assert counts["ward"] == [0, 1, 0]


def test_types_of_columns_make_no_difference():
    """A table has the same findings as text, and as what readers make of it."""
    for table in RUINED.values():
        text = table.astype(str).where(table.notna(), "")
        assert stops(text) == stops(table) == stops(table.convert_dtypes())


@pytest.mark.parametrize(
    ("name", "share", "value", "expected"),
    [
        ("temperature", 1, lambda x: x * 1.8 + 32, "outside 30 to 45. Are they in other units?"),
        ("temperature", 1, 10**9, "400 of 400 values (100.0%) lie outside 30 to 45. Are they in"),
        ("temperature", 0.05, 999, "cells, or add --missing=temperature=999."),
        ("sex", 1, lambda x: x.str[0], "'f' ("),
        ("ward", 1, "Surgry", "'Surgry' (400). Listed are 'Surgery', 'Medicine', '7'."),
        ("ward", 1, " MEDICINE", "' MEDICINE' (400; 'Medicine'?)"),
        (
            "creatinine",
            1,
            lambda x: x.astype(str) + " mg/dl",
            "are numbers with 'mg/dl': write",
        ),
        ("creatinine", 1, lambda x: x.astype(str) + " %", "are numbers with '%': write"),
        (
            "creatinine",
            1,
            lambda x: x.map(lambda v: f"{v} EUR".replace(".", ",")),
            "a currency or a",
        ),
        ("creatinine", 1, lambda x: x.astype(str) + "-", "or a minus sign behind the number, and"),
        (
            "creatinine",
            0.5,
            "<0.3",
            "Of these, 200 are numbers with '<': write the number alone, in",
        ),
    ],
)
def test_a_finding_says_what_may_be_wrong(name, share, value, expected):
    report = check_table(replaced(name, share, value), SCHEMA, label="outcome")
    assert len(report.stops) == 1
    assert expected in report.stops[0].text


LEAKS = {
    # A category that is filled in with the outcome, of which two rows were not.
    "ward": lambda t: np.where(
        np.arange(N) < 2, "7", np.where(t["outcome"] == "died", "7", "Surgery")
    ),
    # A number that is above 50 only in those who died.
    "age": lambda t: np.where(t["outcome"] == "died", 51, 19) + np.arange(N) % 30,
    # A cell that is empty unless somebody died.
    "creatinine": lambda t: np.where(t["outcome"] == "died", t["creatinine"], np.nan),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_column_that_repeats_the_outcome_is_a_stop(name):
    table = patients().assign(**{name: LEAKS[name]})
    assert stops(table) == [f"{name}:leak"]
    (text,) = [each.text for each in check_table(table, SCHEMA, label="outcome").stops]
    assert re.match(
        "Alone, it predicts the class in (398|400) of 400 rows, like a column that", text
    )
    # One row in ten that differs makes it a strong predictor, as single columns may be.
    shuffled = np.random.RandomState(1).permutation(N)[: N // 10]
    table.loc[shuffled, name] = table.loc[shuffled[::-1], name].to_numpy()
    assert stops(table) == []


def test_the_report_says_first_that_it_is_private():
    text = str(check_table(RUINED["sex:spelling"], SCHEMA, label="outcome"))
    lines = text.splitlines()
    assert lines[0] == "This report is private: it tells about the rows. It stays here."
    assert "sex                0         8        0" in text
    assert lines[-4] == "  sex:spelling"
    assert max(map(len, lines)) <= 90


def test_values_just_beyond_a_bound_are_in_no_other_unit():
    near = check_table(replaced("temperature", 1, lambda x: x + 8.5), SCHEMA, label="outcome")
    [text] = [each.text for each in near.stops if each.name == "temperature:clipped"]
    assert "other units" not in text


def test_a_single_clipped_value_is_remarked_with_its_remedy():
    report = check_table(replaced("age", 1 / N, 999), SCHEMA, label="outcome")
    [remark] = [each for each in report.remarks if each.name == "age:clipped"]
    assert remark.text.startswith(f"1 of {N} values")
    assert "They are clipped; the farthest: 999. 999 lies apart: if this is a code" in remark.text
    assert "--missing=age=999" in remark.text
    report = check_table(replaced("age", 2 / N, [150.0, -3.0] * (N // 2)), SCHEMA, label="outcome")
    assert "the farthest: 150, -3." in report.remarks[0].text


def test_values_below_a_limit_can_be_read_or_emptied():
    report = check_table(replaced("creatinine", 0.02, "<0.5"), SCHEMA, label="outcome")
    [remark] = [each for each in report.remarks if each.name == "creatinine:unread"]
    assert "add --units='<', which reads '<5' as 5, or --missing='<0.5'" in remark.text


def test_what_is_no_mistake_for_sure_is_remarked():
    assert remarks(replaced("sex", 0.05, "unknown")) == ["sex:unlisted"]
    assert remarks(replaced("age", 0.05, None)) == ["age:missing"]
    assert remarks(replaced("creatinine", 1, None)) == ["creatinine:missing"]
    assert remarks(replaced("creatinine", 1, 1.0)) == ["creatinine:constant"]
    assert remarks(replaced("age", 0.05, 111 + np.arange(N))) == ["age:clipped"]
    assert remarks(patients()[:40]) == ["outcome:classes", "few-rows"]


def test_ids_of_people():
    pairs = patients().assign(id=np.arange(N) // 2)
    assert stops(pairs) == ["people"]
    assert stops(pairs, group="id") == []
    assert remarks(pairs, group="id") == []
    assert remarks(patients().assign(id=np.arange(N)), group="id") == ["id:ids"]
    unknown = pairs.assign(id=np.where(some(0.2), "unknown", np.arange(N) // 2))
    assert stops(unknown, group="id") == ["id:ids"]
    assert stops(pairs.assign(id=np.where(some(0.01), None, np.arange(N))), group="id") == [
        "id:missing"
    ]
    # Neither another thing's name, nor so many rows each, are ids of people.
    for name, values in (("patient_age", np.arange(N) // 2), ("person", np.arange(N) % 2)):
        assert stops(patients().assign(**{name: values})) == []


def test_record_numbers_in_a_schema_are_remarked():
    schema = {"row": {"type": "numeric", "low": 0, "high": 10_000}}
    numbered = pd.DataFrame({"row": np.random.RandomState(0).permutation(N).astype(str)})
    (finding,) = check_table(numbered, schema).findings
    assert (finding.name, finding.is_stop) == ("row:ids", False)
    assert finding.text.startswith("All values are different whole numbers, like record numbers")


def test_rows_that_agree_by_chance_are_no_copies():
    """A few columns of few values leave few different rows, each of which is there often."""
    rng = np.random.RandomState(0)
    table = pd.DataFrame(rng.randint(2, size=(4000, 5)).astype(str), columns=list("abcde"))
    schema = schema_from(table, public=True)
    assert not check_table(table, schema).stops
    # An export that was appended to another one, of which it has a part.
    numbers = pd.DataFrame({"x": rng.rand(1000)})
    bounds = {"x": {"type": "numeric", "low": 0, "high": 1}}
    assert check_table(pd.concat([numbers, numbers[:300]]), bounds).stops


@pytest.mark.parametrize(
    ("table", "settings", "message"),
    [
        (patients().drop(columns="age"), {}, "must have one column 'age', got 0"),
        (patients(), {"label": "otcome"}, "must have one column 'otcome', got 0"),
        (pd.concat([patients()] * 2, axis=1), {}, "must have one column 'age', got 2"),
        (patients()[:0], {}, "has no rows"),
    ],
)
def test_tables_that_cannot_be_checked(table, settings, message):
    with pytest.raises(ValueError, match=message):
        check_table(table, SCHEMA, **settings)
    with pytest.raises(ValueError, match="has neither classes nor"):
        check_table(patients(), Schema(SCHEMA.columns), label="outcome")


def embedded():
    adult, heart = load_adult(random_state=0), load_heart_disease()
    yield adult.data, adult.target, adult.schema
    yield heart.data, heart.target, heart.schema
    for name in heart.hospital_names:
        at = heart.hospital == name
        yield heart.data[at], heart.target[at], heart.schema


def test_real_tables_have_no_stops():
    for data, target, schema in embedded():
        assert not check_table(data.assign(label=target), schema, label="label").stops


@pytest.mark.parametrize("name", ["flchain", "whas500", "actg320", "actg175", "randhie"])
def test_real_tables_of_files_have_no_stops(name, real_table):
    data, target, schema = real_table(name)
    for rows in (slice(None), np.random.RandomState(0).permutation(len(data))[: len(data) // 2]):
        table = data.iloc[rows].assign(label=target[rows])
        assert not check_table(table, schema, label="label").stops


class TestNumbers:
    SCHEMA = Schema.from_mapping(
        {
            "version": 1,
            "columns": {"age": {"type": "numeric", "low": 18, "high": 110}},
            "outcome": {"type": "number", "low": 0, "high": 60},
        }
    )

    def check(self, stays, **settings):
        frame = patients()[["age"]].assign(stay=stays)
        return check_table(frame, self.SCHEMA, label="stay", **settings)

    @pytest.fixture
    def stays(self):
        return np.random.RandomState(1).gamma(2, 5, N).clip(0, 60).round(1)

    def test_a_sound_one_is_counted(self, stays):
        report = self.check(stays)
        assert not report.stops
        assert report.counts[-1] == ("stay", 0, 0, 0)
        assert "400 rows; outcome 'stay', 0 to 60" in str(report)

    @pytest.mark.parametrize(
        ("spoiled", "kind", "text"),
        [
            (lambda y: y * 24, "clipped", "Are they in other units?"),
            (
                lambda y: [f"{v:.1f}".replace(".", ",") for v in y],
                "decimals",
                "their rows are left",
            ),
            (lambda y: np.where(np.arange(N) < 300, np.nan, y), "missing", "their rows are left"),
            (lambda y: ["long"] * N, "unread", "No label is a number"),
            (lambda y: np.full(N, 7.0), "constant", "the outcome cannot be learned"),
            (lambda y: np.where(np.arange(N) < 100, -9, y), "codes", "a code for missing values"),
        ],
    )
    def test_what_ruins_it_is_a_stop(self, stays, spoiled, kind, text):
        report = self.check(spoiled(stays))
        found = [stop.text for stop in report.stops if stop.name == f"stay:{kind}"]
        assert found
        assert text in " ".join(found)

    def test_mostly_at_a_bound_is_a_remark(self, stays):
        report = self.check(np.where(np.arange(N) < 250, 0, stays))
        assert report.remarks[0].name == "stay:bound"
        assert "are at or beyond the bound 0" in report.remarks[0].text
        assert 'add "zero": true to the outcome' in report.remarks[0].text

    def test_another_unit_of_it_and_what_tells_its_zeros_leak(self, stays):
        for ages in (110 - 1.3 * stays, 20 + stays**0.5):
            frame = pd.DataFrame({"age": ages, "stay": stays})
            stop = check_table(frame, self.SCHEMA, label="stay").stops[0]
            assert stop.text.startswith("It sorts the rows as the outcome does, like a column")
        zeros = np.where(np.arange(N) % 3, 0, stays)
        frame = pd.DataFrame({"age": 30 + 5 * (zeros > 0), "stay": zeros})
        stop = check_table(frame, self.SCHEMA, label="stay").stops[0]
        assert stop.text.startswith(
            "Alone, it predicts whether the outcome is at its lower bound in 400"
        )

    def test_people_may_have_several_numbers(self, stays):
        frame = patients()[["age"]].assign(stay=stays, person=np.arange(N) // 2)
        report = check_table(frame, self.SCHEMA, label="stay", group="person")
        assert not report.findings

    def test_a_schema_that_says_nothing_of_labels_is_refused(self, stays):
        frame = patients()[["age"]].assign(stay=stays)
        columns = {"age": {"type": "numeric", "low": 18, "high": 110}}
        with pytest.raises(ValueError, match="has neither classes nor a numeric outcome"):
            check_table(frame, columns, label="stay")


class TestTimes:
    SCHEMA = {
        "version": 1,
        "columns": {"age": {"type": "numeric", "low": 18, "high": 110}},
        "outcome": {"type": "event", "horizon": 1825, "event": "death", "time": "days"},
    }

    def table(self, **columns):
        rng = np.random.default_rng(0)
        times = rng.uniform(1, 2000, N).round()
        given = {"death": rng.integers(2, size=N), "days": times} | columns
        return pd.DataFrame({"age": rng.normal(60, 15, N).clip(18, 105).round(), **given})

    def findings(self, table):
        report = check_table(table, self.SCHEMA)
        return {finding.name: finding for finding in report.findings}

    def test_good_times_are_left_alone(self):
        report = check_table(self.table(days=np.linspace(1, 1825, N)), self.SCHEMA)
        assert not report.findings
        assert "outcome 'death' and 'days', time to an event, up to 1825" in str(report)
        boolean = self.table(death=pd.array([True, False] * (N // 2), dtype="boolean"))
        assert not check_table(boolean, self.SCHEMA).stops

    def test_events_after_the_horizon_are_remarked(self):
        found = self.findings(self.table())
        assert not found["days:bound"].is_stop
        late = check_table(self.table(), self.SCHEMA).counts[-1]
        assert late[0] == "days"
        assert late[3] > 0

    @pytest.mark.parametrize(
        ("factor", "text"),
        [(1 / 30.44, "below 5% of"), (1 / 365.25, "below 5% of"), (86_400, "beyond")],
    )
    def test_times_in_other_units_stop(self, factor, text):
        days = np.linspace(0.1, 1800, N) if factor < 1 else np.linspace(400, 1800, N)
        found = self.findings(self.table(days=days * factor))
        assert found["days:bound"].is_stop
        assert f"are {text} the horizon 1825. Are they in its unit?" in found["days:bound"].text

    def test_negative_missing_and_unreadable(self):
        table = self.table()
        table["days"] = table["days"].astype(object)
        table.loc[:9, "days"] = -5
        table.loc[10:14, "days"] = None
        table.loc[15:18, "days"] = "long"
        found = self.findings(table)
        assert found["days:negative"].is_stop
        assert not found["days:missing"].is_stop
        assert not found["days:unread"].is_stop
        assert "'long' (4)" in found["days:unread"].text

    def test_all_or_no_events(self):
        assert self.findings(self.table(death=0))["death:events"].is_stop
        assert not self.findings(self.table(death=1))["death:constant"].is_stop
        few = self.findings(self.table(death=np.arange(N) < 12, days=np.arange(N) + 1))
        assert not few["death:events"].is_stop

    def test_late_entry_is_remarked(self):
        table = self.table()
        late = table.assign(entry_days=np.where(np.arange(N) % 3, 0, table["days"] // 2))
        finding = self.findings(late)["days:events"]
        assert not finding.is_stop
        assert "'entry_days' seems to say when rows came under observation" in finding.text
        assert "days:events" not in self.findings(table.assign(entry_days=5000))

    def test_the_time_and_the_event_leak(self):
        table = self.table()
        for age in (20 + table["days"] / 40, 40 + 20 * table["death"]):
            assert self.findings(table.assign(age=age))["age:leak"].is_stop

    def test_both_columns_or_none(self):
        report = check_table(self.table()[["age"]], self.SCHEMA)
        assert "labels were not checked" in str(report)
        with pytest.raises(ValueError, match="must have one column 'days'"):
            check_table(self.table()[["age", "death"]], self.SCHEMA)
        with pytest.raises(ValueError, match="'label' parameter of check_table must be None"):
            check_table(self.table(), self.SCHEMA, label="death")

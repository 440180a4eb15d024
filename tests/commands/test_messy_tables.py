"""Tables as people have them: ``skdp schema`` and ``skdp check`` name each mistake, or read it."""

import json

import numpy as np
import pandas as pd
import pytest

N = 240
COLUMNS = {
    "age": {"type": "numeric", "low": 18, "high": 110},
    "marker": {"type": "numeric", "low": 0, "high": 60},
    "sex": {"type": "category", "categories": ["female", "male"]},
    "smoker": {"type": "category", "categories": [0, 1]},
}
CLASSES = {"classes": ["died", "home"]}
TIMES = {"outcome": {"type": "event", "horizon": 365, "event": "status", "time": "days"}}
EVENTS = ("--event", "status", "--time", "days")


def clean():
    rng = np.random.RandomState(0)
    died = rng.rand(N) < 0.4
    return pd.DataFrame(
        {
            "age": rng.randint(20, 91, N),
            "marker": rng.gamma(4, 5, N).clip(0, 59).round(1),
            "sex": rng.choice(["female", "male"], N),
            "smoker": rng.randint(2, size=N),
            "outcome": np.where(died, "died", "home"),
            "status": died * 1,
            "days": rng.randint(1, 366, N),
        }
    ).astype(object)


def cells(name, value, rows=(7,)):
    """Return a change of some cells, by their value or a function of it."""

    def change(table):
        for row in rows:
            old = table.loc[row, name]
            table.loc[row, name] = value(old) if callable(value) else value
        return table

    return change


def column(name, values):
    return lambda table: table.assign(**{name: values(table) if callable(values) else values})


def row(**values):
    """Return a change that adds a last row."""
    return lambda table: pd.concat([table, pd.DataFrame([values])], ignore_index=True)


def totals(word):
    return lambda table: row(age=word, marker=table["marker"].sum())(table)


def visits(table):
    """Three rows of a person, each from a start to a stop."""
    stops = np.tile([30, 90, 200], N // 3) + np.repeat(np.arange(N // 3), 3)
    return table.assign(days=stops, start=np.where(np.arange(N) % 3, np.roll(stops, 1), 0))


SWAP = str.maketrans(",.", ".,")
ALL, THREE = np.arange(N), np.repeat(np.arange(80), 3)
# Of each file: the change, what a draft says, and what the check finds; None where it reads right.
FILES = {
    "total": (totals("Total"), "241 ('Total')", "totals"),
    "Summe": (totals("Summe"), "241 ('Summe')", "totals"),
    "no word": (lambda t: row(marker=t["marker"].sum())(t), "241 ('4555.8')", "totals"),
    "footnote": (row(age="* as of 2023"), "241 ('* as of 2023')", "totals"),
    "heading": (lambda t: pd.concat([row(sex="Ward 2")(t[:90]), t[90:]]), "'Ward 2'", "totals"),
    "names again": (lambda t: row(**{name: name for name in t})(t), "241 ('age')", "totals"),
    "IDs": (
        column("patient_id", THREE),
        "'patient_id' has 80 different values in 240 rows. If these",
        "people",
    ),
    "IDs as codes": (column("code", THREE), "'code': Equal values are adjacent", "code:ids"),
    "running numbers": (column("code", ALL), "'code' has a different whole", "code:ids"),
    "text IDs": (column("pid", [f"P{i:04}" for i in ALL]), "like names or IDs", "pid:unread"),
    "follow-up": (
        column("followup", ALL % 70 / 7),
        "'followup': Its name suggests",
        "followup:leak",
    ),
    "True": (column("smoker", ALL % 2 == 0), "'smoker': category, 'False', 'True'", None),
    "true, gaps": (
        column("smoker", ["true", "false", ""] * (N // 3)),
        "'true'; may be",
        "smoker:missing",
    ),
    "<5": (cells("marker", "<5"), "'marker' has 1 texts such as '<5'", "marker:unread"),
    ">100": (cells("age", ">100"), "texts such as '>100' among numbers", "age:unread"),
    "#DIV/0!": (cells("marker", "#DIV/0!"), "such as '#DIV/0!' among", "marker:unread"),
    "#N/A": (cells("marker", "#N/A"), "'marker': numeric, 0 to 60, in", "marker:missing"),
    "k.A.": (cells("marker", "k.A."), "'k.A.' in 'marker' may mark", "marker:unread"),
    "12 %": (cells("marker", "12 %"), "such as '12 %' among", "marker:unread"),
    "one comma": (cells("marker", "12,5"), "such as '12,5' among", "marker:decimals"),
    "commas": (
        column("marker", lambda t: t["marker"].map(lambda x: f"{x}".replace(".", ","))),
        "'marker' have decimal commas",
        "marker:decimals",
    ),
    "thousands": (
        column("marker", lambda t: t["marker"].map(lambda x: f"{1000 * x:,.0f}")),
        "--thousands ','",
        "marker:decimals",
    ),
    "EUR": (
        column("marker", lambda t: t["marker"].map(lambda x: f"EUR {1000 * x:,.0f}")),
        "currencies or a minus sign behind: add --thousands ','",
        "marker:decimals",
    ),
    "cents": (
        column(
            "marker", lambda t: t["marker"].map(lambda x: f"{1000 * x:,.2f} €".translate(SWAP))
        ),
        "currencies or a minus sign behind: add --decimal ','",
        "marker:decimals",
    ),
    "12-": (
        column("marker", lambda t: t["marker"].map(lambda x: f"{x}-")),
        "currencies or a minus sign behind: add --thousands ','",
        "marker:decimals",
    ),
    "kg": (
        column("marker", lambda t: t["marker"].map("{} kg".format)),
        "'marker'",
        "marker:unread",
    ),
    "repeated": (
        column("copy", lambda t: t["outcome"]),
        "Alone, it predicts the class",
        "copy:unread",
    ),
    "recorded after": (
        column("smoker", lambda t: (t["outcome"] == "died") * 1),
        "'smoker': Alone, it predicts the class in 240 of 240 rows",
        "smoker:leak",
    ),
    "dates": (column("marker", "2020-01-02"), "'marker' has dates", "marker:unread"),
    "date of birth": (cells("age", "02.01.1950", ALL), "'age' has dates", "age:unread"),
    "postal codes": (column("zip", [f"{i**2 % 31:05}" for i in ALL]), "'zip': category,", None),
    "names twice": (lambda t: pd.concat([t, t[["age"]]], axis=1), "repeats the name of a", "more"),
    "empty": (column("marker", ""), "'marker' has fewer than two", "marker:missing"),
    "constant": (column("marker", 7), "['marker'] have only one value", "marker:constant"),
    "cases": (cells("sex", str.title, ALL[:60]), "differ only in case, white", "sex:spelling"),
    "labels": (cells("outcome", str.upper, ALL[:60]), "'outcome' has [", "outcome:spelling"),
    "codes": (cells("age", 999, ALL[:9]), "'999' in 'age' may mark", "age:codes"),
    "-9": (cells("marker", -9, ALL[:9]), "'-9' in 'marker' may mark", "marker:codes"),
}
# The same of times to an event.
TIME_FILES = {
    "1 and 2": (column("status", lambda t: t["status"] + 1), "such as 2; write", "status:unread"),
    "competing": (cells("status", 2, ALL[:9]), "such as 2; write", "status:unread"),
    "words": (
        column("status", lambda t: t["status"].map({0: "alive", 1: "dead"})),
        "--event-value", "status:unread",
    ),
    "text times": (cells("days", "3 d", ALL), "'days' has values that are no", "days:unread"),
    "start and stop": (visits, "begin, by 'start', where the row before", "people"),
    "follow-up": (column("fu_days", ALL % 70 / 7), "'fu_days': Its name suggests", "fu_days:leak"),
    "yes": (column("status", ["Yes", "no "] * (N // 2)), "time to an event, up to 400", None),
    "TRUE": (column("status", ["TRUE", "false"] * (N // 2)), "time to an event, up", None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "change", "draft", "finding"),
    [
        *(pytest.param("class", *file, id=name) for name, file in FILES.items()),
        *(pytest.param("time", *file, id=f"times, {name}") for name, file in TIME_FILES.items()),
    ],
)
def test_each_mistake_is_named_or_read_right(
    tmp_path, monkeypatch, run, outcome, change, draft, finding
):
    monkeypatch.chdir(tmp_path)
    table = change(clean())
    unused = ["status", "days"] if outcome == "class" else ["outcome"]
    options = ("--label", "outcome") if outcome == "class" else EVENTS
    table = table.drop(columns=unused)
    table.to_csv("t.csv", index=False)
    given = {name: {"type": "numeric", "low": 0, "high": 10**4} for name in table}
    columns = given | COLUMNS
    for name in ("outcome", "status", "days"):
        columns.pop(name, None)
    about = CLASSES if outcome == "class" else TIMES
    (tmp_path / "s.json").write_text(json.dumps({"version": 1, "columns": columns, **about}))
    _, out, err = run("schema", "t.csv", "--public", *options, "-o", "draft.json")
    assert draft in " ".join(f"{out} {err}".split())
    label = options if outcome == "class" else ()
    code, out, err = run("check", "t.csv", "--schema", "s.json", *label)
    if finding is None:
        assert (code, "Remarks" in out) == (0, False), out
    else:
        assert f"\n  {finding}\n" in out or finding in err, out


def test_a_sound_table_is_left_alone(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    clean().drop(columns=["status", "days"]).to_csv("t.csv", index=False)
    (tmp_path / "s.json").write_text(json.dumps({"version": 1, "columns": COLUMNS, **CLASSES}))
    code, out, err = run("check", "t.csv", "--schema", "s.json", "--label", "outcome")
    assert (code, "Remarks" in out) == (0, False), out
    code, _, err = run("schema", "t.csv", "--public", "--label", "outcome", "-o", "d.json")
    assert (code, err) == (0, "skdp: reading 't.csv'\n")


def test_predictions_warn_of_totals(hospital, done):
    target = pd.read_csv("target.csv")
    row(name="Total", age=target["age"].sum())(target).to_csv("target.csv", index=False)
    _, err = done("predict", "hospital.skdp", "target.csv", "-o", "p.csv")
    assert "warning: 1 rows seem to be totals, headings or notes rather than records" in err

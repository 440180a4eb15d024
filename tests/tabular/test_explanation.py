"""Explanations as values: sentences and tables."""

from dataclasses import replace

import pytest

from skdp.tabular import ColumnEffect, Explanation


def number(name="age", value=50.0, **given):
    given = {"low": 20.0, "high": 90.0, "bounds": (20.0, 90.0)} | given
    return ColumnEffect(name, value, 1.0, ("dead",), **given)


def category(values, changing, value="A"):
    return ColumnEffect("ward", value, 1.0, ("dead",), values=values, changing=changing)


def test_names_from_a_file_do_nothing_to_a_terminal():
    column = number("a\x1b[2J", low=40.0)
    still = replace(column, name="b\x1b[2J", otherwise=())
    for named in ((column.name,), ()):
        shown = str(Explanation("x\x1b", 0.8, "y", 4.0, (column, still), named, 1.0))
        assert "\x1b" not in shown
        assert "a\\x1b[2J" in shown
        assert "b\\x1b[2J" in shown


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (number(low=40.0, high=62.54321), "age is between 40 and 62.54"),
        (number(low=40.0), "age is above 40"),
        (number(high=62.5), "age is below 62.5"),
        (number(), "age is not missing"),
        (number(value=None, low=None, high=None), "age is missing"),
        (number(high=123456.7, bounds=(20.0, 1e6)), "age is below 123457"),
        (number(low=0.00012345, bounds=(0.0, 90.0)), "age is above 0.0001234"),
        (category(("A",), ("B", "C")), "ward is 'A'"),
        (category(("A", None), ("B", "C")), "ward is 'A' or missing"),
        (category(("A", "B", "D"), ("C",)), "ward is not 'C'"),
        (category(("A", "B", "D"), ("C", None)), "ward is not 'C' or missing"),
        (category((None,), ("A", "B"), value=None), "ward is missing"),
    ],
)
def test_conditions(column, sentence):
    assert str(column) == sentence


def test_a_rule_says_what_it_holds_for_and_what_else_could_change_it():
    age, ward = number(low=40.0, high=62.5), category(("A",), ("B", "C"))
    lab = number("lab", low=30.0)
    idle = [ColumnEffect(f"c{k}", 0.5, 0.0, (), 0.0, 1.0, (0.0, 1.0)) for k in range(12)]
    explanation = Explanation(
        "alive", 0.83, "dead", 4.882, (age, ward, lab, *idle), ("age", "ward"), 0.97
    )
    assert str(explanation).splitlines() == [
        "if age is between 40 and 62.5 and ward is 'A', then 'alive' (probability 0.83, 4.88 "
        "times that of 'dead')",
        "with the other columns as they are, this holds for 97% of the rows that meet it",
        "one of these alone could change it as well: lab",
        "none of these alone could change it: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more",
    ]
    table = explanation.to_frame()
    assert table.index.tolist()[:3] == ["age", "ward", "lab"]
    assert table["condition"].tolist()[:4] == [
        *("age is between 40 and 62.5", "ward is 'A'", "lab is above 30", ""),
    ]
    assert table["otherwise"]["age"] == ("dead",)


def test_where_no_column_changes_it_the_greatest_effects_are_told():
    columns = tuple(
        ColumnEffect(name, 0.5, effect, (), 0.0, 1.0, (0.0, 1.0))
        for name, effect in [("a", -2.0), ("b", 1.5), ("c", 1.0), ("d", 0.1)]
    )
    explanation = Explanation(1, 0.9, 0, 9.0, columns, (), None)
    assert str(explanation).splitlines() == [
        "1 (probability 0.90, 9 times that of 0), whatever any single column changes to",
        "greatest effects, in log-odds: a (-2), b (+1.5), c (+1)",
    ]

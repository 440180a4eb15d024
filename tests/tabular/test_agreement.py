"""What differs between schemas, and the schema that several owners can share."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from skdp import Schema, TabularEncoder
from skdp.tabular import CategoryColumn, ClassOutcome, NumericColumn

AGE = NumericColumn("age", 18, 100)
WARD = CategoryColumn("ward", ("A", "B", "C"))
STAGE = CategoryColumn("stage", ("I", "II", "III"), ordered=True)
CLASSES = ("alive", "dead")


def of(*columns, classes=CLASSES):
    return Schema(columns, ClassOutcome(classes))


def test_another_order_of_columns_is_no_difference():
    for order in itertools.permutations((AGE, WARD, STAGE)):
        assert of(*order).difference(of(AGE, WARD, STAGE)) == ()
    assert of(AGE).difference(of(AGE).to_json()) == of(AGE).difference(of(AGE).to_mapping()) == ()


@pytest.mark.parametrize(
    ("here", "there", "line"),
    [
        (AGE, NumericColumn("age", 20, 90), "numeric, 18 to 100 here; numeric, 20 to 90 there"),
        (
            AGE,
            NumericColumn("age", 18, 100, log=True, missing=True),
            "numeric, 18 to 100 here; numeric, 18 to 100; logarithmic; may be missing there",
        ),
        # More digits than a summary usually shows.
        (
            NumericColumn("age", 0, 1e6),
            NumericColumn("age", 0, 1e6 + 0.5),
            "numeric, 0 to 1e+06 here; numeric, 0 to 1000000.5 there",
        ),
        (
            AGE,
            CategoryColumn("age", ("old", "young")),
            "numeric, 18 to 100 here; category, 'old', 'young' there",
        ),
        (
            CategoryColumn("age", ("a", "b"), ordered=True),
            CategoryColumn("age", ("b", "a")),
            "category, 'a', 'b'; ordered here; category, 'b', 'a' there",
        ),
        (
            CategoryColumn("age", tuple("abcdefg")),
            CategoryColumn("age", tuple("abcdefhi")),
            "category, 'a', 'b', 'c', 'd', 'e', … (7) here; category, 'a', 'b', 'c', 'd', 'e', … "
            "(8) there (only here: 'g'; only there: 'h', 'i')",
        ),
        (
            CategoryColumn("age", tuple("abcdefg")),
            CategoryColumn("age", tuple("abcdegf")),
            "category, 'a', 'b', 'c', 'd', 'e', … (7) here; category, 'a', 'b', 'c', 'd', 'e', … "
            "(7) there (in another order)",
        ),
    ],
)
def test_a_line_has_the_name_and_both_descriptions(here, there, line):
    assert of(here, WARD).difference(of(WARD, there)) == (f"'age': {line}",)


def test_columns_that_one_side_lacks_and_classes():
    lines = of(AGE, WARD).difference(of(WARD, STAGE, classes=("dead", "alive")))
    assert lines == (
        "'age': numeric, 18 to 100 here; no such column there",
        "'stage': no such column here; category, 'I', 'II', 'III'; ordered there",
        "classes: 'alive', 'dead' here; 'dead', 'alive' there",
    )
    bare = of(AGE, classes=None)
    assert bare.difference(of(AGE)) == ("classes: not listed here; 'alive', 'dead' there",)
    # Python takes these for equal.
    lines = of(AGE, classes=(0, 1)).difference(of(AGE, classes=(False, True)))
    assert lines == ("classes: 0, 1 here; False, True there",)


@pytest.mark.parametrize("seed", range(20))
def test_difference_is_empty_exactly_where_rows_have_the_same_codes(seed):
    rng = np.random.RandomState(seed)
    choices = [
        [AGE, NumericColumn("age", 18, 120), NumericColumn("age", 18, 100, log=True)],
        [WARD, CategoryColumn("ward", ("B", "A", "C")), CategoryColumn("ward", tuple("ABCD"))],
        [STAGE, CategoryColumn("stage", ("I", "II", "III")), STAGE],
    ]
    here, there = (Schema(tuple(c[rng.randint(3)] for c in choices)) for _ in range(2))
    there = there.restrict(rng.permutation(there.names).tolist())
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 100, 50),
            "ward": rng.choice([*"ABC"], 50),
            "stage": rng.choice(["I", "II", "III"], 50),
        }
    )
    # Codes of each column, whatever the order of the columns is.
    codes = [
        [TabularEncoder(s.restrict([n])).fit_transform(frame[[n]]) for n in frame]
        for s in (here, there)
    ]
    same = all(a.shape == b.shape and np.array_equal(a, b) for a, b in zip(*codes, strict=True))
    assert (here.difference(there) == ()) == same


def test_common_holds_whatever_any_schema_holds():
    schemas = [
        of(NumericColumn("age", 20, 90), WARD, STAGE),
        of(
            CategoryColumn("stage", ("I", "II", "III", "IV"), ordered=True),
            CategoryColumn("ward", ("D", "B"), missing=True),
            NumericColumn("age", 18, 80),
        ),
        of(WARD, NumericColumn("age", 30, 100, missing=True), STAGE, classes=("dead", "alive")),
    ]
    common = Schema.common(schemas)
    assert common == of(
        NumericColumn("age", 18, 100, missing=True),
        CategoryColumn("ward", ("A", "B", "C", "D"), missing=True),
        CategoryColumn("stage", ("I", "II", "III", "IV"), ordered=True),
    )
    assert Schema.common([common, *schemas]) == Schema.common([common]) == common
    forms = [schemas[0].to_json(), schemas[1].to_mapping(), schemas[2]]
    assert Schema.common(forms) == common
    assert json.loads(common.to_json())  # it can be sent


def test_common_columns_are_those_of_all_or_of_any():
    schemas = [of(WARD, AGE), of(STAGE, AGE)]
    assert Schema.common(schemas).names == ("age",)
    every = Schema.common(schemas, columns="all")
    assert every.names == ("ward", "age", "stage")
    assert [column.missing for column in every.columns] == [True, False, True]
    with pytest.raises(ValueError, match="no column in common"):
        Schema.common([of(WARD), of(AGE)])
    assert Schema.common([of(WARD), of(AGE)], columns="all").names == ("ward", "age")


def test_spellings_of_one_category_are_one():
    columns = (CategoryColumn("ward", each) for each in (("007", "12"), ("7", "X01")))
    (column,) = Schema.common([of(each) for each in columns]).columns
    assert column.categories == ("007", "12", "X01")


def ordered(*lists):
    return [of(CategoryColumn("stage", tuple(each), ordered=True)) for each in lists]


def test_ordered_categories_are_merged_where_one_order_is_left():
    # The first list alone would put the new category last.
    assert Schema.common(ordered("ac", "abc")).columns[0].categories == ("a", "b", "c")
    assert Schema.common(ordered("ab", "bc", "cd")).columns[0].categories == tuple("abcd")
    full = "abcdef"
    parts = itertools.combinations(full, 3)
    assert Schema.common(ordered(*parts)).columns[0].categories == tuple(full)
    with pytest.raises(ValueError, match=r"Column 'stage' .* contradict .* one order"):
        Schema.common(ordered("abc", "acb"))
    with pytest.raises(ValueError, match=r"Column 'stage' .* contradict"):
        Schema.common(ordered("ab", "bc", "ca"))
    with pytest.raises(
        ValueError, match=r"Column 'stage' .* the order of all its categories is unknown"
    ):
        Schema.common(ordered("abc", "abd"))


@pytest.mark.parametrize(
    ("other", "texts"),
    [
        (
            NumericColumn("age", 18, 100, log=True),
            ("numeric, 18 to 100 in north", "numeric, 18 to 100; logarithmic in south", "in none"),
        ),
        (
            CategoryColumn("age", ("old", "young")),
            ("numeric, 18 to 100 in north", "category, 'old', 'young' in south", "numeric in all"),
        ),
    ],
)
def test_descriptions_with_nothing_in_common_are_named(other, texts):
    with pytest.raises(ValueError, match="Column 'age' has no common description") as error:
        Schema.common({"north": of(AGE), "third": of(AGE), "south": of(other)})
    for text in texts:
        assert text in str(error.value)
    assert "third" not in str(error.value)


def test_ordered_and_unordered_categories_have_nothing_in_common():
    plain = CategoryColumn("stage", STAGE.categories)
    with pytest.raises(ValueError, match=r"'stage' .* schema 0; .* schema 1; .* ordered in all"):
        Schema.common([of(STAGE), of(plain)])


def test_classes_must_be_the_same():
    assert Schema.common([of(AGE, classes=None), of(AGE)]).classes == CLASSES
    assert Schema.common([of(AGE, classes=None)] * 2).classes is None
    for other in (("alive", "dead", "unknown"), ("Alive", "Dead"), (False, True)):
        with pytest.raises(ValueError, match="The classes are 'alive', 'dead' in schema 0 and"):
            Schema.common([of(AGE), of(AGE, classes=other)])


@pytest.mark.parametrize("schemas", [[], {}, of(AGE), "common.json", None, iter([])])
def test_common_wants_a_list(schemas):
    with pytest.raises(
        ValueError, match=r"'schemas' parameter of Schema.common must be a nonempty list"
    ):
        Schema.common(schemas)
    with pytest.raises(ValueError, match=r"'columns' parameter .* got 'some'"):
        Schema.common([of(AGE)], columns="some")

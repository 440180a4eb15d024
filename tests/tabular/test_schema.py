import json
import pickle
from dataclasses import FrozenInstanceError
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from skdp import Schema, TabularEncoder
from skdp.tabular import CategoryColumn, ClassOutcome, NumericColumn
from skdp.tabular._schema import as_schema

AGE = {"type": "numeric", "low": 18, "high": 100}
SEX = {"type": "category", "categories": ["F", "M"]}
DOCUMENT = {"version": 1, "classes": ["alive", "dead"], "columns": {"age": AGE, "sex": SEX}}


@pytest.fixture
def schema():
    columns = (
        NumericColumn("age", 18, 100),
        NumericColumn("kappa", 0, 25.5, log=True, missing=True),
        CategoryColumn("ward <b>", ("A", "B", "C"), ordered=True),
        CategoryColumn("größe", tuple("abcdefg"), missing=True),
    )
    return Schema(columns, ClassOutcome(("alive", "dead")))


def test_a_mark_of_byte_order_is_no_part_of_a_schema(schema, tmp_path):
    (tmp_path / "schema.json").write_text(f"\ufeff{schema.to_json()}", encoding="utf-8")
    assert Schema.read(tmp_path / "schema.json") == schema


def test_all_forms_make_the_same_schema(schema, tmp_path):
    path = tmp_path / "schema.json"
    path.write_bytes(schema.to_json().encode())
    forms = [
        schema,
        schema.to_mapping(),
        schema.to_json(),
        f" \n{schema.to_json()}",
        path,
        f"{path}",
    ]
    for form in forms:
        assert as_schema(form) == schema
    assert hash(as_schema(path)) == hash(schema)
    assert json.loads(schema.to_json())["version"] == 1
    columns_alone = as_schema(schema.to_mapping()["columns"])
    assert columns_alone.columns == schema.columns
    assert columns_alone.classes is None


@pytest.mark.parametrize("classes", [(0, 1), (False, True), (0.0, 1.0), ("a", "b"), None])
def test_classes_keep_their_type(classes):
    schema = Schema((NumericColumn("age", 18, 100),), ClassOutcome(classes))
    again = Schema.from_json(schema.to_json())
    assert again.classes == classes
    assert list(map(type, again.classes or ())) == list(map(type, classes or ()))


def test_lists_of_programs_are_taken():
    y = np.array([1, 2, 1])
    schema = Schema((NumericColumn("age", 18, 100),), ClassOutcome(list(np.unique(y))))
    assert schema.classes == (1, 2)
    assert list(map(type, schema.classes)) == [int, int]
    column = {"type": "category", "categories": np.unique(["b", "a"])}
    mapping = {"columns": {"ward": column}, "classes": np.unique(y), "version": 1}
    assert as_schema(mapping).columns[0].categories == ("a", "b")
    assert as_schema(mapping).classes == (1, 2)
    assert Schema.from_json(as_schema(mapping).to_json()) == as_schema(mapping)


def test_broken_numbers_are_no_classes():
    # No classifier of scikit-learn would take them for labels later.
    with pytest.raises(
        ValueError, match=r"lists the fraction 1.5 .* take for a measurement.* as text"
    ):
        Schema((NumericColumn("age", 18, 100),), ClassOutcome((1.5, 2.5)))


def test_a_column_may_have_any_name():
    for name in ("columns", "version", "classes", "type"):
        assert as_schema({name: AGE}).names == (name,)
        document = {"version": 1, "columns": {name: AGE}}
        assert as_schema(document).names == (name,)


@pytest.mark.parametrize(("text", "missing"), [("17 %", True), ("0.5%", True), ("0 %", False)])
def test_missing_may_be_a_share(text, missing):
    [column] = as_schema({"age": AGE | {"missing": text}}).columns
    assert column.missing is missing


def test_schemas_are_immutable_values(schema):
    with pytest.raises(FrozenInstanceError):
        schema.classes = None
    with pytest.raises(FrozenInstanceError):
        schema.columns[0].low = 0
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert clone(TabularEncoder(schema)).schema == schema
    assert schema != Schema(schema.columns)


def test_what_is_shown(schema):
    assert repr(schema) == (
        "Schema(2 numeric columns, 2 of categories; 12 encoded; classes 'alive', 'dead')"
    )
    assert schema.summary().splitlines()[1:] == [
        "  'age': numeric, 18 to 100",
        "  'kappa': numeric, 0 to 25.5; logarithmic; may be missing",
        "  'ward <b>': category, 'A', 'B', 'C'; ordered",
        "  'größe': category, 'a', 'b', 'c', 'd', 'e', … (7); may be missing",
    ]
    html = schema._repr_html_()
    assert ">ward &lt;b&gt;</td>" in html
    assert "<b>" not in html
    hostile = Schema((NumericColumn("\x1b[2J", 0, 1),))
    assert "\x1b" not in hostile.summary()


def changed(**changes):
    return DOCUMENT | changes


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (changed(version=2), "has the version 2; this skdp reads version 1"),
        (changed(version="1"), "has the version '1'"),
        (changed(version=True), "has the version True"),
        ({"columns": {"age": AGE}}, "has the version None.*Write 'version': 1"),
        (changed(code="import os"), "unknown key 'code'; use 'version', 'columns' and 'classes'"),
        (changed(columns={}), "has 0 columns; describe between 1 and 10000"),
        ({}, "has 0 columns"),
        (3, "must be a mapping"),
        (changed(columns={"age": 3}), "Column 'age' .* not described by a mapping; give it a"),
        (changed(columns={"age": {}}), "Column 'age' .* type None; use 'numeric' or 'category'"),
        ({"age": AGE | {"type": "text"}}, "Column 'age' .* type 'text'; use 'numeric'"),
        ({"age": AGE | {"type": ["numeric"]}}, "Column 'age' .* type"),
        ({"age": AGE | {"hihg": 3}}, "Column 'age' .* unknown key 'hihg'; use 'type', 'low'"),
        ({"age": {"type": "numeric", "low": 0}}, "Column 'age' .* no key 'high'; add 'high'"),
        ({"age": AGE | {"missing": "yes"}}, "Column 'age' .* an invalid 'missing'; write"),
        (
            {"age": AGE | {"missing": 0.17}},
            "Column 'age' .* 'missing' that is not a boolean; write",
        ),
        ({"age": AGE | {"low": 100}}, "Column 'age' .* empty bounds; make 'low' less"),
        ({3: AGE}, "Column 3 .* an invalid name"),
        ({"sex": SEX | {"log": True}}, "Column 'sex' .* unknown key 'log'; use 'type', 'categor"),
        ({"sex": SEX | {"categories": "FM"}}, "Column 'sex' .* no list of categories; list them"),
        ({"sex": SEX | {"categories": ["F", "F"]}}, "Column 'sex' .* duplicate categories; list"),
        (changed(classes=["dead"]), "The schema must list two or more different 'classes'"),
        (changed(classes=["a", 1]), "The schema must list two or more different 'classes'"),
        (changed(classes=[1, 1]), "must list two or more different 'classes'"),
        (changed(classes=[0.0, np.inf]), "must list two or more different 'classes'"),
        (changed(classes=["a", "\ud800"]), "must list two or more different 'classes'"),
        (changed(classes=[["a"], ["b"]]), "must list two or more different 'classes'"),
        (changed(classes="ab"), "must list two or more different 'classes'"),
        ({"a": AGE, "a_b": SEX, "a_b_M": AGE}, "'a_b' and 'a_b_M' .* encoded column 'a_b_M'; ren"),
    ],
)
def test_bad_schemas_are_refused(mapping, message):
    with pytest.raises(ValueError, match=message):
        as_schema(mapping)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"a":' * 100_000, "is not JSON"),
        ('{"age": {"type": "numeric", "low": NaN, "high": 1}}', "Column 'age' .* not finite"),
        ('{"age": {"type": "numeric", "low": 0, "high": 1e999}}', "Column 'age' .* not finite"),
        (f'{{"age": {json.dumps(AGE)}, "age": {json.dumps(AGE)}}}', "the key 'age' twice"),
    ],
)
def test_bad_json_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        as_schema(text)


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        as_schema(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes('{"größe": {}}'.encode("latin-1"))
    with pytest.raises(ValueError, match="not in UTF-8; save it as UTF-8"):
        as_schema(tmp_path / "latin.json")


def test_absurd_sizes_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="has 10001 columns; describe between 1 and 10000"):
        as_schema({str(i): AGE for i in range(10_001)})
    many = [str(i) for i in range(50_001)]
    columns = tuple(CategoryColumn(name, tuple(many)) for name in "ab")
    with pytest.raises(ValueError, match="100002 categories in all; list at most 100000"):
        Schema(columns)
    monkeypatch.setattr("skdp.tabular._schema._MAX_CHARACTERS", 20)
    for read in (as_schema, partial(Schema.from_json)):
        with pytest.raises(ValueError, match="characters, more than 20; leave out"):
            read(json.dumps(DOCUMENT))


def test_only_columns_make_a_schema():
    for columns in ([NumericColumn("age", 18, 100)], ("age",), {"age": AGE}):
        with pytest.raises(
            ValueError, match="must be a tuple of NumericColumn and CategoryColumn"
        ):
            Schema(columns)


def test_a_schema_of_some_columns_keeps_these_and_the_classes(schema):
    part = schema.restrict(["ward <b>", "age"])
    assert part.columns == (schema.columns[2], schema.columns[0])
    assert part.classes == schema.classes
    assert schema.restrict(schema.names) == schema
    with pytest.raises(ValueError, match=r"Schema.restrict has unknown columns, \['weight'\]"):
        schema.restrict(["age", "weight"])

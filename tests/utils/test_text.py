"""Unicode's two forms of a letter, from schemas and tables to releases and predictions."""

import unicodedata
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp import DPStatisticsSource, DPTransferClassifier, Schema, quantile_bounds, schema_from
from skdp.tabular import ClassOutcome, check_table
from skdp.utils._frames import matched, named_like

decomposed = partial(unicodedata.normalize, "NFD")
SCHEMA = Schema.from_mapping(
    {
        "version": 1,
        "columns": {
            "Größe": {"type": "numeric", "low": 0, "high": 3},
            "ort": {"type": "category", "categories": ["Köln", "Ulm"]},
        },
        "classes": ["ja", "nö"],
    }
)
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"Größe": RNG.uniform(0, 3, 400), "ort": RNG.choice(["Köln", "Ulm"], 400)})
LABELS = np.where(TABLE["Größe"] > 1.5, "ja", "nö")
OTHER = TABLE.assign(ort=TABLE["ort"].map(decomposed)).rename(columns=decomposed)
OTHER_LABELS = np.array([decomposed(label) for label in LABELS])
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_schemas_of_both_forms_are_one():
    assert not SCHEMA.difference(decomposed(SCHEMA.to_json()))
    assert SCHEMA.restrict([decomposed("Größe")]).names == ("Größe",)
    age = {"type": "numeric", "low": 0, "high": 1}
    with pytest.raises(ValueError, match="Columns 'ä' and 'ä' of the schema both have"):
        Schema.from_mapping({decomposed("ä"): age, "ä": age})
    with pytest.raises(ValueError, match="'a' of the schema has duplicate categories"):
        Schema.from_mapping({"a": {"type": "category", "categories": ["ä", decomposed("ä")]}})
    with pytest.raises(ValueError, match="schema must list two or more different 'classes'"):
        Schema(SCHEMA.columns, ClassOutcome(("ä", decomposed("ä"))))


def test_tables_of_both_forms_are_one():
    both = ((TABLE, LABELS, "Größe"), (OTHER, OTHER_LABELS, decomposed("Größe")))
    ours, theirs = (
        [
            str(check_table(X.assign(y=y), SCHEMA, label="y")),
            str(schema_from(X.assign(y=y), public=True, label="y").summary()),
            quantile_bounds(X, [name], ["ort"], epsilon=np.inf).schema,
        ]
        for X, y, name in both
    )
    assert ours == theirs
    with pytest.raises(ValueError, match="names a column twice"):
        quantile_bounds(TABLE.join(OTHER, rsuffix="2"), ["Größe", decomposed("Größe")])
    with pytest.raises(ValueError, match="are in the public 'schema' already"):
        quantile_bounds(OTHER, [decomposed("Größe")], schema=SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", [SCHEMA, None])
def test_sources_releases_and_targets_take_both(encoder):
    """Named arrays without a schema, too, whose names have the form of the source's."""
    tables = [TABLE, OTHER] if encoder else [TABLE[["Größe"]] / 3, OTHER[[OTHER.columns[0]]] / 3]
    settings = {"encoder": encoder} if encoder else {"bounds": (0, 1), "classes": ["ja", "nö"]}
    results = []
    for X, y, others in zip(tables, (LABELS, OTHER_LABELS), tables[::-1], strict=True):
        release = DPStatisticsSource(random_state=0, **settings).fit(X, y).release_
        own = X.assign(**{decomposed("Übergröße"): RNG.permutation(400) / 7.0})
        model = DPTransferClassifier(release, random_state=0).fit(X[:50], y[:50])
        more = DPTransferClassifier(release, random_state=0).fit(own[:50], y[:50])
        assert_array_equal(
            more.predict_proba(own),
            more.predict_proba(own.rename(columns=partial(unicodedata.normalize, "NFC"))),
        )
        predicted = [each.predict_proba(X) for each in (release, model)]
        for result, each in zip(predicted, (release, model), strict=True):
            assert_array_equal(each.predict_proba(others), result)
            assert_array_equal(each.score(others, OTHER_LABELS), each.score(X, LABELS))
        assert model.explain(others.iloc[0]) == model.explain(X.iloc[0])
        results.append(predicted)
    assert_array_equal(*results)


def test_exact_names_come_first_and_none_is_found_twice():
    one, two = "ä", decomposed("ä")
    assert matched([two, one, 3, "b"], [one, two]) == [two, one, 3, "b"]
    frame = pd.DataFrame([[1, 2]], columns=[one, two])
    assert named_like(frame, [one, two]) is frame
    with pytest.raises(ValueError, match="must have one column 'ä', got 2"):
        check_table(frame, {one: {"type": "numeric", "low": 0, "high": 1}})

"""Parts of a model state their arrays; a new model is one class, and one entry in the file."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import DPStatisticsSource, Release
from skdp.release import _frame
from skdp.release._model import Model
from skdp.release._parts import Part, array, part
from skdp.utils._storage import load_arrays, save_arrays


@dataclass(frozen=True)
class Weights(Part):
    """Of the features, of pairs of them, and optionally of the classes."""

    of_features: np.ndarray = array("p")
    of_pairs: np.ndarray = array("p p", "f", symmetric=True, least=0)
    size: float = array("", "f", key="norm", below=100.0)
    of_classes: np.ndarray | None = array("K", optional=True)


@dataclass(frozen=True)
class WeightedModel(Model):
    kind = "weighted"

    weights: Weights = part(Weights)

    def score(self, rows):
        return np.column_stack([rows @ self.weights.of_features, np.zeros(len(rows))])

    def restrict(self, columns, release):
        weights = self.weights
        return WeightedModel(
            replace(
                weights,
                of_features=weights.of_features[columns],
                of_pairs=weights.of_pairs[np.ix_(columns, columns)],
            )
        )

    def contents(self):
        return ["weights of the features"]

    def result_lines(self, release):
        return [f"largest weight: {self.weights.of_features.max():g}"]


def weights(**changes):
    sound = {"of_features": np.array([1.0, 2.0, 3.0]), "of_pairs": np.ones((3, 3)), "size": 2.0}
    return Weights(**sound | changes)


@pytest.fixture
def weighted(monkeypatch):
    monkeypatch.setitem(_frame.MODELS, "weighted", WeightedModel)
    rng = np.random.RandomState(0)
    schema = {name: {"type": "numeric", "low": 0, "high": 1} for name in "abc"}
    source = DPStatisticsSource(4.0, encoder=schema, classes=[0, 1])
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({name: rng.rand(200) for name in "abc"})
    plain = source.fit(table, np.arange(200) % 2).release_
    return replace(plain, model=WeightedModel(weights()))


def test_it_is_frozen_stored_scored_and_described(weighted, tmp_path):
    with pytest.raises(ValueError, match="read-only"):
        weighted.model.weights.of_features[0] = 0
    weighted.save(tmp_path / "release")
    loaded = Release.load(tmp_path / "release")
    assert_array_equal(loaded.model.weights.of_features, [1.0, 2.0, 3.0])
    assert_array_equal(loaded.model.weights.of_pairs, np.ones((3, 3)))
    assert loaded.model.weights.size == 2.0
    assert loaded.model.weights.of_classes is loaded.moments is loaded.classifier is None
    assert_array_equal(loaded.scores(np.ones((1, 3))), [[6.0, 0.0]])
    assert loaded.summary() == weighted.summary()
    assert "\n  weights of the features\n" in weighted.summary()
    assert "\n  largest weight: 3\n" in weighted.summary()
    assert set(load_arrays(tmp_path / "release", "Release")[1]) == {
        "bounds", "weights/of_features", "weights/of_pairs", "weights/norm"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"of_features": np.ones(2)}, r"'weights.of_features' of a release must have shape"),
        ({"of_features": np.ones((3, 1))}, "must have shape"),
        ({"of_features": [1.0, 2.0, 3.0]}, "must be an array of real numbers"),
        ({"of_features": np.array(["a", "b", "c"])}, "must be an array of real numbers"),
        ({"of_pairs": np.ones((3, 3), dtype=int)}, "must be an array of real numbers"),
        ({"of_pairs": -np.ones((3, 3))}, "of_pairs' of a release must not be negative"),
        ({"size": 100.0}, "size' of a release must have magnitudes below 100"),
        ({"size": "2"}, "size' of a release must be an array of real numbers"),
        (
            {"of_classes": np.array([1.0, np.nan])},
            "'weights.of_classes' of a release must be fini",
        ),
        ({"of_features": None}, "must be an array of real numbers"),
    ],
)
def test_each_array_is_checked(weighted, changes, message):
    with pytest.raises(ValueError, match=message):
        replace(weighted, model=WeightedModel(weights(**changes)))


@pytest.mark.parametrize("wrong", [None, "weights", np.ones(3)])
def test_what_is_no_part_or_model_is_refused(weighted, wrong):
    with pytest.raises(ValueError, match="'weights' of a release must be Weights or None"):
        replace(weighted, model=WeightedModel(wrong))
    with pytest.raises(ValueError, match="'model' of a release must be a model"):
        replace(weighted, model=wrong)


@pytest.mark.parametrize(
    ("of_header", "of_arrays"),
    [
        ({}, {"weights/of_features": np.ones(2)}),
        ({}, {"weights/of_features": np.array(["a", "b", "c"])}),
        ({}, {"weights/of_features": None}),
        ({}, {"weights/of_pairs": np.ones(5)}),
        ({}, {"weights/norm": np.ones(2)}),
        ({"weights": {}}, {}),
        ({"model": "table"}, {}),
        ({"model": "unknown"}, {}),
        ({"model": ["weighted"]}, {}),
    ],
)
def test_a_damaged_file_is_refused(weighted, tmp_path, of_header, of_arrays):
    weighted.save(tmp_path / "release")
    header, arrays = load_arrays(tmp_path / "release", "Release")
    arrays |= of_arrays
    arrays = {key: content for key, content in arrays.items() if content is not None}
    save_arrays(tmp_path / "other", "Release", header | of_header, arrays)
    with pytest.raises(ValueError, match="no working Release"):
        Release.load(tmp_path / "other")

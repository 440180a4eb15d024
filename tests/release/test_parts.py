"""A new part of a release: one class, and one field."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import DPStatisticsSource, Release
from skdp.release._parts import Part, check_shape
from skdp.utils._storage import load_arrays, save_arrays


@dataclass(frozen=True)
class Weights(Part):
    """Of the features, and optionally of the classes."""

    file_keys: ClassVar = {"of_features": "of_features", "of_classes": "of_classes"}

    of_features: np.ndarray
    of_classes: np.ndarray | None = None

    def check(self, name, release):
        self.check_arrays(name)
        check_shape(self.of_features, (release.n_features,), f"{name}.of_features")

    def restrict(self, columns, release):
        return replace(self, of_features=self.of_features[columns])

    def contents(self, name, release):
        return "weights of the features"

    def result_lines(self, release):
        return [f"largest weight: {self.of_features.max():g}"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WeightedRelease(Release):
    weights: Weights | None = field(default=None, metadata={"part": Weights})


@pytest.fixture(scope="module")
def weighted():
    rng = np.random.RandomState(0)
    schema = {name: {"type": "numeric", "low": 0, "high": 1} for name in "abc"}
    source = DPStatisticsSource(4.0, encoder=schema, classes=[0, 1])
    table = {name: rng.rand(200) for name in "abc"}
    pandas = pytest.importorskip("pandas")
    plain = source.fit(pandas.DataFrame(table), np.arange(200) % 2).release_
    return WeightedRelease(**vars(plain), weights=Weights(np.array([1.0, 2.0, 3.0])))


def test_it_is_frozen_stored_restricted_and_described(weighted, tmp_path):
    with pytest.raises(ValueError, match="read-only"):
        weighted.weights.of_features[0] = 0
    weighted.save(tmp_path / "release")
    loaded = WeightedRelease.load(tmp_path / "release")
    assert_array_equal(loaded.weights.of_features, [1.0, 2.0, 3.0])
    assert loaded.weights.of_classes is None
    assert loaded.summary() == weighted.summary()
    assert "\n  weights of the features\n" in weighted.summary()
    assert "\n  largest weight: 3\n" in weighted.summary()
    part = weighted.restrict(["b", "a"])
    assert_array_equal(part.weights.of_features, [2.0, 1.0])
    assert "\n  largest weight: 2\n" in part.summary()


def test_it_is_checked_when_it_is_made_and_when_it_is_loaded(weighted, tmp_path):
    with pytest.raises(ValueError, match=r"'weights.of_features' of a release must have shape"):
        replace(weighted, weights=Weights(np.ones(2)))
    with pytest.raises(ValueError, match=r"'weights.of_classes' of a release must be finite"):
        replace(weighted, weights=Weights(np.ones(3), np.array([np.nan])))
    with pytest.raises(ValueError, match="'weights' of a release must be Weights or None"):
        replace(weighted, weights=np.ones(3))
    weighted.save(tmp_path / "release")
    header, arrays = load_arrays(tmp_path / "release", "Release")
    for damage in (
        ({}, {"weights/of_features": np.ones(2)}),
        ({}, {"weights/of_features": np.array(["a", "b", "c"])}),
        ({"weights": {}}, {}),
        ({"weight": None}, {}),
    ):
        save_arrays(tmp_path / "other", "Release", header | damage[0], arrays | damage[1])
        with pytest.raises(ValueError, match="no working Release"):
            WeightedRelease.load(tmp_path / "other")
    del arrays["weights/of_features"]
    save_arrays(tmp_path / "other", "Release", header, arrays)
    assert WeightedRelease.load(tmp_path / "other").weights is None


def test_only_some_arrays_of_a_part_are_no_part(weighted, tmp_path):
    both = replace(weighted, weights=Weights(np.ones(3), np.ones(2)))
    both.save(tmp_path / "release")
    header, arrays = load_arrays(tmp_path / "release", "Release")
    del arrays["weights/of_features"]
    save_arrays(tmp_path / "release", "Release", header, arrays)
    with pytest.raises(ValueError, match="no working Release"):
        WeightedRelease.load(tmp_path / "release")

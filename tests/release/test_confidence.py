"""Tempered scores of a release: what its confidence does to predictions, files and claims."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax

from skdp import DPStatisticsSource, Release
from skdp.release._principal_model import limited_scores


@pytest.fixture(params=["logistic", "mixtures"])
def release(request, rng):
    y = rng.randint(3, size=3000)
    X = np.clip(rng.rand(3000, 4) / 2 + 0.25 * rng.rand(3, 4)[y], 0, 1)
    source = DPStatisticsSource(8.0, classes=range(3), model=request.param)
    return source.fit(pd.DataFrame(X, columns=list("abcd")), y).release_


def with_confidence(release, value):
    confidence = None if value is None else np.array([value])
    return replace(release, model=replace(release.model, confidence=confidence))


def test_log_odds_beyond_the_frequencies_are_shortened(release, rng):
    X = pd.DataFrame(rng.rand(50, 4), columns=list("abcd"))
    frequencies = np.log(release.moments.frequencies)
    scores = with_confidence(release, None).scores(X)
    most = np.log(release.moments.class_counts.sum())
    limited = np.clip(scores, scores.max(axis=1, keepdims=True) - most, None)
    whole = log_softmax(limited, axis=1)
    assert_allclose(log_softmax(with_confidence(release, 1.0).scores(X), axis=1), whole)
    half = with_confidence(release, 0.5).predict_proba(X)
    expected = log_softmax(frequencies + 0.5 * (whole - frequencies), axis=1)
    assert_allclose(np.log(half), expected, atol=1e-9)
    nothing = with_confidence(release, 0.0).predict_proba(X)
    assert_allclose(nothing, np.tile(release.moments.frequencies, (50, 1)), atol=1e-9)


def test_it_stays_with_the_columns_and_in_the_file(release, tmp_path):
    release = with_confidence(release, 0.3)
    assert release.restrict(["c", "a"]).model.confidence == 0.3
    release.save(tmp_path / "release")
    loaded = Release.load(tmp_path / "release")
    assert_array_equal(loaded.model.confidence, [0.3])
    assert "the noise leaves 30% of the log-odds" in loaded.summary()


def test_no_odds_are_larger_than_the_number_of_rows():
    scores = np.array([[0.0, -3.0, -80.0], [9.0, 200.0, 195.0]])
    limited = limited_scores(scores, np.array([600.0, 300.0, 100.0]))
    assert_allclose(limited, [[0, -3, -np.log(1000)], [200 - np.log(1000), 200, 195]])


def test_nothing_left_is_said(release):
    assert with_confidence(release, 0.3).model.doubt() is None
    assert "does not separate" in with_confidence(release, 0.0).model.doubt()


@pytest.mark.parametrize("value", [-0.1, 2.0, np.nan])
def test_others_are_refused(release, value):
    with pytest.raises(ValueError, match="confidence"):
        with_confidence(release, value)

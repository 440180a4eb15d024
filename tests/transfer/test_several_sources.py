"""Several releases at once: how they are weighed, and what they guarantee together."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.datasets import hide_labels

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


def population(rng, n, classes=3):
    labels = rng.randint(0, classes, n)
    rows = 1.5 * np.eye(classes, 12)[labels] + rng.randn(n, 12)
    return np.clip(0.5 + rows / 10, 0, 1), labels


def statistics_of(rng, epsilon, n, classes=3, unit="record"):
    X, y = population(rng, n, classes)
    source = DPStatisticsSource(
        epsilon, classes=range(classes), privacy_unit=unit, random_state=rng.randint(999)
    )
    return source.fit(X, y, **({"groups": np.arange(n)} if unit == "group" else {})).release_


@pytest.fixture
def target(rng):
    X, y = population(rng, 1500)
    return X[:500], hide_labels(y[:500], 5, random_state=0), X[500:], y[500:]


def test_a_list_of_one_is_that_one(rng, target, all_parts, same):
    X, marked, *_ = target
    release = statistics_of(rng, 2.0, 3000)
    for source, data in ((release, (X, marked)), (all_parts, (same[0][:150], same[1][:150]))):
        one, listed = (
            DPTransferClassifier(each, random_state=0).fit(*data) for each in (source, [source])
        )
        assert_array_equal(one.decision_function(data[0]), listed.decision_function(data[0]))
        assert one.guarantee_ == listed.guarantee_ == source.guarantee


@pytest.mark.parametrize("labeled", [True, False])
def test_the_precise_source_decides(rng, target, labeled):
    X, marked, X_test, y_test = target
    good, poor = statistics_of(rng, 8.0, 6000), statistics_of(rng, 0.1, 100)
    y = marked if labeled else None
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Release . has so much noise")  # it stays apart
        both = DPTransferClassifier([poor, good], random_state=0).fit(X, y)
    best = DPTransferClassifier(good, random_state=0).fit(X, y).score(X_test, y_test)
    assert good.moments.precision > 50 * poor.moments.precision
    assert both.score(X_test, y_test) > best - 0.01


def test_a_person_in_both_is_told_the_sum(rng, target):
    X = target[0]
    releases = [statistics_of(rng, epsilon, 500) for epsilon in (1.0, 2.0)]
    model = DPTransferClassifier(releases, random_state=0).fit(X)
    added = releases[0].guarantee + releases[1].guarantee
    # The text says why the sum is below 1 + 2.
    assert replace(model.guarantee_, mechanism=added.mechanism) == added
    assert model.guarantee_.epsilon > 2
    others = [releases[0], statistics_of(rng, 1.0, 500, unit="group")]
    model = DPTransferClassifier(others, random_state=0).fit(X)
    assert model.guarantee_ == tuple(release.guarantee for release in others)


def test_what_cannot_be_weighed_is_refused(rng, target, release_of):
    X, marked, *_ = target
    small = statistics_of(rng, 1.0, 400)
    more = statistics_of(rng, 1.0, 400, classes=4)
    with pytest.raises(ValueError, match=r"'source' .* empty list"):
        DPTransferClassifier([]).fit(X, marked)
    with pytest.raises(ValueError, match="label one row of each class"):
        DPTransferClassifier([small, more]).fit(X)
    DPTransferClassifier([small, more], random_state=0).fit(X, marked)
    with pytest.raises(ValueError, match=r"\[3\] in y are not among the classes"):
        DPTransferClassifier([more, small]).fit(X, np.where(np.arange(500) == 0, 3, marked))
    papers = release_of("papers")
    with pytest.raises(ValueError, match="strategy='noise_aware'"):
        DPTransferClassifier([papers, papers], strategy="alignment").fit(
            np.zeros((9, 64)), np.arange(9)
        )

"""Means and shares of the columns of a release: exact limits, intervals, and what they cover."""

import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from skdp import DPSource, DPStatisticsSource, Schema
from skdp.release._column_table import _Group
from skdp.release._unclipped import maximum_entropy
from skdp.source._linear_model import LinearModel

SCHEMA = Schema.from_mapping(
    {
        "version": 1,
        "classes": ["alive", "dead"],
        "columns": {
            "age": {"type": "numeric", "low": 0, "high": 100},
            "crp": {"type": "numeric", "low": 1, "high": 1000, "log": True, "missing": True},
            "dose": {"type": "numeric", "low": 0, "high": 50, "log": True},
            "sex": {"type": "category", "categories": ["F", "M"], "missing": True},
            "ward": {"type": "category", "categories": ["A", "B", "C"], "missing": True},
            "stage": {"type": "category", "categories": ["I", "II", "III", "IV"], "ordered": True},
        },
    }
)


def patients(n, seed):
    rng = np.random.default_rng(seed)
    dead = rng.random(n) < 0.3
    missing = rng.random((n, 3)) < [0.2, 0.1, 0.05]
    frame = pd.DataFrame(
        {
            "age": np.clip(rng.normal(55 + 10 * dead, 12), 0, 100),
            "crp": np.clip(np.exp(rng.normal(2 + dead, 1)), 1, 1000),
            "dose": np.clip(rng.gamma(2, 4, n), 0, 50),
            "sex": np.where(rng.random(n) < 0.4 + 0.2 * dead, "M", "F").astype(object),
            "ward": rng.choice(np.array(["A", "B", "C"], dtype=object), n, p=[0.5, 0.3, 0.2]),
            "stage": rng.choice(np.array(["I", "II", "III", "IV"], dtype=object), n),
        }
    )
    for column, gone in zip(("crp", "sex", "ward"), missing.T, strict=True):
        frame[column] = frame[column].astype(object).mask(gone, None)
    return frame, np.where(dead, "dead", "alive")


def by_hand(frame, labels):
    """Return what pandas says, by column, statistic and class."""
    found = {}
    for label in ("alive", "dead", None):
        part = frame[(labels == label) | (label is None)]
        crp = np.log(part["crp"].dropna().astype(float))
        dose = np.log(part["dose"] + 0.5)
        stage = part["stage"].map({"I": 1, "II": 2, "III": 3, "IV": 4})
        found |= {
            (None, "rows", label): len(part),
            ("age", "mean", label): part["age"].mean(),
            ("age", "deviation", label): part["age"].std(ddof=0),
            ("crp", "geometric mean", label): np.exp(crp.mean()),
            ("crp", "geometric deviation", label): np.exp(crp.std(ddof=0)),
            ("crp", "missing", label): part["crp"].isna().mean(),
            ("dose", "shifted geometric mean", label): np.exp(dose.mean()) - 0.5,
            ("dose", "shifted geometric deviation", label): np.exp(dose.std(ddof=0)),
            ("sex", "missing", label): part["sex"].isna().mean(),
            ("ward", "missing", label): part["ward"].isna().mean(),
            ("stage", "mean rank", label): stage.mean(),
            ("stage", "deviation of ranks", label): stage.std(ddof=0),
        }
        for column in ("sex", "ward"):
            shares = part[column].value_counts(normalize=True)
            found |= {(column, f"share of {k}", label): v for k, v in shares.items()}
    return found


def keyed(table):
    columns = (table[name].where(table[name].notna(), None) for name in table.columns[:3])
    return dict(zip(zip(*columns, strict=True), table.itertuples(index=False), strict=True))


def source(epsilon, **settings):
    return DPStatisticsSource(epsilon, encoder=SCHEMA, **{"model": "linear"} | settings)


@pytest.fixture(scope="module")
def rows():
    return patients(4000, 0)


@pytest.fixture(scope="module")
def unclipped(rows):
    with warnings.catch_warnings(action="ignore"), patch.object(LinearModel, "_RADIUS", 20.0):
        return source(np.inf).fit(*rows).release_


@pytest.fixture(scope="module")
def digits():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=3000)
    return np.clip(rng.normal(0.4 + 0.2 * y[:, None], 0.1, (3000, 3)), 0, 1), y


@pytest.mark.filterwarnings("ignore:.*no noise|.*epsilon=inf")
class TestWithoutNoise:
    def test_means_and_shares_are_those_of_the_rows(self, rows, unclipped):
        said, expected = keyed(unclipped.describe_columns()), by_hand(*rows)
        assert said.keys() == expected.keys()
        for key, value in expected.items():
            if "deviation" in key[1]:
                # By class they are those of a distribution of maximum entropy.
                assert said[key].value == pytest.approx(value, rel=0.03), key
            else:
                assert said[key].value == pytest.approx(value, rel=2e-3, abs=2e-3), key

    def test_people_count_once(self, rows, monkeypatch):
        monkeypatch.setattr(LinearModel, "_RADIUS", 20.0)
        frame, labels = rows
        people = np.repeat(np.arange(500), np.arange(500) % 3 + 1)
        frame, labels = frame[: len(people)], labels[: len(people)]
        release = source(np.inf, privacy_unit="group").fit(frame, labels, groups=people).release_
        weights = 1 / np.bincount(people)[people]
        said = keyed(release.describe_columns())
        expected = np.average(frame["age"], weights=weights)
        assert said["age", "mean", None].value == pytest.approx(expected, rel=1e-3)
        assert said[None, "rows", None].value == pytest.approx(500)


class TestIntervals:
    @pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
    def test_errors_are_as_large_as_the_intervals_say(self, quick_noise, no_doubts, no_rehearsals):
        """Ratios of errors to what they are said to be have a deviation of 1, and not of 1.1."""
        frame, labels = patients(100_000, 1)
        expected = by_hand(frame, labels)
        ratios = {"mean": [], "share": []}
        rng = np.random.default_rng(2)
        for seed in range(60):
            chosen = rng.integers(len(frame), size=1500)
            release = (
                source(3.0, random_state=seed).fit(frame.iloc[chosen], labels[chosen]).release_
            )
            for key, line in keyed(release.describe_columns()).items():
                kind = next((kind for kind in ratios if kind in key[1]), None)
                if kind is not None and (kind == "mean" or expected[key] > 0.2):
                    error, value = line.value - expected[key], line.value
                    end = line.high if error < 0 else line.low
                    ratios[kind].append(error / abs(end - value) * norm.isf(0.025))
        every = np.concatenate([np.array(each) for each in ratios.values()])
        assert len(every) > 500
        assert 0.93 < np.mean(np.abs(every) < norm.isf(0.025)) < 0.97
        assert 0.93 < every.std() < 1.07
        for kind, each in ratios.items():
            assert 0.85 < np.std(each) < 1.15, kind
            assert abs(np.mean(each)) < 0.25, kind

    def test_a_share_without_noise_has_the_interval_of_wilson(self):
        group = self._group(count=50.0, sums=[18.0], noise=[0.0], count_noise=0.0)
        value, low, high = group.interval({0: 1.0}, {-1: 1.0}, 0.9)
        z, n, p = norm.isf(0.05), 50, 18 / 50
        middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        assert (value, low, high) == pytest.approx((p, middle - half, middle + half))

    def test_ratios_of_noisy_sums_are_those_not_refuted(self):
        group = self._group(count=80.0, sums=[30.0, 12.0], noise=[9.0, 4.0], count_noise=25.0)
        top, bottom = {0: 1.0, 1: -0.5}, {-1: 1.0, 1: -1.0}
        _, low, high = group.interval(top, bottom, 0.95, variance=0.04)
        a, b = 30 - 6, 80 - 12
        ratios = np.linspace(0, 1, 200_001)
        noise = 9 + 4 * (-0.5 + ratios) ** 2 + 25 * ratios**2 + b * 0.04
        inside = ratios[(a - ratios * b) ** 2 <= norm.isf(0.025) ** 2 * noise]
        assert (low, high) == pytest.approx((inside.min(), inside.max()), abs=1e-4)

    def test_where_noise_hides_all_rows_nothing_is_known(self):
        group = self._group(count=3.0, sums=[1.0], noise=[100.0], count_noise=100.0)
        _, low, high = group.interval({0: 1.0}, {-1: 1.0}, 0.95)
        assert (low, high) == (-np.inf, np.inf)

    @staticmethod
    def _group(count, sums, noise, count_noise):
        zero = np.zeros(len(sums) + 1)
        return _Group(
            None, zero[:-1], np.append(sums, count), np.append(noise, count_noise), zero, {}
        )


def statistics(**settings):
    settings = {"bounds": (0, 1), "classes": [0, 1], "random_state": 0, **settings}
    return DPStatisticsSource(4.0, **settings)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
class TestOtherReleases:
    @pytest.mark.parametrize(
        "estimator",
        [
            statistics(),
            statistics(model="mixtures"),
            DPSource(8.0, bounds=(0, 1), parts="noise_aware", n_layers=1, random_state=0),
        ],
        ids=["linear", "mixtures", "rows"],
    )
    def test_arrays(self, digits, estimator):
        X, y = digits
        table = keyed(estimator.fit(X, y).release_.describe_columns(0.9999))
        for c in (0, 1):
            line = table["x1", "mean", c]
            assert line.low < X[y == c, 1].mean() < line.high
            assert line.high - line.low < 0.16
            line = table["x1", "deviation", c]
            assert line.low < X[y == c, 1].std() < line.high
            assert line.high < 5 * line.low

    def test_refusals(self, digits):
        release = statistics().fit(*digits).release_
        with pytest.raises(ValueError, match="'confidence' parameter of"):
            release.describe_columns(confidence=95)
        papers = DPSource(4.0, bounds=(0, 1), parts="papers", n_layers=1, random_state=0)
        bare = papers.fit(*digits).release_
        with pytest.raises(ValueError, match="no moments, from which columns"):
            bare.describe_columns()


def test_maximum_entropy_of_a_normal_distribution():
    places = np.linspace(-6, 6, 601)
    p = maximum_entropy(np.column_stack([places, places**2]), np.array([0.5, 1.25]))
    expected = norm.pdf(places, 0.5, 1.0)
    np.testing.assert_allclose(p, expected / expected.sum(), atol=2e-5)

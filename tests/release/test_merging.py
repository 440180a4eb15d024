"""Sums of several sources: what adds up, what is told apart within sites, what is refused."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import log_loss

from skdp import DPStatisticsSource, Release
from skdp.privacy.audit import audit_release
from skdp.release import merged_guarantee
from skdp.source._linear_model import LinearModel
from skdp.utils._storage import load_arrays, save_arrays

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:This release"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]
SCHEMA = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 20, "high": 90},
        "dose": {"type": "numeric", "low": 0, "high": 1},
        "ward": {"type": "category", "categories": ["a", "b", "c"]},
    },
    "classes": ["home", "ill"],
}


def people(rng, n, ill=0.4, shift=0.0):
    """A table and labels: the classes differ in age and ward, the sites in dose and frequency."""
    y = rng.rand(n) < ill
    table = pd.DataFrame(
        {
            "age": np.clip(50 + 12 * y + 12 * rng.randn(n), 20, 90),
            "dose": np.clip(0.4 + shift + 0.15 * rng.randn(n), 0, 1),
            "ward": np.where(rng.rand(n) < 0.3 + 0.4 * y, "a", rng.choice(["b", "c"], n)),
        }
    )
    return table, np.where(y, "ill", "home")


def release_of(table, y, epsilon=4.0, schema=SCHEMA, seed=None, **settings):
    random_state = None if seed is None else np.random.RandomState(seed)
    settings = {"encoder": schema, "random_state": random_state, **settings}
    return DPStatisticsSource(epsilon, **{"model": "linear"} | settings).fit(table, y).release_


@pytest.fixture(scope="module")
def sites():
    rng = np.random.RandomState(0)
    rows = [people(rng, 400, ill, shift) for ill, shift in ((0.3, 0.0), (0.5, 0.1), (0.9, 0.3))]
    return rows, [release_of(*each, seed=k) for k, each in enumerate(rows)]


def sums_of(release):
    return release.statistics.sums


def test_merged_sums_are_the_sums(sites):
    _, releases = sites
    merged, parts = sums_of(Release.merge(releases, disjoint=True)), [*map(sums_of, releases)]
    assert_array_equal(merged.second, parts[0].second + parts[1].second + parts[2].second)
    assert_array_equal(merged.contrast, parts[0].contrast + parts[1].contrast + parts[2].contrast)
    for name in ("counts", "total", "frequencies"):
        assert_array_equal(getattr(merged, name), [getattr(part, name)[0] for part in parts])
    for name in ("second_sd", "contrast_sd"):
        assert getattr(merged, name) ** 2 == pytest.approx(
            sum(getattr(part, name) ** 2 for part in parts)
        )
    assert_allclose(merged.class_sums, sum(part.class_sums for part in parts))


def test_merging_in_steps_is_merging_at_once(sites, tmp_path):
    _, (one, two, three) = sites
    at_once = Release.merge([one, two, three], disjoint=True)
    two_first = Release.merge([one, two], disjoint=True)
    two_first.save(tmp_path / "merged.skdp")
    in_steps = Release.merge([Release.load(tmp_path / "merged.skdp"), three], disjoint=True)
    assert in_steps.statistics.n_sources == 3
    assert_array_equal(in_steps.linear.coefficients, at_once.linear.coefficients)
    assert_array_equal(in_steps.moments.means, at_once.moments.means)
    assert "of 3 sources" in in_steps.summary()


def test_without_noise_and_differences_it_is_one_release_of_all_rows(rng):
    tables = [people(rng, 3000) for _ in range(3)]
    merged = Release.merge([release_of(*each, np.inf) for each in tables], disjoint=True)
    one = release_of(
        pd.concat([table for table, _ in tables]), np.hstack([y for _, y in tables]), np.inf
    )
    assert_allclose(merged.moments.means, one.moments.means, atol=1e-4)
    assert_allclose(merged.moments.covariances, one.moments.covariances, atol=1e-4)
    X, y = people(rng, 3000)
    # Sites differ by chance, and classes are compared within them.
    apart = np.abs(merged.predict_proba(X) - one.predict_proba(X))
    assert apart.max() < 0.03
    assert log_loss(y, merged.predict_proba(X)) < log_loss(y, one.predict_proba(X)) + 0.002


def test_classes_are_told_apart_within_sites(rng):
    # Where ill people are frequent, doses are high; within a site they tell nothing of illness.
    cells = [(0.2, 0.0), (0.4, 0.1), (0.6, 0.2), (0.8, 0.3)]
    tables = [people(rng, 4000, *cell) for cell in cells]
    merged = Release.merge([release_of(*each, 50.0) for each in tables], disjoint=True)
    pooled = release_of(
        pd.concat([table for table, _ in tables]), np.hstack([y for _, y in tables]), 50.0
    )

    def slope(release):
        rows, _ = people(np.random.RandomState(1), 2)
        rows = pd.concat([rows[:1]] * 2).assign(dose=[0.3, 0.7])
        return np.diff(np.diff(release.scores(rows), axis=1)[:, 0])[0]

    assert abs(slope(merged)) < 0.25
    assert slope(pooled) > 1


def test_intercepts_spread_as_sites_do(rng):
    def spread(frequencies, n=3000):
        tables = [people(rng, n, ill) for ill in frequencies]
        release = Release.merge([release_of(*each, 20.0) for each in tables], disjoint=True)
        return release.linear.intercept_sd[0]

    # Rows differ by label shift: intercepts by the log-odds of the frequencies; the error of the
    # mean of sixteen sites comes to it.
    log_odds = rng.normal(0, 1.2, 16)
    expected = np.std(log_odds, ddof=1) * np.sqrt(1 + 1 / 16)
    assert spread(expit(log_odds)) == pytest.approx(expected, rel=0.1)
    assert spread(np.full(16, 0.4)) < 0.12
    assert release_of(*people(rng, 500)).linear.intercept_sd is None


def test_restricted_sums_are_those_of_a_fit_to_the_columns(rng, monkeypatch):
    monkeypatch.setattr(LinearModel, "_RADIUS", 20.0)  # so that no row is clipped
    table, y = people(rng, 2000)
    names = ["ward", "age"]
    fewer = {**SCHEMA, "columns": {name: SCHEMA["columns"][name] for name in names}}
    restricted = release_of(table, y, np.inf).restrict(names)
    fitted = release_of(table[names], y, np.inf, schema=fewer)
    steps = sums_of(restricted).radius / 2**16
    for name in ("counts", "total", "contrast", "frequencies", "second"):
        own, other = (getattr(sums_of(release), name) for release in (restricted, fitted))
        assert_allclose(own, other, atol=2 * len(table) * steps)
    assert_allclose(restricted.predict_proba(table), fitted.predict_proba(table), atol=5e-3)
    assert_allclose(restricted.moments.means, fitted.moments.means, atol=5e-3)


def test_what_sums_of_all_columns_tell_of_clipping_stays(sites):
    rows, (one, two, _) = sites
    restricted = one.restrict(["dose", "age"])
    least, shrinkage = sums_of(restricted).of_all_columns
    assert 0.5 < shrinkage <= 1
    assert least <= sums_of(one).row_counts.sum()
    assert_allclose(restricted.moments.means[:, 0], one.moments.means[:, 1])
    merged = Release.merge([one, two], disjoint=True).restrict(["dose", "age"])
    after = Release.merge([restricted, two.restrict(["dose", "age"])], disjoint=True)
    X = rows[0][0]
    assert_allclose(merged.predict_proba(X), after.predict_proba(X), atol=0.02)
    assert_array_equal(sums_of(one.restrict(["ward", "age", "dose"])).of_all_columns, None)


def test_the_order_of_columns_is_no_difference(sites):
    rows, (one, two, _) = sites
    turned = {**SCHEMA, "columns": dict(reversed(SCHEMA["columns"].items()))}
    other = release_of(*rows[1], schema=turned, seed=1)
    merged = Release.merge([one, other], disjoint=True)
    assert merged.encoder == one.encoder
    # The same noise in other places: of the same size.
    assert_allclose(
        sums_of(merged).second_sd, sums_of(Release.merge([one, two], disjoint=True)).second_sd
    )
    assert_allclose(
        sums_of(merged).second.trace(), sums_of(one).second.trace() + sums_of(other).second.trace()
    )


def test_files_are_small_and_estimates_the_same_wherever_they_are_made(sites, tmp_path):
    rows, releases = sites
    for release in (releases[0], Release.merge(releases, disjoint=True)):
        release.save(tmp_path / "release.skdp")
        assert (tmp_path / "release.skdp").stat().st_size < 20_000
        loaded = Release.load(tmp_path / "release.skdp")
        assert_array_equal(loaded.scores(rows[0][0]), release.scores(rows[0][0]))
        assert_array_equal(loaded.moments.covariances, release.moments.covariances)
        assert loaded.linear is loaded.linear  # made once
        assert not loaded.linear.coefficients.flags.writeable
    header, arrays = load_arrays(tmp_path / "release.skdp", "Release")
    known = {key: header[key] for key in set(header) - {"format", "version", "kind"}}
    save_arrays(tmp_path / "x", "Release", known, arrays | {"statistics/second": np.ones(1)})
    with pytest.raises(ValueError, match="second"):
        Release.load(tmp_path / "x")


def test_the_weakest_guarantee_or_the_sum(sites):
    rows, (one, two, _) = sites
    weak = release_of(*rows[2], 6.0, seed=2)
    disjoint = Release.merge([one, two, weak], disjoint=True).guarantee
    assert (disjoint.epsilon, disjoint.delta) == (weak.guarantee.epsilon, 1e-5)
    assert "nobody has rows in two of the 3 sources" in disjoint.sentence
    # What the strictest of them does not protect is said as well.
    open_classes = {"version": 1, "columns": SCHEMA["columns"]}
    strict = release_of(*rows[2], 1.0, schema=open_classes, seed=3)
    for order in ([one, strict], [strict, one]):
        merged = Release.merge(order, disjoint=True).guarantee
        assert merged.epsilon == one.guarantee.epsilon
        assert "that each class occurs, as the list was taken from y" in merged.excludes
    added = Release.merge([one, two, weak], disjoint=False).guarantee
    distances = [each.guarantee.gaussian_distance for each in (one, two, weak)]
    assert added.gaussian_distance == pytest.approx(np.linalg.norm(distances))
    assert "nobody has rows in two" not in added.sentence


def test_no_source_is_promised_more_than_it_has_at_any_delta(sites):
    """The noise of the smaller distance may be sampled less exactly, and protect less."""
    exact = sites[1][0].guarantee
    [mechanism] = exact.mechanisms
    squared = 0.99 * mechanism.squared_distance
    silent = replace(mechanism, epsilon=np.inf, squared_distance=squared, slack=0.1)
    epsilon = replace(exact, mechanisms=(silent,)).epsilon_at(mechanism.delta)
    coarse = replace(exact, mechanisms=(replace(silent, epsilon=epsilon),))
    assert coarse.gaussian_distance < exact.gaussian_distance
    deltas = (1e-9, 1e-7, 1e-5, 1e-3, 1e-2)
    assert all(coarse.epsilon_at(delta) > exact.epsilon_at(delta) for delta in deltas)
    for order in ([exact, coarse], [coarse, exact]):
        merged = merged_guarantee(order, disjoint=True)
        for delta in deltas:
            assert merged.epsilon_at(delta) >= coarse.epsilon_at(delta)
        assert coarse.epsilon <= merged.epsilon <= 1.01 * coarse.epsilon


@cache
def releases_of_others(epsilon):
    """Return two releases, the noise of which does not hide the audited owner."""
    rngs = map(np.random.RandomState, (1, 2))
    source = DPStatisticsSource(epsilon, classes=[0, 1], model="linear")
    return [source.fit(rng.rand(30, 2), np.arange(30) % 2).release_ for rng in rngs]


class Merged(DPStatisticsSource):
    """One of three owners, with two others whose rows are what they are."""

    def fit(self, X, y, groups=None):
        super().fit(X, y, groups)
        others = releases_of_others(self.epsilon)
        self.release_ = Release.merge([self.release_, *others], disjoint=True)
        self.guarantee_ = self.release_.guarantee
        return self


def test_a_record_of_one_owner_is_protected_in_the_merged_release(rng, no_doubts, no_rehearsals):
    X, y = rng.rand(40, 2), np.arange(40) % 2

    def own_sums(release):
        sums = release.statistics.sums
        return np.hstack([sums.counts[0] / sums.count_sd[0], sums.total[0] / sums.total_sd[0]])

    source = Merged(2.0, classes=[0, 1], model="linear")
    # The noise has no seed: a right source is refuted once in 2,000 runs, at most.
    settings = {"n_trials": 100, "statistics": own_sums, "confidence": 0.9995}
    audit = audit_release(source, X, y, **settings)
    assert audit.passed
    assert audit.epsilon_lower < 2.0


def test_what_does_not_add_up_is_refused(sites):
    rows, (one, two, _) = sites

    def refused(releases, message, disjoint=True):
        with pytest.raises(ValueError, match=message):
            Release.merge(releases, disjoint=disjoint)

    refused([], "'releases' parameter of Release.merge is empty")
    refused([one, "two"], "must hold releases, got str as number 1")
    refused([one, two], "'disjoint' parameter of Release.merge must be True", disjoint=None)
    refused([one, two, one], "Releases 0 and 2 cannot be merged: they have the sums of the same")
    pair = Release.merge([one, two], disjoint=True)
    refused([pair, two], "same source, with the same noise")
    X = one.encode(rows[0][0])
    mixtures = DPStatisticsSource(4.0, classes=["home", "ill"], model="mixtures").fit(
        X, rows[0][1]
    )
    refused([mixtures.release_, one], "Releases 0 and 0 cannot be merged: one has no noisy sums")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": np.zeros((1, 3))}, r"'statistics.counts' .* must have shape \(1, 2\)"),
        ({"total": np.full((1, 11), np.nan)}, "'statistics.total'"),
        ({"count_sd": np.array([-1.0])}, "'statistics.count_sd' .* must not be negative"),
        ({"frequencies": np.array([[0.5, 0.6]])}, "must be positive and add up to 1"),
        ({"frequencies": np.array([[1.0, 0.0]])}, "must be positive, >= 1e-09"),
        ({"radius": 0.0}, "'statistics.radius' .* must be positive"),
        ({"second_sd": -1.0}, "'statistics.second_sd' .* must not be negative"),
        ({"of_all_columns": np.array([9.0, 1.5])}, "must be a bound and a share"),
    ],
)
def test_sums_that_are_none_are_refused(sites, change, message):
    _, (one, *_) = sites
    sums = replace(sums_of(one), **change)
    with pytest.raises(ValueError, match=message):
        replace(one, model=replace(one.model, statistics=replace(one.statistics, sums=sums)))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("variances", -1.0, "must have scales of at least .* and variances of"),
        ("scale", 0.0, "must have scales of at least .* and variances of"),
        ("center", 1e12, "must have values and variances up to 1000"),
        ("order", 2, "must have"),
        ("variances", 1e4, "must have values and variances up to 1000"),
    ],
)
def test_basis_functions_of_no_use_are_refused(sites, name, value, message):
    _, (one, *_) = sites
    array = getattr(one.statistics.basis, name).copy()
    array[1] = value
    statistics = replace(one.statistics, basis=replace(one.statistics.basis, **{name: array}))
    with pytest.raises(ValueError, match=message):
        replace(one, model=replace(one.model, statistics=statistics))


def test_one_with_much_noise_is_warned_of(rng):
    good, poor = release_of(*people(rng, 3000), 8.0), release_of(*people(rng, 100), 0.1)
    with pytest.warns(UserWarning, match="Release 0 has so much noise") as caught:
        merged = Release.merge([poor, good], disjoint=True)
    assert caught[0].filename == __file__
    assert merged.statistics.effective_rows < good.statistics.effective_rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alike = Release.merge([good, release_of(*people(rng, 3000), 8.0)], disjoint=True)
    # Twice the rows, and twice the variance of the noise.
    assert alike.statistics.effective_rows == pytest.approx(
        2 * good.statistics.effective_rows, rel=0.05
    )


def test_merged_predictions_of_numbers_vary_more_than_the_mean_of_calibrated_ones(rng, tmp_path):
    outcome = {"outcome": {"type": "number", "low": 0, "high": 1}}
    X = rng.rand(1200, 3)
    y = np.clip(X @ [0.3, 0.2, 0.1] + 0.2 + 0.15 * rng.randn(1200), 0, 1)
    releases = [
        DPStatisticsSource(
            1.0, model="gradients", random_state=np.random.RandomState(k), **outcome
        )
        .fit(X[k::6], y[k::6])
        .release_
        for k in range(6)
    ]
    merged = Release.merge(releases, disjoint=True)
    parts = [release.model.places(X).ravel() for release in releases]
    weights = [release.statistics.effective_rows for release in releases]
    mean, found = np.average(parts, axis=0, weights=weights), merged.model.places(X).ravel()
    factor = found.std() / mean.std()
    assert 1.02 < factor < 2.5
    # Only the spread changes, about the mean of the rows.
    assert_allclose(found - found.mean(), factor * (mean - mean.mean()), atol=1e-9)
    assert abs(found.mean() - mean.mean()) < 0.02
    same = merged.regression.distribution.predictions
    assert same[0] < found.mean() < same[-1]
    assert np.mean((found - y) ** 2) < np.mean((mean - y) ** 2)
    for rows in (merged_in_steps(releases), reloaded(merged, tmp_path)):
        assert_allclose(rows.model.places(X), merged.model.places(X), atol=1e-9)
        assert_allclose(rows.regression.r2, merged.regression.r2, atol=1e-9)
        # Distributions are means on a grid.
        assert_allclose(rows.predict(X, quantile=0.9), merged.predict(X, quantile=0.9), atol=0.01)


def merged_in_steps(releases):
    first = Release.merge(releases[:2], disjoint=True)
    others = Release.merge(releases[2:], disjoint=True)
    return Release.merge([first, others], disjoint=True)


def reloaded(release, folder):
    release.save(folder / "merged.skdp")
    return Release.load(folder / "merged.skdp")


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_merged_scores_of_classes_are_means_of_coefficients_and_of_what_sums_give(
    rng, classes, tmp_path
):
    X = rng.rand(600, 3)
    y = np.clip((3 * X[:, 0] + 0.5 * rng.randn(600)).astype(int), 0, classes[-1])
    releases = [
        DPStatisticsSource(
            2.0, model="gradients", classes=classes, random_state=np.random.RandomState(k)
        )
        .fit(X[k::3], y[k::3])
        .release_
        for k in range(3)
    ]
    merged = Release.merge(releases, disjoint=True)
    weights = [release.statistics.effective_rows for release in releases]
    mean = np.average([r.model.linear.scores(X) for r in releases], axis=0, weights=weights)
    expected = 0.8 * mean + 0.2 * merged.statistics.linear.scores(X)
    found = merged.model.linear.scores(X)
    apart = (found - expected) - (found - expected).mean(axis=1, keepdims=True)
    assert_allclose(apart, 0, atol=1e-8)
    for rows in (merged_in_steps(releases), reloaded(merged, tmp_path)):
        assert_allclose(rows.model.linear.scores(X), found, atol=1e-9)
    [alone] = [Release.merge(releases[:1], disjoint=True)]
    assert_array_equal(alone.predict_proba(X), releases[0].predict_proba(X))

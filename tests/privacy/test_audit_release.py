from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.stats import binom, norm
from sklearn.base import BaseEstimator

from skdp import DPStatisticsSource
from skdp.noise import GaussianQueries, _randomness
from skdp.privacy import Mechanism, gaussian_epsilon, gaussian_sigma
from skdp.privacy.audit import (
    audit_release,
    clopper_pearson,
    epsilon_lower_bound,
    released_statistics,
)
from skdp.privacy.audit._evidence import detectable_epsilon, detectable_mu, mu_lower_bound
from skdp.privacy.audit._release import (
    BestScore,
    _find,
    _read_mixtures,
    _read_statistics,
    _with_canary,
    _Worlds,
)
from skdp.release import PrincipalModel, linear_discriminant
from skdp.source import _gradient_model
from skdp.source._linear_model import LinearModel

from .conftest import guarantee_of

DELTA = 1e-5
# Shares of 1/σ² of counts, sums and sums of products.
SHARES = (0.1, 0.6, 0.3)
RADIUS = np.sqrt(0.125)
ROWS = np.random.RandomState(0).rand(300, 2)
LABELS = np.arange(300) % 2
generator = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def same_noise(no_doubts, no_rehearsals):
    generator.seed(0)


@cache
def distance(epsilon):
    """Return μ of Gaussian noise of this ε."""
    return 1 / gaussian_sigma(epsilon, DELTA)


def made_of(**parts):
    """Return a stand-in for a release of these parts."""
    return SimpleNamespace(**parts, model=SimpleNamespace(parts=lambda: parts))


@cache
def claimed(kind, epsilon, unit, relation):
    return guarantee_of(Mechanism(kind, epsilon, DELTA), unit=unit, relation=relation)


class NoisyStatistics(BaseEstimator):
    """A source of sums with Gaussian noise, without grid or sampler: a stand-in.

    Records are rows of [0, 1]², less ½, clipped to half the length of a corner; with
    groups, averaged within each. ``added`` of the noise that is claimed is added, to counts,
    sums and sums of products.
    """

    def __init__(
        self,
        epsilon=1.0,
        *,
        added=1.0,
        losses=True,
        relation="add/remove",
        clips=True,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.added = added
        self.losses = losses
        self.relation = relation
        self.clips = clips
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        noise_of = generator
        if self.random_state is not None:
            noise_of = np.random.RandomState(self.random_state)
        Z = np.asarray(X, dtype=np.float64) - 0.5
        if self.clips:
            Z *= np.minimum(1, RADIUS / np.linalg.norm(Z, axis=1))[:, np.newaxis]
        weights = np.ones(len(Z))
        if groups is not None:
            weights = 1 / np.bincount(groups)[groups]
        of_class = (np.asarray(y) == np.array([[0], [1]])) * weights
        counts, sums, products = of_class.sum(axis=1), of_class @ Z, (Z.T * weights) @ Z
        mu = 0.0
        if np.isfinite(self.epsilon):
            mu = distance(self.epsilon)
            scale = np.array(self.added) / mu / np.sqrt(SHARES)
            counts += scale[0] * noise_of.normal(size=2)
            sums += scale[1] * RADIUS * noise_of.normal(size=(2, 2))
            # Off the diagonal a product counts twice in the norm of a matrix.
            noise = np.triu(noise_of.normal(size=(2, 2)) * np.sqrt([[1, 0.5], [0.5, 1]]))
            products += scale[2] * RADIUS**2 * (noise + np.triu(noise, 1).T)
        means = sums / counts[:, np.newaxis]
        covariance = (products - (means.T * counts) @ means) / counts.sum()
        moments = SimpleNamespace(
            class_counts=counts,
            means=means,
            covariances=covariance[np.triu_indices(2)][np.newaxis].astype(np.float32),
        )
        kind = "gaussian" if self.losses and mu else "any"
        unit = "labeled record" if groups is None else "group"
        guarantee = claimed(kind, self.epsilon, unit, self.relation)
        self.release_ = made_of(moments=moments)
        self.release_.guarantee = guarantee
        return self


def sums_of(X, y):
    Z = X - 0.5
    Z = Z * np.minimum(1, RADIUS / np.linalg.norm(Z, axis=1))[:, np.newaxis]
    sums = [Z[y == c].sum(axis=0) for c in (0, 1)]
    products = [(Z[:, i] * Z[:, j]).sum() for i, j in ((0, 0), (0, 1), (1, 1))]
    return np.concatenate([[np.sum(y == 0), np.sum(y == 1)], *sums, products])


def test_statistics_are_the_sums_that_moments_are_made_of():
    release = NoisyStatistics(np.inf).fit(ROWS, LABELS).release_
    assert_allclose(
        released_statistics(release)["moments"], sums_of(ROWS, LABELS), rtol=1e-5, atol=1e-5
    )


def test_statistics_of_covariances_of_their_own_are_those_of_each_class():
    means = np.array([ROWS[c == LABELS].mean(axis=0) for c in (0, 1)])
    covariances = [np.cov(ROWS[c == LABELS].T, ddof=0)[np.triu_indices(2)] for c in (0, 1)]
    moments = SimpleNamespace(
        class_counts=np.array([150.0, 150.0]), means=means, covariances=np.array(covariances)
    )
    statistics = released_statistics(made_of(moments=moments))["moments"]
    for c, start in ((0, 6), (1, 9)):
        rows = ROWS[c == LABELS]
        assert_allclose(statistics[start : start + 3], (rows.T @ rows)[np.triu_indices(2)])


def test_the_direction_is_the_likelihood_ratio_of_normal_noise():
    rng = np.random.RandomState(0)
    mixing = rng.normal(size=(8, 8)) * 10.0 ** np.arange(-4, 4)[:, np.newaxis]
    covariance, d = mixing @ mixing.T, mixing @ rng.normal(size=8)
    noise = rng.normal(size=(2000, 2, 8)) @ mixing.T
    fits = 5.0 + noise + np.stack([np.zeros(8), d])
    # Of fits that share their noise, what is added is known; of others, it is estimated.
    fits[:, 1] = fits[:, 0] + d
    score = BestScore({"sums": fits, "noise": rng.normal(size=(2000, 2, 3))})
    weights = score.weights[:8]
    # What it tells, in standard deviations, beside the most that any direction tells.
    found = weights @ d / np.sqrt(weights @ covariance @ weights)
    assert found > 0.99 * np.sqrt(d @ np.linalg.solve(covariance, d))
    assert found > 1.1 * np.sqrt(d @ d / (d @ covariance @ d) * (d @ d))  # of the plain projection


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_the_bound_of_mu_misses_as_often_as_it_says(mu):
    n = 400
    wins = np.arange(n + 1)
    missed = binom.pmf(wins, n, norm.cdf(mu / np.sqrt(2))) @ (mu_lower_bound(wins, n) > mu)
    assert 0.02 < missed <= 0.05
    # Of a mechanism that is 10 % worse it is wrong to claim μ.
    caught = binom.pmf(wins, n, norm.cdf(2 * mu / np.sqrt(2))) @ (mu_lower_bound(wins, n) > mu)
    assert caught > 0.09 if mu < 1 else caught > 0.95


def test_no_pair_is_told_apart_better_than_the_distance_allows():
    # Of any number that is computed of a normal one: here, whether it is above a threshold.
    for mu in (0.3, 1.0, 3.0):
        for threshold in (-1.0, 0.5, 2.0):
            wins = norm.sf(threshold - mu) * norm.cdf(threshold)
            assert mu_lower_bound(wins * 1e6, 1e6) < mu
    assert mu_lower_bound(0, 100) == 0.0


def test_what_is_detectable_is_where_the_bound_reaches_the_claim():
    for claim in (0.0, 0.3, 2.0):
        mu = detectable_mu(claim, 1000)
        wins = 1000 * norm.cdf(mu / np.sqrt(2))
        assert_allclose(mu_lower_bound(wins, 1000), claim, atol=1e-9)
        assert mu > claim
    most = float(mu_lower_bound(1000, 1000))
    assert np.isfinite(detectable_mu(0.99 * most, 1000))
    assert detectable_mu(most, 1000) == np.inf


@pytest.mark.parametrize(("epsilon", "n_trials"), [(1.0, 3000), (4.0, 600), (16, 600)])
def test_the_bound_is_below_epsilon_and_within_a_factor_of_two(epsilon, n_trials):
    audit = audit_release(NoisyStatistics(epsilon), ROWS, LABELS, n_trials=n_trials)
    assert audit.passed
    assert epsilon / 2 < audit.epsilon_lower <= epsilon
    assert_allclose(audit.epsilon_lower, gaussian_epsilon(1 / audit.mu_lower, DELTA))
    assert audit.event_epsilon_lower < audit.epsilon_lower
    assert epsilon < audit.epsilon_detectable < audit.epsilon_limit
    assert f"one canary of 1 row, {n_trials * 3 // 4} fits without" in str(audit)
    assert "not refuted by this canary in moments, which detect at least" in audit.verdict


def test_noise_that_is_always_the_same_is_found_out():
    class Seeded(NoisyStatistics):
        def fit(self, X, y):
            generator.seed(0)
            return super().fit(X, y)

    assert not audit_release(Seeded(1.0), ROWS, LABELS, n_trials=100).passed


def test_a_record_that_is_not_clipped_is_found_out():
    canary = ([7.0, -9.0], 1)
    settings = {"canary": canary, "n_trials": 200}
    assert audit_release(NoisyStatistics(1.0), ROWS, LABELS, **settings).passed
    assert not audit_release(NoisyStatistics(1.0, clips=False), ROWS, LABELS, **settings).passed


def test_a_group_is_a_canary_as_a_record_is():
    settings = {"groups": np.repeat(list("abcdef"), 50), "n_trials": 600}
    audit = audit_release(NoisyStatistics(4.0), ROWS, LABELS, **settings)
    assert audit.guarantee.unit == "group"
    assert audit.passed
    assert audit.epsilon_lower > 2.0
    assert not audit_release(NoisyStatistics(4.0, added=0.5), ROWS, LABELS, **settings).passed


def test_a_claim_without_losses_is_held_to_single_events():
    audit = audit_release(NoisyStatistics(4.0, losses=False), ROWS, LABELS, n_trials=600)
    assert audit.mu_lower is None
    assert 0 < audit.epsilon_lower == audit.event_epsilon_lower < 4.0
    assert "Gaussian" not in str(audit)
    strong = NoisyStatistics(1.0, losses=False, added=0.1)
    assert not audit_release(strong, ROWS, LABELS, n_trials=600).passed


def test_an_infinite_epsilon_claims_nothing():
    audit = audit_release(NoisyStatistics(np.inf), ROWS, LABELS, n_trials=100)
    assert audit.passed
    assert "claims nothing" in audit.verdict


def test_what_cannot_be_audited_is_named():
    with pytest.raises(ValueError, match=r"'source'.*relation='replace-one'.*audit_membership"):
        audit_release(NoisyStatistics(relation="replace-one"), ROWS, LABELS, n_trials=100)
    with pytest.raises(ValueError, match=r"'canary'.*changes nothing"):
        audit_release(NoisyStatistics(), ROWS, LABELS, statistics=lambda release: np.zeros(2))

    class Ungrouped(NoisyStatistics):
        def fit(self, X, y, groups=None):
            return super().fit(X, y)

    with pytest.raises(ValueError, match=r"'groups'.*per labeled record"):
        audit_release(Ungrouped(), ROWS, LABELS, groups=LABELS)


def test_canaries_are_made_of_the_ends_of_columns():
    X, y = np.array([[0.0, 5.0], [1.0, 6.0], [0.2, 9.0]]), np.array(["ant", "ant", "bee"])
    rows, labels = _with_canary(X, y, None, 1)
    assert_allclose(rows, [*X.tolist(), [1.0, 9.0]])
    assert labels.tolist() == ["ant", "ant", "bee", "bee"]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(color=["red", "red", "blue"])
    rows, labels = _with_canary(frame, y, None, 1)
    assert rows.iloc[-1].tolist() == [1.0, 9.0, "blue"]
    assert rows.dtypes.equals(frame.dtypes)
    rows, _ = _with_canary(frame.set_axis([7, 7, 7]), y, None, 1)  # rows have no names
    assert rows.iloc[-1].tolist() == [1.0, 9.0, "blue"]
    rows, labels = _with_canary(frame, y, (frame.iloc[:1], "centipede"), 1)
    assert rows.iloc[-1].tolist() == frame.iloc[0].tolist()
    assert labels[-1] == "centipede"


def test_the_source_of_statistics_keeps_its_word_to_persons(seeded_noise):
    audit = audit_release(
        DPStatisticsSource(16.0, privacy_unit="group", classes=[0, 1], model="linear"),
        ROWS,
        LABELS,
        groups=np.arange(300) // 2,
        # Where the cosines of the columns, which moments do not have, are small.
        canary=([1 / 6, 1 / 6], 1),
        statistics=moments_alone,
        n_trials=100,
        confidence=1 - 1e-6,
    )
    assert audit.guarantee.unit == "group"
    assert audit.passed
    assert audit.epsilon_lower > 1.0


@pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")
def test_what_a_canary_adds_to_the_source_of_statistics_is_bounded_by_its_radius(monkeypatch):
    monkeypatch.setattr(LinearModel, "_RADIUS", 0.5 / np.sqrt(1.5))
    source = DPStatisticsSource(np.inf, classes=[0, 1])
    for canary in (([0.9, 0.5], 1), ([1e6, -1e6], 1)):
        worlds = _Worlds(source, ROWS, LABELS, None, canary, released_statistics)
        without, with_canary = worlds.released([None], {})["moments"][0]
        added = with_canary - without
        assert_allclose(added[:2], [0, 1], atol=1e-5)
        # One class alone changes, by half of 2x − 1, clipped, but for how much longer than
        # clipped ones rows are taken to be: 1.3 times here, and a little more with the canary.
        assert_allclose(added[2:4], 0, atol=3e-3)
        assert np.linalg.norm(2 * added[4:6] - added[1]) < 1.4 * 0.5


def test_the_level_is_kept_however_many_statistics_there_are():
    rng = np.random.RandomState(0)
    mu, n = 1.0, 100
    claim = NoisyStatistics(gaussian_epsilon(1 / mu, DELTA)).fit(ROWS, LABELS).release_.guarantee
    refuted = 0
    for _ in range(50):
        parts = {name: rng.normal(size=(n, 2, 4)) for name in "abcd"}
        parts["c"][:, 1, 0] += mu
        learned = {name: part[: n // 4] for name, part in parts.items()}
        tested = {name: part[n // 4 :] for name, part in parts.items()}
        score = BestScore(learned)
        evidence, *_ = _find(score(learned), score(tested), claim, 0.8)
        refuted += evidence.refuted
    # Of four parts, each at this level, 59 % would be refuted.
    assert refuted <= binom.ppf(0.999, 50, 0.2)


def test_the_level_is_that_of_the_test_where_the_direction_is_known():
    # Of one statistic nothing is lost by learning: the verdict is wrong nearly as often as it may.
    rng = np.random.RandomState(0)
    claim = NoisyStatistics(gaussian_epsilon(1, DELTA)).fit(ROWS, LABELS).release_.guarantee
    for mu, low, high in ((1.0, 0.1, 0.2), (1.1, 0.3, 1.0)):
        refuted = 0
        for _ in range(200):
            scores = rng.normal([0, mu], size=(800, 2))
            refuted += _find(scores[:200], scores[200:], claim, 0.8)[0].refuted
        assert low < refuted / 200 < high


def test_a_leak_that_is_rare_and_total_is_found_by_events():
    class Rare(NoisyStatistics):
        def fit(self, X, y, groups=None):
            super().fit(X, y)
            if generator.rand() < 0.2:
                self.release_.moments.class_counts = np.bincount(y) + 1000.0 * (len(y) > 300)
            return self

    audit = audit_release(Rare(1.0), ROWS, LABELS, n_trials=1000)
    assert audit.mu_lower < 2 * distance(1.0)  # that alone would hardly do
    assert audit.epsilon_lower == audit.event_epsilon_lower > 2
    assert not audit.passed


# Bugs that are planted in sources of statistics.


def normal_noise(monkeypatch, factor=lambda name: 1.0, same=()):
    """Let queries add normal noise, quickly drawn and seeded, times a factor by their names.

    Those in ``same`` begin with the same noise.
    """
    entropy = np.random.RandomState(0)
    monkeypatch.setattr(_randomness, "fresh_key", lambda: entropy.bytes(32))

    def add(queries, name, values, sensitivity, scales=1.0):
        seed = queries._bits.draw(2)
        if name in same:
            queries.kept = seed = getattr(queries, "kept", seed)
        noise = np.random.default_rng(seed).normal(size=values.shape) * scales
        noise *= queries.deviation(name, sensitivity) * factor(name)
        return values + np.rint(noise).astype(np.int64)

    monkeypatch.setattr(GaussianQueries, "add", add)


def audit_source(
    epsilon, n_trials, source=DPStatisticsSource, model="linear", n_rows=200, person=0, **settings
):
    rng = np.random.RandomState(0)
    X = rng.rand(n_rows, 2)
    y = (X[:, 0] + 0.3 * rng.randn(n_rows) > 0.5).astype(int)
    groups = np.arange(n_rows) // person if person else None
    unit = "group" if person else "record"
    source = source(epsilon, classes=[0, 1], model=model, privacy_unit=unit)
    return audit_release(source, X, y, groups=groups, n_trials=n_trials, **settings)


def sums_alone(release):
    """Return the noisy sums; what is learned from them takes most of the time of a fit."""
    return np.concatenate([np.ravel(each) for each in _read_statistics(release, {})])


def mixtures_alone(release):
    return np.concatenate([np.ravel(each) for each in _read_mixtures(release, {})])


def moments_alone(release):
    return released_statistics(made_of(moments=release.moments))


def scores_alone(release):
    return np.append(release.linear.coefficients, release.linear.intercepts)


def coefficients_alone(release):
    return np.append(release.descent.coefficients, release.descent.intercepts)


def exact_scores(release, exact, y):
    return PrincipalModel(release.moments, linear_discriminant(exact.moments))


def exact_squares(release, exact, y):
    sums = replace(release.statistics.sums, second=exact.statistics.sums.second)
    return replace(release.model, statistics=replace(exact.statistics, sums=sums))


def exact_sizes(release, exact, y):
    moments = replace(release.moments, effective_sizes=np.bincount(y).astype(float))
    return PrincipalModel(moments, linear_discriminant(release.moments))


class Unweighed(DPStatisticsSource):
    """Takes each row of a person for a person."""

    def fit(self, X, y, groups=None):
        return super().fit(X, y, np.arange(len(y)))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["logistic", "mixtures", "gradients"])
def test_sources_without_bugs_are_not_refuted(model, monkeypatch):
    normal_noise(monkeypatch)
    monkeypatch.setattr(_gradient_model, "MOST_STEPS", 3)
    audit = audit_source(10.0, 300, model=model)
    assert audit.passed
    assert audit.epsilon_lower > 0.1
    parts = {"gradients": ("statistics", "moments", "linear", "descent")}  # those of "linear" too
    parts |= {"logistic": ("moments", "linear", "confidence")}
    parts |= {"mixtures": ("moments", "subspace", "mixtures", "confidence")}
    assert audit.parts == parts[model]
    assert f"not refuted by this canary in {', '.join(audit.parts)}, which" in audit.verdict


@pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")
def test_exact_scores_second_moments_and_sizes_are_found_out(monkeypatch):
    exact, releases = {}, []  # the same noisy fits for each bug

    for spoil in (exact_scores, exact_squares, exact_sizes):
        fits = iter(tuple(releases))

        class Spoiled(DPStatisticsSource):
            def fit(self, X, y, groups=None, spoil=spoil, fits=fits):
                if len(y) not in exact:
                    source = DPStatisticsSource(np.inf, classes=[0, 1], model="linear")
                    exact[len(y)] = source.fit(X, y).release_
                release = next(fits, None)
                if release is None:
                    release = super().fit(X, y).release_
                    releases.append(release)
                self.release_ = replace(release, model=spoil(release, exact[len(y)], y))
                return self

        normal_noise(monkeypatch)
        assert not audit_source(1.0, 100, Spoiled).passed, spoil.__name__


UNPROTECTED = {
    "gradients": (lambda name: name != "gradients", 400, coefficients_alone),
    "logistic": (lambda name: name != "gradients", 400, scores_alone),
    "mixtures": (
        lambda name: not name.startswith(("class ", "step ", "component ")), 600, mixtures_alone,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("model", UNPROTECTED)
def test_what_is_learned_without_noise_is_found_out(model, monkeypatch):
    factor, n_rows, statistics = UNPROTECTED[model]
    normal_noise(monkeypatch, factor)
    if model == "gradients":
        monkeypatch.setattr(_gradient_model, "MOST_STEPS", 3)
    settings = {"model": model, "n_rows": n_rows, "statistics": statistics}
    assert not audit_source(10.0, 350, **settings).passed


def test_noise_of_the_total_that_is_used_again_is_found_out(monkeypatch):
    normal_noise(monkeypatch, same=("total", "contrast"))
    # The sums are more numbers than means and scores, and take more fits to learn from.
    assert not audit_source(10.0, 300, n_rows=1000, statistics=sums_alone).passed


def test_rows_of_a_person_that_are_not_weighed_are_found_out(monkeypatch):
    normal_noise(monkeypatch)
    audit = audit_source(1.0, 100, Unweighed, person=2)
    assert not audit.passed
    assert "one canary of 10 rows" in str(audit)


@pytest.mark.slow
@pytest.mark.parametrize(
    "added",
    [
        (np.sqrt(0.5),) * 3,  # shares spent twice
        (1.0, np.sqrt(0.5), 1.0),  # that of the sums alone
        (1.0, 1.0, 0.5),  # second moments' noise halved
        (0.5, 1.0, 1.0),
    ],
)
def test_too_little_noise_is_found_out_at_half_the_default_number_of_trials(added):
    scores = NoisyStatistics(10.0, added=added)
    assert not audit_release(scores, ROWS, LABELS, n_trials=1000).passed


@pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize("model", ["linear", "mixtures", "logistic"])
def test_every_released_number_is_among_the_statistics(model):
    source = DPStatisticsSource(8.0, classes=[0, 1], model=model, random_state=0)
    release = source.fit(ROWS, LABELS).release_
    before = released_statistics(release)
    names = ("statistics", "moments", "linear", "subspace", "mixtures")
    parts = {name: getattr(release, name) for name in names}
    parts = {name: part for name, part in parts.items() if part is not None}
    if model != "linear":
        confidence = release.model.confidence
        assert_allclose(before.pop("confidence"), confidence)
    assert set(before) == set(parts)
    for name in before:
        part = parts[name].sums if name == "statistics" else parts[name]
        for field in fields(part):
            array = getattr(part, field.name)
            # The basis is public; how many components a class has is seen by their weights.
            if not isinstance(array, np.ndarray) or field.name == "class_indices":
                public = array is None or is_dataclass(array) or field.name == "class_indices"
                assert public or isinstance(array, float)
                continue
            for place in np.ndindex(array.shape):
                other = array.copy()
                # Of a symmetric array one half is there.
                places = [place[::-1]] if field.name == "second" else []
                for each in (place, *places):
                    other[each] = 1.25 * array[place] + 0.5
                changed = replace(part, **{field.name: other})
                if name == "statistics":
                    changed = replace(parts[name], sums=changed)
                moved = made_of(**parts | {name: changed})
                after = released_statistics(moved)[name]
                assert not np.allclose(after, before[name], rtol=1e-6, atol=0), field.name


def test_a_person_is_as_many_rows_as_are_given():
    X, y = np.zeros((4, 2)), np.array([0, 0, 1, 1])
    rows, labels = _with_canary(X, y, ([[1.0, 2.0], [3.0, 4.0]], [1, 0]), 10)
    assert_allclose(rows[4:], [[1.0, 2.0], [3.0, 4.0]])
    assert labels[4:].tolist() == [1, 0]
    rows, labels = _with_canary(X, y, None, 10)
    assert rows.shape == (14, 2)
    with pytest.raises(ValueError, match="has 2 rows, but the guarantee is about one record"):
        audit_release(NoisyStatistics(), ROWS, LABELS, canary=([[1.0, 2.0], [3.0, 4.0]], 0))


def test_statistics_of_another_length_each_time_are_refused():
    def found(release):
        return np.zeros(1 + int(release.moments.class_counts[0] > 150))

    with pytest.raises(ValueError, match=r"equally many numbers for each release, got 1 and 2"):
        audit_release(NoisyStatistics(), ROWS, LABELS, statistics=found, n_trials=100)


@pytest.mark.slow
@pytest.mark.parametrize("faulty", [False, True])
@pytest.mark.parametrize("outcome", ["number", "event"])
def test_releases_of_other_outcomes_are_audited(outcome, faulty, quick_noise, monkeypatch):
    """Which pass, and do not where their counts, of means or of exits, have no noise."""
    add = GaussianQueries.add

    def exact_counts(queries, name, values, sensitivity, scales=1.0):
        noisy = add(queries, name, values, sensitivity, scales)
        return values if name == "counts" else noisy

    if faulty:
        monkeypatch.setattr(GaussianQueries, "add", exact_counts)
    if outcome == "number":
        y = np.append(0.2 + 0.1 * ROWS[:, 0], 1.0)
        settings = {"outcome": {"type": "number", "low": 0, "high": 1}, "model": "linear"}
    else:
        y = np.zeros(len(ROWS) + 1, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = np.arange(len(y)) % 2, np.linspace(9, 0, len(y))
        y[-1] = True, 0.0
        settings = {"outcome": {"type": "event", "horizon": 10}}
    # The sums alone where all is right: what is read of them is found out by the fault.
    statistics = released_statistics if faulty else sums_alone
    audit = audit_release(
        DPStatisticsSource(1.0, **settings), ROWS, y[:-1], canary=(np.ones((1, 2)), y[-1:]),
        n_trials=100, confidence=0.9999, statistics=statistics,
    )  # fmt: skip
    assert audit.passed != faulty


@pytest.mark.parametrize(("claim", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.05), (3.0, 0.01)])
def test_the_detectable_leak_is_detected_every_other_time(claim, delta):
    # The most telling mechanism there is: randomized response that fails with probability δ.
    n, rng = 2000, np.random.default_rng(0)
    epsilon = detectable_epsilon(claim, n, n, delta, 0.9)
    assert epsilon > claim
    found = []
    for factor in (1.0, 1.2):
        q = (1 - delta) / (1 + np.exp(factor * epsilon))
        hits, others = rng.binomial(n, 1 - q, 2000), rng.binomial(n, q, 2000)
        found.append(np.mean(epsilon_lower_bound(hits, n, others, n, delta, 0.9) > claim))
    assert 0.4 < found[0] < 0.6
    assert found[1] > found[0]


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (500, 1000)])
def test_clopper_pearson_inverts_the_binomial(hits, n):
    low, high = clopper_pearson(hits, n, 0.9)
    if hits:
        assert_allclose(stats.binom.sf(hits - 1, n, low), 0.05)
    if hits < n:
        assert_allclose(stats.binom.cdf(hits, n, high), 0.05)
    assert low <= hits / n <= high


def test_epsilon_lower_bound_is_its_formula():
    low, high = stats.beta.ppf(0.05, 80, 21), stats.beta.ppf(0.95, 21, 80)
    expected = np.log((low - 0.1) / high)
    assert_allclose(epsilon_lower_bound(80, 100, 20, 100, delta=0.1, confidence=0.9), expected)
    assert epsilon_lower_bound(10, 100, 20, 100) == 0

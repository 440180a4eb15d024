"""A release of some of its columns: what it is, what it says, and what it refuses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest, norm

from skdp import (
    DPSource,
    DPStatisticsSource,
    GaussianDPNoise,
    Release,
)
from skdp.release import Mixtures, Subspace
from skdp.source._linear_model import LinearModel

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
    pytest.mark.filterwarnings("ignore:The 'epsilon'"),
]
SCHEMA = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 0, "high": 100, "missing": True},
        "ward": {"type": "category", "categories": ["A", "B", "C"]},
        "twin": {"type": "numeric", "low": 0, "high": 100},
        "noise": {"type": "numeric", "low": 0, "high": 1},
    },
    "classes": ["died", "home"],
}


def table(n, seed):
    rng = np.random.RandomState(seed)
    age = rng.normal(50, 15, n)
    frame = pd.DataFrame(
        {
            "noise": rng.rand(n),
            "age": age,
            "ward": rng.choice(list("ABC"), n),
            "twin": age + rng.normal(0, 5, n),
        }
    )
    return frame, np.where(rng.logistic(size=n) < (50 - age) / 8, "home", "died")


def random_state():
    return np.random.RandomState(0)


@pytest.fixture(scope="module")
def statistics():
    source = DPStatisticsSource(2.0, encoder=SCHEMA, random_state=random_state())
    return source.fit(*table(4000, 0)).release_


@pytest.fixture(scope="module")
def of_rows():
    X, y = table(600, 0)
    X = X.drop(columns="ward").assign(age=X["age"] / 100, twin=X["twin"] / 100)
    noise = GaussianDPNoise(4.0, 1e-5, random_state=random_state())
    settings = {"n_components": 2, "n_inducing": 10, "n_layers": 1, "random_state": 0}
    return DPSource(noise=noise, parts="all", **settings).fit(X, y).release_, X, y


@pytest.fixture(scope="module")
def by_mixtures():
    rng = random_state()
    y = np.arange(6000) % 2
    X = pd.DataFrame(np.clip(rng.normal(0.4 + 0.2 * y[:, None], 0.15, (6000, 5)), 0, 1))
    X = X.set_axis(list("abcde"), axis=1)
    source = DPStatisticsSource(8.0, model="mixtures", classes=[0, 1], random_state=random_state())
    return source.fit(X, y).release_, X, y


def test_all_columns_in_their_order_are_the_release_itself(statistics, of_rows):
    assert statistics.restrict(list(SCHEMA["columns"])) is statistics
    release, X, _ = of_rows
    assert release.restrict(X.columns) is release


def test_probabilities_stay_calibrated(statistics):
    X, y = table(20_000, 2)
    part = statistics.restrict(["ward", "twin"])
    p = part.predict_proba(X[["ward", "twin"]])[:, 1]
    for low, high in ((0.1, 0.4), (0.4, 0.6), (0.6, 0.9)):
        chosen = (p > low) & (p < high)
        assert chosen.sum() > 500
        assert abs(np.mean(y[chosen] == "home") - p[chosen].mean()) < 0.07


@pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")
def test_without_noise_moments_are_those_of_the_smaller_table():
    X, y = table(300, 0)
    X = X.drop(columns="ward").assign(age=X["age"] / 100, twin=X["twin"] / 100)
    source = DPSource(np.inf, n_components=2, n_layers=1, random_state=0)
    release, alone = (source.fit(X[names], y).release_ for names in (X.columns, ["twin", "age"]))
    part = release.restrict(["twin", "age"])
    for name, array in vars(alone.moments).items():
        if array is not None:
            assert_allclose(getattr(part.moments, name), array, rtol=1e-6)
    assert part.classifier is None
    assert part.score(X[["twin", "age"]], y) > 0.75


@pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")
def test_without_noise_statistics_are_those_of_the_smaller_table(monkeypatch):
    monkeypatch.setattr(LinearModel, "_RADIUS", 10.0)
    X, y = table(2000, 0)
    names = ["twin", "age"]
    smaller = {**SCHEMA, "columns": {name: SCHEMA["columns"][name] for name in names}}
    release, alone = (
        DPStatisticsSource(np.inf, encoder=schema, model="linear").fit(
            X[list(schema["columns"])], y
        )
        for schema in (SCHEMA, smaller)
    )
    part, alone = release.release_.restrict(names), alone.release_
    assert_allclose(part.moments.means, alone.moments.means, atol=1e-3)
    assert_allclose(part.moments.covariances, alone.moments.covariances, atol=1e-3)
    scores = part.scores(X[names])[:, 1], alone.scores(X[names])[:, 1]
    assert np.corrcoef(scores)[0, 1] > 0.99


@pytest.mark.parametrize("kind", ["statistics", "of_rows", "by_mixtures"])
def test_it_is_a_release_like_any_other(kind, request, tmp_path):
    release = request.getfixturevalue(kind)
    release, X, y = release if isinstance(release, tuple) else (release, *table(600, 1))
    names = list(X.columns[[2, 1]])
    part = release.restrict(names)
    part.save(tmp_path / "part.skdp")
    loaded = Release.load(tmp_path / "part.skdp")
    X = X[names]
    assert_allclose(loaded.predict_proba(X), part.predict_proba(X))
    assert_allclose(part.predict_proba(X).sum(axis=1), 1)
    assert part.score(X, y) > 0.6
    assert (part.alignment, part.classifier, part.row_classifier) == (None, None, None)
    sample, labels = part.sample(50, random_state=0, as_frame=True)
    assert sample.shape == (50, part.n_features if part.encoder is None else 2)
    assert set(labels) <= set(part.classes.tolist())
    left_out = f"{release.n_features - part.n_features} other features were left out"
    assert left_out in " ".join(part.summary().split())
    assert left_out in " ".join(part._repr_html_().split())
    assert "left out" not in release.summary()


def test_the_guarantee_stays_that_of_all_columns(statistics, of_rows):
    assert statistics.restrict(["age"]).guarantee is statistics.guarantee
    release, _, _ = of_rows
    part = release.restrict(["age"])
    assert part.guarantee is release.guarantee
    assert part.guarantee.to_record() == release.guarantee.to_record()


def test_a_guarantee_about_fewer_columns_than_there_are_is_refused(statistics):
    with pytest.raises(ValueError, match="must be about 7 features or more"):
        replace(statistics, guarantee=replace(statistics.guarantee, n_features=6))


def test_synthetic_rows_have_the_marginal_distribution(of_rows, altered):
    """Of a mixture that is known, in two of three columns; another scale is found out."""
    release, _, _ = of_rows
    moments = replace(
        release.moments,
        noise=np.zeros(3),
        class_counts=np.full(2, 1e6),
        effective_sizes=np.full(2, 1e6),
    )
    subspace = Subspace.of_moments(moments, 3)
    means = np.array([[-2.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    covariances = np.array([np.diag([1.0, 0.5, 0.2]), np.diag([0.3, 1.0, 0.7]), np.eye(3)])
    weights = np.array([0.4, 0.6, 1.0])
    known = altered(
        release,
        moments=moments,
        subspace=subspace,
        mixtures=Mixtures(np.array([0, 0, 1]), weights, means, covariances),
        classifier=None,
        row_classifier=None,
    )
    part = known.restrict(["twin", "noise"])
    X, y = part.sample(100_000, random_state=0)
    direction = np.array([0.8, -0.6])
    place = [known.feature_names.tolist().index(name) for name in ("twin", "noise")]
    along = subspace.components[:, place] @ direction / subspace.scale

    def distribution(x, factor):
        where = subspace.mean[place] @ direction + means[:2] @ along
        spread = factor * np.sqrt(np.einsum("i,kij,j->k", along, covariances[:2], along))
        return norm.cdf((x[:, None] - where) / spread) @ weights[:2]

    rows = X[y == known.classes[0]] @ direction
    assert len(rows) > 30_000
    assert kstest(rows, distribution, args=(1.0,)).pvalue > 1e-3
    assert kstest(rows, distribution, args=(1.1,)).pvalue < 1e-6


def test_what_cannot_be_restricted_is_refused(statistics, of_rows, altered):
    for names, message in (
        ([], "is empty"),
        ("age", "must be a list of names"),
        (["age", "weight"], r"unknown columns, \['weight'\]"),
        (["age", "age"], r"columns \['age'\] more than once"),
        (["ward_A"], r"unknown columns, \['ward_A'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            statistics.restrict(names)
    release, _, _ = of_rows
    with pytest.raises(ValueError, match=r"Release.restrict has unknown columns, \['ward'\]"):
        release.restrict(["ward"])
    with pytest.raises(ValueError, match=r"have no names to restrict it by\. Ask its owner"):
        replace(release, feature_names=None).restrict(["age"])
    papers = altered(
        release, moments=None, subspace=None, mixtures=None, classifier=release.row_classifier
    )
    with pytest.raises(ValueError, match=r"has no moments.*Ask its owner"):
        papers.restrict(["age"])


@pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize("model", ["linear", "mixtures", "logistic", "rows", "rows without noise"])
def test_constant_columns_and_noise_above_all_leave_a_sound_release(model):
    rng = random_state()
    X, y = pd.DataFrame(rng.rand(60, 4), columns=list("abcd")), np.arange(60) % 3
    X["a"] = 0.0
    settings = {"n_components": 2, "n_inducing": 5, "n_layers": 1, "random_state": 0}
    source = {
        "rows": DPSource(0.1, **settings),
        "rows without noise": DPSource(np.inf, **settings),
    }.get(model) or DPStatisticsSource(0.1, model=model, classes=range(3))
    release = source.fit(X, y).release_
    for names in (["a"], ["c", "a"], ["b", "c", "d"]):
        part = release.restrict(names)
        assert np.isfinite(part.predict_proba(X[names])).all()
        assert np.isfinite(part.sample(5)[0]).all()

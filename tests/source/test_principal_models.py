"""Models in principal directions: what they ask for, and what they learn without noise."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from skdp import DPStatisticsSource, Release
from skdp.source import MODELS, _mixtures_model, _principal_model
from skdp.source._private_rows import PrivateRows, PublicColumns
from skdp.tabular import ClassOutcome

PRINCIPAL = {name: model for name, model in MODELS.items() if name not in ("linear", "gradients")}
# Sources of the same seed are compared on purpose; infinite ε and seeds rightly warn.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Replayed:
    """Queries that add noise; or, where given, the answers that others gave to other rows.

    Whatever a later query depends on is then the same for two neighbors, as the sensitivity of
    adaptively chosen queries wants it.
    """

    def __init__(self, sigma=0.01, answers=None):
        self.sigma, self.rng, self.given = sigma, np.random.RandomState(0), answers
        self.asked, self.answers, self.uses = [], [], {}

    distance = 1.0

    def divide(self, name, uses):
        self.uses[name] = uses

    def deviation(self, name, sensitivity):
        return self.sigma * sensitivity

    def add(self, name, exact, sensitivity, scales=1.0):
        self.asked.append((name, exact / scales, sensitivity))
        noise = self.sigma * sensitivity * scales * self.rng.standard_normal(exact.shape)
        answer = exact + np.rint(noise).astype(np.int64)
        if self.given is not None:
            answer = self.given[len(self.answers)]
        self.answers.append(answer)
        return answer


def grid_of(model, n_features):
    columns = PublicColumns.of_array(n_features, (-1, 1), None, np.dtype(float))
    return model.grid(columns)


def learn(model, X, y, groups, queries, n_classes=3):
    rows = PrivateRows.of(X, [y], ClassOutcome(np.arange(n_classes)), groups)
    return model.learn(rows, grid_of(model, X.shape[1]), queries)


@pytest.fixture
def awkward(rng):
    """Return rows of magnitudes over 12 orders, three classes and persons of 1 to 9 rows."""
    X = rng.standard_cauchy((60, 5)) * 10.0 ** rng.uniform(-9, 3, (60, 1))
    return X, rng.randint(3, size=60), rng.randint(20, size=60)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_shares_add_up_to_the_budget(model):
    assert sum(
        share.fraction
        for share in model.shares(ClassOutcome(range(3)), grid_of(model, 60)).values()
    ) == pytest.approx(1)


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("model", PRINCIPAL.values(), ids=PRINCIPAL)
def test_a_record_or_person_moves_every_answer_by_its_sensitivity_at_most(model, awkward, persons):
    X, y, groups = awkward
    unit = groups if persons else np.arange(len(X))
    whole = Replayed()
    learn(model, X, y, groups if persons else None, whole)
    shares = model.shares(ClassOutcome(range(3)), grid_of(model, X.shape[1]))
    closest = dict.fromkeys(shares, 0.0)
    for k in np.unique(unit)[:12]:
        kept = unit != k
        rest = Replayed(answers=whole.answers)
        learn(model, X[kept], y[kept], groups[kept] if persons else None, rest)
        assert len(rest.asked) == len(whole.asked)
        for (name, one, bound), (_, other, same) in zip(whole.asked, rest.asked, strict=True):
            moved = np.linalg.norm((one - other).astype(float))
            assert moved <= bound == same <= shares[name].sensitivity
            closest[name] = max(closest[name], moved / bound)
    assert {name for name in closest if closest[name] == 0} <= {"component second moments"}
    assert closest["mean"] > 0.3


@pytest.mark.parametrize("n_features", [1, 3, 60])
@pytest.mark.parametrize("sigma", [0.0, 0.01, 10.0])
@pytest.mark.parametrize("model", PRINCIPAL.values(), ids=PRINCIPAL)
def test_no_more_is_asked_than_declared(model, sigma, n_features, rng):
    queries = Replayed(sigma)
    X, y = rng.uniform(-1, 1, (200, n_features)), rng.randint(3, size=200)
    learn(model, X, y, None, queries)
    asked = [name for name, _, _ in queries.asked]
    numbers = sum(exact.size for _, exact, _ in queries.asked)
    shares = model.shares(ClassOutcome(range(3)), grid_of(model, n_features))
    uses = {name: queries.uses.get(name, share.uses) for name, share in shares.items()}
    assert all(uses[name] <= share.uses for name, share in shares.items())
    declared = sum(share.numbers * uses[name] for name, share in shares.items())
    assert all(exact.size <= shares[name].numbers for name, exact, _ in queries.asked)
    if sigma == 0 and getattr(model, "n_directions", n_features) >= n_features:
        assert numbers > 0.3 * declared
    assert {name: asked.count(name) for name in set(asked)} == uses


@pytest.fixture
def clouds(rng):
    """Return rows of three normal distributions of their own covariances, in [-1, 1]."""
    y = rng.randint(3, size=4000)
    shapes = 0.7 * np.eye(6) + rng.randn(3, 6, 6) / 4
    X = np.einsum("ij,ijk->ik", rng.randn(4000, 6), shapes[y]) + 0.3 * rng.randn(3, 6)[y]
    return np.clip(X / 8, -1, 1), y


def exact_release(X, y, model):
    return DPStatisticsSource(np.inf, classes=range(3), bounds=(-1, 1), model=model).fit(X, y)


def test_without_noise_regression_is_that_of_scikit_learn(clouds):
    X, y = clouds
    release = exact_release(X[:3000], y[:3000], "logistic").release_
    Z = PCA(whiten=True).fit(X[:3000]).transform(X)
    best = LogisticRegression().fit(Z[:3000], y[:3000])
    assert np.mean(release.predict(X[3000:]) == best.predict(Z[3000:])) > 0.93
    assert release.score(X[3000:], y[3000:]) > best.score(Z[3000:], y[3000:]) - 0.015
    assert best.score(Z[3000:], y[3000:]) > 0.6


def test_without_noise_one_component_is_quadratic_discriminant_analysis(clouds, monkeypatch):
    monkeypatch.setattr(_mixtures_model, "_MAX_COMPONENTS", 1)
    monkeypatch.setattr(_mixtures_model, "_LEAST_RATIO", 1e-3)  # own covariances as they are
    monkeypatch.setattr(_principal_model, "_QUANTILE", 1.0)  # no row is clipped
    monkeypatch.setattr(MODELS["mixtures"], "quantile", 1.0)
    X, y = clouds
    release = exact_release(X[:3000], y[:3000], "mixtures").release_
    best = QuadraticDiscriminantAnalysis(tol=1e-9).fit(X[:3000], y[:3000])
    assert np.mean(release.predict(X[3000:]) == best.predict(X[3000:])) > 0.95
    assert release.score(X[3000:], y[3000:]) > best.score(X[3000:], y[3000:]) - 0.01
    linear = LogisticRegression().fit(X[:3000], y[:3000]).score(X[3000:], y[3000:])
    assert best.score(X[3000:], y[3000:]) > linear + 0.03


ODD = {
    "few rows": lambda rng: (rng.rand(10, 3), rng.randint(2, size=10)),
    "one column": lambda rng: (rng.rand(300, 1), rng.randint(3, size=300)),
    "an absent class": lambda rng: (rng.rand(300, 5), rng.randint(2, size=300)),
    "constant columns": lambda rng: (np.full((300, 4), 0.3), rng.randint(3, size=300)),
    "one constant": lambda rng: (rng.rand(300, 4) * [1, 1, 0, 1], rng.randint(3, size=300)),
    "no class of the list": lambda rng: (rng.rand(20, 4), np.full(20, 7)),
    "more columns than rows": lambda rng: (rng.rand(20, 40), rng.randint(3, size=20)),
}


@pytest.mark.parametrize(
    ("epsilon", "unit"), [(0.05, "record"), (np.inf, "record"), (8.0, "group")]
)
@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("model", PRINCIPAL)
def test_odd_rows_give_a_finite_release_that_can_be_kept(
    model, case, unit, epsilon, rng, tmp_path, quick_noise
):
    X, y = ODD[case](rng)
    source = DPStatisticsSource(
        epsilon, classes=range(3), model=model, privacy_unit=unit, random_state=0
    )
    groups = np.arange(len(X)) // 2 if unit == "group" else None
    release = source.fit(X, y, groups).release_
    release.save(tmp_path / "odd.skdp")
    kept = Release.load(tmp_path / "odd.skdp")
    probabilities = kept.predict_proba(rng.rand(7, X.shape[1]))
    assert probabilities.shape == (7, 3)
    assert np.isfinite(probabilities).all()
    assert np.isfinite(kept.scores(X)).all()
    assert np.isfinite(kept.moments.means).all()
    assert kept.guarantee.unit == ("group" if unit == "group" else "labeled record")

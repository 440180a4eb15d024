"""What decoders find, against closed forms; and that they find nothing where nothing is."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy
from scipy.stats import laplace
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold

from skdp import OptimalDPNoise, RandomizedResponse
from skdp.information import information_leakage
from skdp.information._leakage import neighbor_entropies


def leakage(private, released, seed=0, **how):
    return information_leakage(
        private, released, **({"n_permutations": 0} | how), random_state=seed
    )


def gaussian_pair(correlation, n, seed):
    rng = np.random.default_rng(seed)
    T = rng.normal(size=(n, 2))
    return correlation * T[:, 0] + np.sqrt(1 - correlation**2) * rng.normal(size=n), T


@pytest.mark.slow
@pytest.mark.parametrize(("correlation", "n"), [(0.3, 1000), (0.9, 700)])
def test_gaussian_pairs(correlation, n):
    """Means of two draws: near the closed form, never above it, and not where ρ is 10 % off."""
    draws = [leakage(*gaussian_pair(correlation, n, seed)) for seed in (1, 2)]
    found = np.mean([d.estimate for d in draws])
    error = np.sqrt(np.mean([d.standard_error**2 for d in draws]) / len(draws))
    truth = -0.5 * np.log(1 - correlation**2)
    assert max(truth - 0.03, 4 * error) < found < truth + 2.5 * error
    if correlation == 0.9:
        for other in (0.81, 0.99):
            assert abs(found + 0.5 * np.log(1 - other**2)) > 4 * error


def test_standard_errors_are_those_of_repeated_draws():
    draws = [leakage(*gaussian_pair(0.7, 300, seed), decoder=Ridge()) for seed in range(60)]
    ratio = np.std([d.estimate for d in draws]) / np.mean([d.standard_error for d in draws])
    assert 0.75 < ratio < 1.3  # a standard deviation of 60 draws is 9 % off
    truth = -0.5 * np.log(1 - 0.7**2)
    assert np.mean([d.low > truth for d in draws]) <= 0.05


@pytest.mark.parametrize("as_text", [False, True])
def test_tables_of_categories(as_text):
    joint = np.array([[0.3, 0.1, 0.02], [0.05, 0.13, 0.4]])
    truth = np.sum(joint * np.log(joint / (joint.sum(1, keepdims=True) * joint.sum(0))))
    cells = np.random.default_rng(0).choice(6, 6000, p=joint.ravel())
    s, released = cells // 3, (cells % 3)[:, None]
    found = leakage(s, released.astype(str) if as_text else released)
    assert abs(found.estimate - truth) < 2 * found.standard_error < 0.1 * truth
    assert found.nats < np.log(2)


def test_randomized_labels_and_noisy_values():
    """What is found is near what quadrature gives, and not above."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=2000)
    state = np.random.RandomState(0)  # one in some fifty draws of the noise is beyond the bounds
    response = RandomizedResponse(3.0, classes=range(4), random_state=state).fit(y)
    found = leakage(y, response.transform(y).astype(str)[:, None])
    keep = response.keep_probability_
    channel = np.full((4, 4), (1 - keep) / 3) + (keep - (1 - keep) / 3) * np.eye(4)
    truth = np.log(4) + xlogy(channel[0], channel[0]).sum()
    assert abs(found.estimate - truth) < 2.5 * found.standard_error
    x = rng.random((1000, 1))
    noise = OptimalDPNoise(4.0, 0.0, bounds=(0, 1), random_state=state).fit(x)
    found = leakage(x[:, 0], noise.transform(x))
    # h(X + V) − h(V), of a uniform value and Laplace noise of scale 1/4.
    grid, step = np.linspace(-12, 13, 200_001, retstep=True)
    p = laplace.cdf(4 * grid) - laplace.cdf(4 * (grid - 1))
    truth = -xlogy(p, p).sum() * step - (1 + np.log(2 / 4))
    assert 0.8 * truth < found.estimate < truth + 2.5 * found.standard_error


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_nothing_is_found_where_there_is_nothing(kind):
    above = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        s = rng.normal(size=240)
        found = leakage(s if kind == "numbers" else (s > 0.3), rng.normal(size=(240, 5)), seed)
        above.append(found.estimate > 2 * found.standard_error)
        assert found.nats < 0.03
    assert sum(above) <= 1


def test_permutations_are_the_null():
    s, T = gaussian_pair(0.6, 400, 0)
    found = leakage(s, T, n_permutations=4, decoder=Ridge())
    assert len(found.null) == 4
    assert max(found.null) < found.low
    assert found.p_value == 0.2
    assert "above 4 permutations" in str(found)
    nothing = leakage(
        np.random.default_rng(2).normal(size=400), T, n_permutations=4, decoder=Ridge()
    )
    assert nothing.p_value > 0.2
    assert "permutations give as much" in str(nothing)


def test_several_columns():
    """Two numbers behind two independent channels, one of them mixed into the other."""
    rng = np.random.default_rng(0)
    T = rng.normal(size=(700, 2))
    Z = 0.7 * T + np.sqrt(1 - 0.49) * rng.normal(size=T.shape)
    S = np.column_stack([Z[:, 0], Z[:, 0] + Z[:, 1]])
    found = leakage(S, T)
    assert abs(found.estimate + np.log(1 - 0.49)) < 2.5 * found.standard_error


def test_a_category_and_a_number():
    """I(C, N; T₁, T₂) = I(C; T₁) + I(N; T₂ | C), of a bit that is flipped and a normal value."""
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=1300)
    height = rng.normal(size=1300) + 2 * sex
    flipped = np.where(rng.random(1300) < 0.1, 1 - sex, sex)
    noisy = height - 2 * sex + rng.normal(size=1300)
    frame = pd.DataFrame({"sex": np.where(sex, "f", "m"), "height": height})
    found = leakage(frame, np.column_stack([flipped, noisy]))
    truth = np.log(2) + 0.1 * np.log(0.1) + 0.9 * np.log(0.9) + 0.5 * np.log(2)
    assert abs(found.estimate - truth) < 2.5 * found.standard_error
    assert found.about == "sex and height"


def test_groups_of_rows_stay_together():
    """Rows of a person are alike: told apart only where folds cut through persons."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(60), 10)
    s = rng.normal(size=60)[person]
    T = np.repeat(rng.normal(size=(60, 3)), 10, axis=0)
    split = leakage(s, T)
    folds = list(GroupKFold(5).split(T, groups=person))
    together = leakage(s, T, cv=folds)
    assert split.nats > 1
    assert together.nats < 0.1


def test_missing_text_and_constant_columns():
    rng = np.random.default_rng(0)
    s = rng.integers(2, size=600)
    released = pd.DataFrame(
        {
            "told": np.where(s, "yes", "no"),
            "gaps": np.where(rng.random(600) < 0.5, np.nan, rng.normal(size=600)),
            "same": 1.0,
        }
    )
    assert leakage(s, released).nats == pytest.approx(np.log(2), abs=0.02)
    assert leakage(np.ones(600), released[["gaps", "same"]]).estimate == 0
    missing = pd.Series(np.where(s, "ill", None), name="diagnosis")
    found = leakage(missing, released)
    assert found.nats == pytest.approx(np.log(2), abs=0.02)
    assert found.about == "diagnosis"


@pytest.mark.parametrize(("d", "correlation"), product([2, 3], [0.0, 0.8]))
def test_entropy_by_neighbors(d, correlation):
    covariance = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    Z = np.random.default_rng(0).multivariate_normal(np.zeros(d), covariance, 4000)
    truth = 0.5 * (d * np.log(2 * np.pi * np.e) + np.linalg.slogdet(covariance)[1])
    terms = neighbor_entropies(Z)
    error = terms.std() / np.sqrt(len(terms))
    assert abs(terms.mean() - truth) < 3 * error
    assert abs(terms.mean() - 1.1 * truth) > 3 * error


@pytest.mark.parametrize(
    ("private", "how", "words"),
    [
        (np.zeros(60), {"kind": "text"}, "'kind' .* 'auto'"),
        (np.zeros(59), {}, "same rows, 50 or more, got 59 and 60"),
        (np.zeros((60, 1, 1)), {}, "'private' .* two dimensions"),
        (["a", "b"] * 30, {"kind": "numbers"}, "'kind' .* 'numbers'"),
        (np.append(np.arange(59.0), np.nan), {}, "'private' .* missing"),
        (np.arange(60.0), {"decoder": LogisticRegression()}, "'decoder' .* a regressor"),
        (["a", "b"] * 30, {"decoder": Ridge()}, "'decoder' .* a classifier"),
        (
            pd.DataFrame({"a": ["x", "y"] * 30, "b": np.arange(60.0)}),
            {"decoder": Ridge()},
            "'decoder' .* None",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(private, how, words):
    with pytest.raises(ValueError, match=words):
        leakage(private, np.zeros((60, 2)), **how)

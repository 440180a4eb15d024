"""What an adversary can reach, compared with a search over all tests."""

from itertools import product
from math import inf, log

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import laplace, norm

from skdp.privacy import Mechanism, gaussian_delta

from .conftest import guarantee_of, needs_accounting

PRIORS = (0.5, 0.3, 0.1, 0.01)


def by_all_subsets(p, q, prior):
    """Return accuracy and precision of the best test between two discrete distributions.

    Every set of outcomes in which the first is said to be true is tried; where fewer or more are
    named than there are, two of the sets are mixed.
    """
    tests = np.array(list(product([0, 1], repeat=len(p))), dtype=float)
    rates = np.column_stack([tests @ q, tests @ p])  # false and true positives
    accuracy = np.max(prior * rates[:, 1] + (1 - prior) * (1 - rates[:, 0]))
    named = prior * rates[:, 1] + (1 - prior) * rates[:, 0]
    below, above = named <= prior + 1e-15, named >= prior - 1e-15
    low, high = rates[below], rates[above]
    first, second = named[below][:, None], named[above][None]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(second > first, (prior - first) / (second - first), 0.0)
    found = (1 - share) * low[:, 1][:, None] + share * high[:, 1][None]
    return accuracy, found.max()


def by_thresholds(mu, prior):
    """Return the same of N(0, 1) and N(μ, 1), by all thresholds of a fine grid."""
    t = np.linspace(-12, 12 + mu, 400_001)
    false, true = norm.sf(t), norm.sf(t - mu)
    accuracy = np.max(prior * true + (1 - prior) * (1 - false))
    return accuracy, np.max(true[prior * true + (1 - prior) * false <= prior])


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("mu", [0.1, 0.5, 1.7, 6.0])
def test_gaussian_noise(mu, prior):
    noise = Mechanism("gaussian", inf, 1e-5, squared_distance=mu**2)
    guarantee = guarantee_of(noise, relation="add/remove")
    accuracy, precision = by_thresholds(mu, prior)
    assert guarantee.best_guess(prior) == pytest.approx(accuracy, rel=1e-7)
    assert guarantee.precision_at(prior) == pytest.approx(precision, rel=2e-3)
    assert guarantee.precision_at(prior) >= precision * (1 - 1e-12)
    # Twice the distance where a record is replaced.
    replaced, (accuracy, _) = guarantee.to_replace_one(), by_thresholds(2 * mu, prior)
    assert replaced.best_guess(prior) == pytest.approx(accuracy, rel=1e-7)


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_noise_that_is_a_tenth_off_is_told(mu):
    exact = guarantee_of(Mechanism("gaussian", inf, 1e-5, squared_distance=mu**2))
    for other in (mu / 1.1, mu * 1.1):
        accuracy, precision = by_thresholds(other, 0.5)
        assert abs(exact.best_guess() - accuracy) > 0.008
        assert abs(exact.precision_at(0.5) - precision) > 0.008


def test_even_odds_in_closed_form():
    for mu in (0.14, 0.5, 1.67, 8.0):
        noise = Mechanism("gaussian", inf, 1e-5, squared_distance=mu**2)
        assert guarantee_of(noise).best_guess() == pytest.approx(norm.cdf(mu / 2), rel=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("epsilon", "k"), [(0.4, 1), (1.0, 2), (0.7, 3)])
def test_pure_mechanisms_by_all_sets_of_outcomes(epsilon, k, prior):
    """k answers by randomized response, e^ε times as likely for one neighbor."""
    one = np.array([expit(epsilon), expit(-epsilon)])
    p, q = one, one[::-1]
    for _ in range(k - 1):
        p, q = np.outer(p, one).ravel(), np.outer(q, one[::-1]).ravel()
    guarantee = guarantee_of(Mechanism("pure", epsilon, count=k))
    accuracy, precision = by_all_subsets(p, q, prior)
    assert guarantee.best_guess(prior) == pytest.approx(accuracy, rel=1e-10)
    assert guarantee.precision_at(prior) == pytest.approx(precision, rel=1e-6)
    tenth = guarantee_of(Mechanism("pure", 1.1 * epsilon, count=k))
    assert tenth.precision_at(prior) > precision * 1.01


@pytest.mark.parametrize("prior", PRIORS)
def test_by_epsilon_and_delta_alone_the_worst_mechanism_decides(prior):
    """It shows the data with probability δ, and else answers e^ε times as likely."""
    epsilon, delta = 0.8, 0.05
    p = np.array([delta, 0, (1 - delta) * expit(epsilon), (1 - delta) * expit(-epsilon)])
    guarantee = guarantee_of(Mechanism("any", epsilon, delta))
    accuracy, precision = by_all_subsets(p, p[[1, 0, 3, 2]], prior)
    assert guarantee.best_guess(prior) == pytest.approx(accuracy, rel=1e-12)
    assert guarantee.precision_at(prior) == pytest.approx(precision, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "share"),
    [(0.0, 0.0, 0.5), (0.0, 0.5, 0.75), (log(3), 0.0, 0.75), (inf, 0.0, 1.0), (1.0, 1.0, 1.0)],
)
def test_epsilon_and_delta_alone_in_closed_form(epsilon, delta, share):
    guarantee = guarantee_of(Mechanism("any", epsilon, delta))
    assert guarantee.best_guess() == pytest.approx(share)
    assert guarantee.precision_at(0.5) == pytest.approx(share)


@needs_accounting
def test_a_mixture_is_composed():
    """Of Laplace and Gaussian noise together, by integration over both."""
    mu, step = 0.8, 0.01
    x = np.arange(-9, 10, step)
    p = np.outer(laplace.pdf(x, 1.0), norm.pdf(x, mu)) * step**2
    q = np.outer(laplace.pdf(x, 0.0), norm.pdf(x, 0.0)) * step**2
    noise = Mechanism("gaussian", inf, 1e-5, squared_distance=mu**2)
    guarantee = guarantee_of(Mechanism("laplace", 1.0), noise)
    for prior in PRIORS:
        accuracy = np.maximum(prior * p, (1 - prior) * q).sum()
        assert guarantee.best_guess(prior) == pytest.approx(accuracy, rel=1e-3)


@needs_accounting
def test_what_cannot_be_composed_is_bounded_by_what_is_stated():
    parts = Mechanism("laplace", 1e-10, count=2), Mechanism("gaussian", 1.0, 1e-5)
    guarantee = guarantee_of(*parts)
    stated = guarantee_of(Mechanism("any", guarantee.epsilon, guarantee.delta))
    assert guarantee.best_guess() == stated.best_guess()


def test_no_bound_is_below_what_is_reached():
    """Whatever ε is looked at, (ε, δ(ε)) alone allows more."""
    mu = 1.0
    exact = guarantee_of(Mechanism("gaussian", inf, 1e-5, squared_distance=mu**2))
    for epsilon in np.linspace(0, 3, 7):
        known = guarantee_of(Mechanism("any", epsilon, gaussian_delta(1 / mu, epsilon)))
        for prior in PRIORS:
            assert known.best_guess(prior) >= exact.best_guess(prior) - 1e-12
            assert known.precision_at(prior) >= exact.precision_at(prior) - 1e-9


@pytest.mark.parametrize("prior", [0, 1, -0.1, 1.5, float("nan"), "half", None, True])
def test_priors_out_of_range(prior):
    guarantee = guarantee_of(Mechanism("any", 1.0))
    with pytest.raises(ValueError, match="'prior' parameter must be above 0 and below 1"):
        guarantee.best_guess(prior)
    with pytest.raises(ValueError, match=r"'prior' parameter must be above 0 and at most 0\.5"):
        guarantee.precision_at(prior)

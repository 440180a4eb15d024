"""Cox regression by the partial likelihood: derivatives, evidence and modes by slow means."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

from skdp.transfer._partial_likelihood import HazardPosterior, PartialLikelihood


def rows(n, d, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    times = rng.exponential(np.exp(-X @ np.linspace(1, -0.5, d)))
    left = rng.exponential(2, size=n)
    events, times = times < left, np.minimum(times, left)
    return X, events, np.ceil(times * 5) if ties else times


def slow_likelihood(coefficients, X, events, times):
    """Breslow's partial likelihood as it is defined, event by event."""
    predicted = X @ coefficients
    return sum(
        predicted[i] - np.log(np.exp(predicted[times >= times[i]]).sum())
        for i in np.flatnonzero(events)
    )


def test_value_and_derivatives_with_ties():
    X, events, times = rows(80, 3)
    assert len(np.unique(times)) < 30
    at, step = np.array([0.3, -0.2, 0.8]), 1e-5
    value, gradient, information = PartialLikelihood.of(X, events, times).derivatives(at)
    assert value == pytest.approx(slow_likelihood(at, X, events, times))

    def slope(coefficients):
        return PartialLikelihood.of(X, events, times).derivatives(coefficients)[1]

    for k, move in enumerate(step * np.eye(3)):
        ends = [slow_likelihood(at + side * move, X, events, times) for side in (1, -1)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)
        change = (slope(at + move) - slope(at - move)) / (2 * step)
        np.testing.assert_allclose(-information[k], change, atol=1e-5)


def test_order_of_rows_and_large_log_hazards_do_not_matter():
    X, events, times = rows(50, 2)
    order = np.random.default_rng(1).permutation(50)
    at = np.array([1.0, 400.0])
    values = [
        PartialLikelihood.of(X[of], events[of], times[of]).derivatives(at)[0]
        for of in (np.arange(50), order)
    ]
    assert np.isfinite(values[0])
    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize("deviation", [0.3, 2.0])
def test_evidence_is_the_mean_likelihood_over_the_prior(deviation):
    X, events, times = rows(60, 1)
    likelihood, mean = PartialLikelihood.of(X, events, times), np.array([0.5])
    posterior = HazardPosterior.of(likelihood, mean, np.array([deviation]))
    [mode] = posterior.coefficients
    top = likelihood.derivatives(posterior.coefficients)[0]

    def integrand(c):
        value = likelihood.derivatives(np.array([c]))[0]
        return np.exp(value - top) * norm.pdf(c, mean[0], deviation)

    exact = top + np.log(quad(integrand, mode - 3, mode + 3, points=[mode])[0])
    assert posterior.log_evidence == pytest.approx(exact, abs=0.02)


def test_mode_is_that_of_a_slow_search():
    X, events, times = rows(70, 3)
    mean, deviations = np.array([1.0, 0.0, 0.0]), np.array([0.3, 1.0, 0.0])
    posterior = HazardPosterior.of(PartialLikelihood.of(X, events, times), mean, deviations)
    assert posterior.coefficients[2] == 0

    def loss(z):
        c = mean + deviations * np.append(z, 0)
        return z @ z / 2 - slow_likelihood(c, X, events, times)

    found = mean[:2] + deviations[:2] * minimize(loss, np.zeros(2)).x
    np.testing.assert_allclose(posterior.coefficients[:2], found, atol=1e-4)


def test_without_events_the_posterior_is_the_prior():
    X, _, times = rows(10, 2)
    nothing = PartialLikelihood.of(X, np.zeros(10, dtype=bool), times)
    posterior = HazardPosterior.of(nothing, np.ones(2), np.ones(2))
    np.testing.assert_array_equal(posterior.coefficients, np.ones(2))
    assert posterior.log_evidence == 0


def test_score_test_tells_the_direction():
    X, events, times = rows(300, 1)
    assert PartialLikelihood.of(X, events, times).score_test() > 3
    assert PartialLikelihood.of(-X, events, times).score_test() < -3
    assert PartialLikelihood.of(0 * X, events, times).score_test() == 0

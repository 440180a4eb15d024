"""Posteriors and evidence of the three likelihoods: conditioning, quadrature, slow searches."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax
from scipy.stats import multivariate_t, norm
from sklearn.linear_model import LinearRegression, LogisticRegression

from skdp.transfer._likelihoods import CoxLikelihood, GaussianLikelihood, SoftmaxLikelihood

MEAN = np.array([0.1, 1.0, 0.0, 0.3])
DEVIATIONS = np.array([0.5, 0.0, 2.0, 0.7])
VARIANCE, FREEDOM = 0.2, 5.0


class TestNumbers:
    @pytest.fixture
    def rows(self, rng):
        X = np.column_stack([np.ones(9), rng.normal(size=(9, 3))])
        return X, X @ [0.2, 1.5, 0.0, -0.7] + rng.normal(size=9) / 3

    def test_posterior_is_that_of_conditioning_one_large_distribution(self, rows, rng):
        X, t = rows
        asked, n = rng.normal(size=(5, 4)), len(X)
        posterior = GaussianLikelihood(X, t, VARIANCE, FREEDOM).posterior(MEAN, DEVIATIONS)
        both = np.vstack([X, asked])
        shape = both @ np.diag(DEVIATIONS**2) @ both.T + np.eye(len(both))
        solved = np.linalg.solve(shape[:n, :n], np.column_stack([t - X @ MEAN, shape[:n, n:]]))
        left = np.diag(shape[n:, n:] - shape[n:, :n] @ solved[:, 1:])
        square = (FREEDOM - 2) * VARIANCE + (t - X @ MEAN) @ solved[:, 0]
        expected = asked @ MEAN + shape[n:, :n] @ solved[:, 0]
        np.testing.assert_allclose(asked @ posterior.coefficients, expected, rtol=1e-10)
        given = posterior.variance * (1 + posterior.leverage(asked))
        np.testing.assert_allclose(given, left * square / (FREEDOM + n - 2), rtol=1e-10)

    def test_evidence_is_a_density_of_the_outcomes(self, rows):
        X, t = rows
        posterior = GaussianLikelihood(X, t, VARIANCE, FREEDOM).posterior(MEAN, DEVIATIONS)
        shape = X @ np.diag(DEVIATIONS**2) @ X.T + np.eye(len(X))
        scale = (FREEDOM - 2) * VARIANCE / FREEDOM
        density = multivariate_t(X @ MEAN, scale * shape, FREEDOM)
        assert posterior.log_evidence == pytest.approx(density.logpdf(t), rel=1e-10)

    def test_without_rows_the_posterior_is_the_prior(self):
        likelihood = GaussianLikelihood(np.empty((0, 4)), np.empty(0), VARIANCE, FREEDOM)
        posterior = likelihood.posterior(MEAN, DEVIATIONS)
        np.testing.assert_array_equal(posterior.coefficients, MEAN)
        np.testing.assert_allclose(posterior.factor, np.diag(DEVIATIONS))
        assert posterior.variance == pytest.approx(VARIANCE)
        assert posterior.log_evidence == pytest.approx(0.0, abs=1e-12)

    def test_with_many_rows_it_is_least_squares(self, rng):
        X = np.column_stack([np.ones(200_000), rng.normal(size=(200_000, 3))])
        t = X @ [0.2, 1.5, 0.0, -0.7] + rng.normal(size=len(X))
        likelihood = GaussianLikelihood(X, t, 5.0, FREEDOM)
        posterior = likelihood.posterior(np.zeros(4), np.full(4, 3.0))
        least = LinearRegression(fit_intercept=False).fit(X, t)
        np.testing.assert_allclose(posterior.coefficients, least.coef_, atol=1e-5)
        residuals = t - least.predict(X)
        assert posterior.variance == pytest.approx(np.mean(residuals**2), rel=1e-3)


def classes(rng, n, K, q=2):
    """Terms with a constant, labels, and log-posteriors by which they were drawn."""
    scores = log_softmax(1.5 * rng.normal(size=(n, K)), axis=1)
    labels = (np.exp(scores).cumsum(axis=1) > rng.random_sample((n, 1))).argmax(axis=1)
    return np.column_stack([np.ones(n), rng.normal(size=(n, q))]), labels, scores


class TestClasses:
    @pytest.mark.parametrize("K", [2, 4])
    def test_derivatives(self, rng, K):
        X, labels, scores = classes(rng, 40, K)
        likelihood = SoftmaxLikelihood(X, labels, scores, rng.normal(size=K))
        at, step = rng.normal(size=1 + 3 * (K - 1)), 1e-5
        _, gradient, information = likelihood.derivatives(at)
        for k, move in enumerate(step * np.eye(len(at))):
            ends = [likelihood.derivatives(at + side * move) for side in (1, -1)]
            assert gradient[k] == pytest.approx((ends[0][0] - ends[1][0]) / (2 * step), abs=1e-5)
            change = (ends[0][1] - ends[1][1]) / (2 * step)
            np.testing.assert_allclose(-information[k], change, atol=1e-5)

    def test_of_two_classes_it_is_a_logistic_regression(self, rng):
        X, labels, scores = classes(rng, 50, 2)
        mean, deviations = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.3, 1.0, 0.5, 0.5])
        likelihood = SoftmaxLikelihood(X, labels, scores, np.array([0.2, -0.3]))
        posterior = likelihood.posterior(mean, deviations)
        D, sign = np.column_stack([scores[:, 1] - scores[:, 0], X]), 2 * labels - 1

        def loss(z):
            log_odds = D @ (mean + deviations * z) - 0.5
            excess = deviations * ((sign * expit(-sign * log_odds)) @ D)
            return z @ z / 2 - log_expit(sign * log_odds).sum(), z - excess

        found = minimize(loss, np.zeros(4), jac=True, tol=1e-12)
        p = expit(D @ (mean + deviations * found.x) - 0.5)
        hessian = (
            np.eye(4)
            + deviations * (D.T @ ((p * (1 - p))[:, np.newaxis] * D)) * deviations[:, np.newaxis]
        )
        expected = -found.fun - np.linalg.slogdet(hessian)[1] / 2
        assert posterior.log_evidence == pytest.approx(expected, rel=1e-6)
        logs = likelihood.log_probabilities(posterior, X, scores, np.array([0.2, -0.3]))
        np.testing.assert_allclose(np.exp(logs[:, 1]), p, atol=1e-5)
        # Their width is that of the terms, the slope's aside.
        covariance = deviations[:, np.newaxis] * np.linalg.inv(hessian) * deviations
        variance = ((X @ covariance[1:, 1:]) * X).sum(axis=1)
        logs = likelihood.log_probabilities(
            posterior, X, scores, np.array([0.2, -0.3]), moderated=True
        )
        log_odds = (D @ (mean + deviations * found.x) - 0.5) / np.sqrt(1 + np.pi * variance / 8)
        np.testing.assert_allclose(logs[:, 1] - logs[:, 0], log_odds, atol=1e-4)

    @pytest.mark.parametrize("deviation", [0.3, 1.5])
    def test_evidence_is_the_mean_likelihood_over_the_prior(self, rng, deviation):
        X, labels, scores = classes(rng, 60, 3, q=0)
        likelihood = SoftmaxLikelihood(X, labels, scores, np.zeros(3))
        posterior = likelihood.posterior(np.array([1.0, 0.0]), np.array([0.0, deviation]))
        top = likelihood.derivatives(posterior.coefficients)[0]
        scale = deviation / np.sqrt(2)  # of contrasts: log-odds of two classes have the deviation

        def integrand(b, c):
            value = likelihood.derivatives(np.array([1.0, b, c]))[0]
            return np.exp(value - top) * norm.pdf(b, scale=scale) * norm.pdf(c, scale=scale)

        b, c = posterior.coefficients[1:]
        exact = top + np.log(dblquad(integrand, c - 2, c + 2, b - 2, b + 2, epsabs=1e-5)[0])
        assert posterior.log_evidence == pytest.approx(exact, abs=0.03)

    def test_classes_count_alike(self, rng):
        X, labels, scores = classes(rng, 40, 4)
        order = np.array([2, 0, 3, 1])
        prior = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.3, 1.0, 0.5, 0.5])
        first = SoftmaxLikelihood(X, labels, scores, np.zeros(4))
        other = SoftmaxLikelihood(X, np.argsort(order)[labels], scores[:, order], np.zeros(4))
        posteriors = [likelihood.posterior(*prior) for likelihood in (first, other)]
        assert posteriors[0].log_evidence == pytest.approx(posteriors[1].log_evidence)
        p, q = (
            likelihood.log_probabilities(posterior, X, s, moderated=True)
            for likelihood, posterior, s in zip(
                (first, other), posteriors, (scores, scores[:, order]), strict=True
            )
        )
        np.testing.assert_allclose(p[:, order], q, atol=1e-6)

    def test_with_many_labels_it_is_an_unpenalized_regression(self, rng):
        X, _, scores = classes(rng, 4000, 3)
        logits = X @ rng.normal(size=(3, 3))
        drawn = np.exp(log_softmax(logits, axis=1)).cumsum(axis=1) > rng.random_sample((4000, 1))
        labels = drawn.argmax(axis=1)
        likelihood = SoftmaxLikelihood(X, labels, 0 * scores, np.zeros(3))
        posterior = likelihood.posterior(np.zeros(4), np.array([0.0, 50.0, 50.0, 50.0]))
        model = LogisticRegression(C=np.inf, tol=1e-8).fit(X[:, 1:], labels)
        given = np.exp(likelihood.log_probabilities(posterior, X, 0 * scores, moderated=True))
        np.testing.assert_allclose(given, model.predict_proba(X[:, 1:]), atol=4e-3)


def times(n, d, seed=0, ties=True):
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


class TestTimes:
    def test_value_and_derivatives_with_ties(self):
        X, events, exits = times(80, 3)
        assert len(np.unique(exits)) < 30
        at, step = np.array([0.3, -0.2, 0.8]), 1e-5
        likelihood = CoxLikelihood.of(X, events, exits)
        value, gradient, information = likelihood.derivatives(at)
        assert value == pytest.approx(slow_likelihood(at, X, events, exits))
        for k, move in enumerate(step * np.eye(3)):
            ends = [slow_likelihood(at + side * move, X, events, exits) for side in (1, -1)]
            assert gradient[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)
            slopes = [likelihood.derivatives(at + side * move)[1] for side in (1, -1)]
            change = (slopes[0] - slopes[1]) / (2 * step)
            np.testing.assert_allclose(-information[k], change, atol=1e-5)

    def test_order_of_rows_and_large_log_hazards_do_not_matter(self):
        X, events, exits = times(50, 2)
        order = np.random.default_rng(1).permutation(50)
        at = np.array([1.0, 400.0])
        values = [
            CoxLikelihood.of(X[of], events[of], exits[of]).derivatives(at)[0]
            for of in (np.arange(50), order)
        ]
        assert np.isfinite(values[0])
        assert values[0] == pytest.approx(values[1])

    @pytest.mark.parametrize("deviation", [0.3, 2.0])
    def test_evidence_is_the_mean_likelihood_over_the_prior(self, deviation):
        X, events, exits = times(60, 1)
        likelihood, mean = CoxLikelihood.of(X, events, exits), np.array([0.5])
        posterior = likelihood.posterior(mean, np.array([deviation]))
        [mode] = posterior.coefficients
        top = likelihood.derivatives(posterior.coefficients)[0]

        def integrand(c):
            value = likelihood.derivatives(np.array([c]))[0]
            return np.exp(value - top) * norm.pdf(c, mean[0], deviation)

        exact = top + np.log(quad(integrand, mode - 3, mode + 3, points=[mode])[0])
        assert posterior.log_evidence == pytest.approx(exact, abs=0.02)

    def test_mode_is_that_of_a_slow_search(self):
        X, events, exits = times(70, 3)
        mean, deviations = np.array([1.0, 0.0, 0.0]), np.array([0.3, 1.0, 0.0])
        posterior = CoxLikelihood.of(X, events, exits).posterior(mean, deviations)
        assert posterior.coefficients[2] == 0

        def loss(z):
            c = mean + deviations * np.append(z, 0)
            return z @ z / 2 - slow_likelihood(c, X, events, exits)

        found = mean[:2] + deviations[:2] * minimize(loss, np.zeros(2)).x
        np.testing.assert_allclose(posterior.coefficients[:2], found, atol=1e-4)

    def test_without_events_the_posterior_is_the_prior(self):
        X, _, exits = times(10, 2)
        nothing = CoxLikelihood.of(X, np.zeros(10, dtype=bool), exits)
        posterior = nothing.posterior(np.ones(2), np.ones(2))
        np.testing.assert_array_equal(posterior.coefficients, np.ones(2))
        assert posterior.log_evidence == 0

    def test_score_test_tells_the_direction(self):
        X, events, exits = times(300, 1)
        assert CoxLikelihood.of(X, events, exits).score_test() > 3
        assert CoxLikelihood.of(-X, events, exits).score_test() < -3
        assert CoxLikelihood.of(0 * X, events, exits).score_test() == 0

"""MembershipMapping against the papers' formulas solved directly."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma
from sklearn.datasets import load_diabetes

from skdp import MembershipMapping
from skdp.utils._kernel_regression import DiagonalRegression, inverse_squared_range

N_ITER = 25
# A tolerance of zero never stops early, so both sides do the same number of steps.
exactly = {"tol": 0.0, "max_iter": N_ITER}
# As the papers have it.
PaperMapping = partial(MembershipMapping, length_scale=1.0, standardize=False, input_variance=0.01)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def problem(rng):
    x = rng.rand(60, 3)
    Y = np.c_[np.sin(4 * x[:, 0]), x[:, 1] * x[:, 2]] + 0.1 * rng.randn(60, 2)
    return x, Y, rng.rand(12, 3)


def kernel(x, z, w):
    return np.exp(-0.5 * (w * (x[:, None] - z[None]) ** 2).sum(axis=2))


def slow_products(x, a, w, s):
    """The terms of (155), one matrix for each row."""
    middle = 0.5 * (a[:, None] + a[None])
    inner = (w * (middle[None] - x[:, None, None]) ** 2 / (1 + 2 * w * s)).sum(axis=3)
    outer = 0.25 * (w * (a[:, None] - a[None]) ** 2).sum(axis=2)
    return np.exp(-outer[None] - inner) / np.sqrt(np.prod(1 + 2 * w * s))


def slow_gamma(x, Y, a, nu, s):
    """Kumar and Moser, Algorithm 1, as printed: solves with K; (93), (96), (67)-(77)."""
    w, M, N, p = inverse_squared_range(x), len(a), *Y.shape
    K = kernel(a, a, w)
    psi = kernel(x, a, w / (1 + w * s)) / np.sqrt(np.prod(1 + w * s))
    Phi = slow_products(x, a, w, s).sum(axis=0)
    Ki = np.linalg.inv(K)
    tau = 0.0 if np.isinf(nu) else (N - np.trace(Ki @ Phi)) / (nu + M - 2)
    a_t = b_t = a_z = b_z = a_r = b_r = 1.0
    a_s, b_s = 1 + a_r / b_r, 1 + a_r / b_r * a_z / b_z
    for _ in range(N_ITER):
        beta = a_t / b_t * a_z / b_z
        m = K @ np.linalg.solve(Phi + tau * K + K / beta, psi.T @ Y)
        error = sum(
            Y[:, j] @ Y[:, j]
            - 2 * m[:, j] @ Ki @ psi.T @ Y[:, j]
            + m[:, j] @ Ki @ Phi @ Ki @ m[:, j]
            + tau * m[:, j] @ Ki @ m[:, j]
            for j in range(p)
        )
        a_t, b_t = 1 + 0.5 * N * p, 1 + a_z / (2 * b_z) * error
        a_z, b_z = 1 + 0.5 * N * p + a_r / b_r, a_r / b_r * a_s / b_s + a_t / (2 * b_t) * error
        a_r = 1
        b_r = 1 + a_s / b_s * a_z / b_z - digamma(a_s) + np.log(b_s) - 1
        b_r += -digamma(a_z) + np.log(b_z)
        a_s, b_s = 1 + a_r / b_r, 1 + a_r / b_r * a_z / b_z
    beta = a_t / b_t * a_z / b_z
    return np.linalg.solve(Phi + tau * K + K / beta, psi.T @ Y), beta, psi


def slow_empirical(x, Y, a, nu=2.1):
    """SERUMS D3.3 (2022), Algorithm 1, steps 9-20, at given inducing points."""
    w, M, N = inverse_squared_range(x), len(a), len(x)
    K, psi = kernel(a, a, w), kernel(x, a, w)
    tau = (N - np.trace(np.linalg.solve(K, psi.T @ psi))) / (nu + M - 2)
    spread = np.mean(np.var(Y, axis=0))
    sigma2 = 1.0 if tau >= spread else spread / tau
    K, psi, tau = sigma2 * K, sigma2 * psi, sigma2 * tau
    beta = 1.0
    for step in range(N_ITER + 1):
        alpha = np.linalg.solve(psi.T @ psi + tau * K + K / beta, psi.T @ Y)
        if step < N_ITER:
            beta = 1 / np.mean((Y - psi @ alpha) ** 2)
    return alpha, beta, psi, sigma2


@pytest.mark.parametrize("nu", [2.1, 10.0, np.inf])
@pytest.mark.parametrize("s", [0.0, 0.01, 0.3])
def test_gamma_equals_direct_solves(problem, nu, s):
    x, Y, a = problem
    mapping = PaperMapping(nu=nu, input_variance=s, inducing_points=a, **exactly).fit(x, Y)
    alpha, beta, psi = slow_gamma(x, Y, a, nu, s)
    assert_array_equal(mapping.inducing_points_, a)
    assert_allclose(mapping.precision_, beta, rtol=1e-6)
    assert_allclose(mapping.dual_coef_, alpha, rtol=1e-6)
    assert_allclose(mapping.predict(x), psi @ alpha, rtol=1e-6)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_empirical_equals_direct_solves(problem, scale):
    x, Y, a = problem
    Y = scale * Y
    mapping = PaperMapping(inference="empirical", inducing_points=a, **exactly).fit(x, Y)
    alpha, beta, psi, sigma2 = slow_empirical(x, Y, a)
    assert (sigma2 > 1) == (scale > 0.1)  # both branches of step 9 are seen
    assert_allclose(mapping.precision_, beta, rtol=1e-6)
    assert_allclose(mapping.dual_coef_, alpha, rtol=1e-6)
    assert_allclose(mapping.predict(x), psi @ alpha, rtol=1e-6)


def test_empirical_drops_inducing_points_until_the_smoothing_suffices(problem):
    x, Y, _ = problem
    mapping = PaperMapping(1.0, inference="empirical", random_state=0).fit(x, Y)
    w, a = inverse_squared_range(x), mapping.inducing_points_
    K, psi = kernel(a, a, w), kernel(x, a, w)
    tau = (len(x) - np.trace(np.linalg.solve(K, psi.T @ psi))) / (0.1 + len(a))
    assert len(a) < len(x)
    assert tau >= 0.1


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
def test_default_tolerance_stops_close_to_the_fixed_point(problem, inference):
    x, Y, a = problem
    settings = {"inference": inference, "inducing_points": a}
    quick = MembershipMapping(**settings).fit(x, Y)
    exact = MembershipMapping(tol=0.0, max_iter=20_000, **settings).fit(x, Y)
    assert quick.n_iter_ < 50
    assert_allclose(quick.precision_, exact.precision_, rtol=0.01)
    assert_allclose(quick.predict(x), exact.predict(x), atol=2e-3 * np.ptp(Y))


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
@pytest.mark.parametrize(
    ("x", "n_inducing"),
    [
        (np.zeros((6, 2)), 0.5),
        (np.repeat(np.eye(3), 4, axis=0), 1.0),
        (np.c_[np.arange(8.0), np.ones(8)], 1.0),
        (np.linspace(0, 1, 200)[:, None], 1.0),
        (np.ones((1, 3)), 0.5),
        (np.c_[np.arange(8.0), 1e-14 * np.arange(8.0)[::-1]], 5),
    ],
    ids=["all equal", "duplicates", "constant column", "M = N, p = 1", "one row", "tiny column"],
)
def test_degenerate_inputs_stay_finite(x, n_inducing, inference):
    y = np.arange(len(x), dtype=float)
    mapping = MembershipMapping(n_inducing, inference=inference, random_state=0).fit(x, y)
    assert len(mapping.inducing_points_) <= len(np.unique(x, axis=0))
    assert np.isfinite(mapping.dual_coef_).all()
    assert np.isfinite(mapping.predict(x)).all()
    assert mapping.precision_ > 0


def test_inducing_points_of_the_wrong_width_are_refused(problem):
    x, Y, a = problem
    with pytest.raises(ValueError, match=r"'inducing_points'.*3 columns.*got 2"):
        MembershipMapping(inducing_points=a[:, :2]).fit(x, Y)


@pytest.mark.parametrize("scale", [1e-5, 1e-3, 1e-2, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_smooth_kernels_do_not_drive_the_precision_away(scale, noise, rng):
    # In one dimension K has a handful of eigenvalues above rounding. Directions below it
    # once looked like a perfect fit, and predictions reached 1e27.
    x = rng.rand(1000, 1)
    y = scale * (np.sin(6 * x.ravel()) + noise * rng.randn(1000))
    mapping = PaperMapping(random_state=0).fit(x, y)
    residual = np.mean((y - mapping.predict(x)) ** 2)
    assert np.abs(mapping.predict(x)).max() < 2 * scale
    assert residual < 0.3 * y.var()
    if scale <= 1e-2:  # where the priors on the precision do not bind
        # 1/β is the mean of O (96): the residual, and what uncertain inputs add to it.
        assert 0.3 / residual < mapping.precision_ < 1.05 / residual


@pytest.mark.parametrize(("x_scale", "y_scale", "name"), [(1e20, 1, "X"), (1, 1e-30, "y")])
def test_magnitudes_beyond_floating_point_are_refused(problem, x_scale, y_scale, name):
    x, Y, _ = problem
    with pytest.raises(ValueError, match=rf"Input {name} must have .*Scale it to about unit"):
        MembershipMapping().fit(x_scale * x, y_scale * Y)


def test_empirical_needs_finite_nu(problem):
    x, Y, _ = problem
    with pytest.raises(ValueError, match=r"'nu'.*finite.*got inf.*nu=2\.1"):
        MembershipMapping(inference="empirical", nu=np.inf).fit(x, Y)


def slow_std(mapping, x, Y, queries, *, s, sigma2):
    """The posterior (156), (157) by inverses as printed, and the variance that it implies."""
    w, a, nu = inverse_squared_range(x), mapping.inducing_points_, mapping.nu
    M, beta = len(a), mapping.precision_
    K = sigma2 * kernel(a, a, w)
    Ki = np.linalg.inv(K)
    psi = sigma2 * kernel(x, a, w / (1 + w * s)) / np.sqrt(np.prod(1 + w * s))
    Phi = sigma2**2 * slow_products(x, a, w, s).sum(axis=0)
    tau = 0.0 if np.isinf(nu) else (len(x) * sigma2 - np.trace(Ki @ Phi)) / (nu + M - 2)
    cov = np.linalg.inv(Ki + beta * Ki @ Phi @ Ki + beta * tau * Ki)
    mean = beta * cov @ Ki @ psi.T @ Y
    std = np.empty((len(queries), Y.shape[1]))
    for i, products in enumerate(sigma2**2 * slow_products(queries, a, w, s)):
        for j, m in enumerate(mean.T):
            energy = m @ Ki @ m + np.trace(Ki @ cov)
            spread = 1.0 if np.isinf(nu) else (nu + energy - 2) / (nu + M - 2)
            given_u = spread * (sigma2 - np.trace(Ki @ products))
            std[i, j] = np.sqrt(given_u + np.trace(Ki @ cov @ Ki @ products) + 1 / beta)
    return std


@pytest.mark.parametrize("nu", [2.1, 10.0, np.inf])
@pytest.mark.parametrize("s", [0.0, 0.01, 0.3])
def test_standard_deviations_are_those_of_the_posterior(problem, nu, s, rng):
    x, Y, a = problem
    mapping = PaperMapping(nu=nu, input_variance=s, inducing_points=a).fit(x, Y)
    queries = 2 * rng.rand(9, 3)
    mean, std = mapping.predict(queries, return_std=True)
    assert_array_equal(mean, mapping.predict(queries))
    assert_allclose(std, slow_std(mapping, x, Y, queries, s=s, sigma2=1.0), rtol=1e-6)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_standard_deviations_of_the_empirical_inference(problem, scale, rng):
    x, Y, a = problem
    Y = scale * Y
    mapping = PaperMapping(inference="empirical", inducing_points=a, **exactly).fit(x, Y)
    queries = 2 * rng.rand(9, 3)
    sigma2 = slow_empirical(x, Y, a)[3]
    slow = slow_std(mapping, x, Y, queries, s=0.0, sigma2=sigma2)
    assert_allclose(mapping.predict(queries, return_std=True)[1], slow, rtol=1e-6)


def test_standard_deviations_grow_from_the_noise_to_the_prior(rng):
    x = rng.rand(400, 1)
    y = np.sin(2 * x.ravel()) + 0.1 * rng.randn(400)
    mapping = PaperMapping(20, nu=np.inf, input_variance=0.0, random_state=0).fit(x, y)
    _, within = mapping.predict(x, return_std=True)
    _, far = mapping.predict([[100.0]], return_std=True)
    assert_allclose(within, 0.1, rtol=0.1)
    assert_allclose(far**2, 1 + 1 / mapping.precision_)  # σ² = 1


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
@pytest.mark.parametrize("n_inducing", [0.5, 1.0])
def test_standard_deviations_cover_held_out_outcomes(inference, n_inducing):
    x, y = load_diabetes(return_X_y=True, scaled=False)
    x = (x - x.min(axis=0)) / np.ptp(x, axis=0)
    y = (y - y.mean()) / y.std()
    mapping = MembershipMapping(n_inducing, inference=inference, random_state=0)
    mean, std = mapping.fit(x[::2], y[::2]).predict(x[1::2], return_std=True)
    assert 0.72 < (np.abs(y[1::2] - mean) < 1.2816 * std).mean() < 0.88  # of 80 %


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
def test_units_do_not_matter(problem, inference):
    x, Y, _ = problem
    scale, shift = np.array([1e-3, 1.0, 1e4]), np.array([5.0, -2.0, 1e5])
    plain, other = (
        MembershipMapping(inference=inference, random_state=0).fit(rows, outputs)
        for rows, outputs in [(x, Y), (shift + scale * x, 1e4 + 1e3 * Y)]
    )
    assert plain.length_scale_ == other.length_scale_
    mean, std = plain.predict(x, return_std=True)
    other_mean, other_std = other.predict(shift + scale * x, return_std=True)
    assert_allclose(other_mean, 1e4 + 1e3 * mean, rtol=1e-7)
    assert_allclose(other_std, 1e3 * std, rtol=1e-4)


@pytest.mark.parametrize(("frequency", "length_scale"), [(0.3, 3.0), (20.0, 0.1)])
def test_the_width_of_the_kernel_follows_the_function(frequency, length_scale, rng):
    x = rng.rand(200, 1)
    y = 100 + np.sin(frequency * x.ravel()) + 0.01 * rng.randn(200)
    mapping = MembershipMapping(random_state=0).fit(x[::2], y[::2])
    assert mapping.length_scale_ == length_scale
    assert mapping.score(x[1::2], y[1::2]) > 0.95
    same = MembershipMapping(length_scale=length_scale, random_state=0).fit(x[::2], y[::2])
    assert_array_equal(mapping.predict(x), same.predict(x))


def test_left_out_error_is_that_of_fits_without_a_row(problem):
    # At given points, precision and smoothing, a fit without a row is a solve without it.
    x, Y, a = problem
    w, ridge = inverse_squared_range(x), 0.3
    K, psi = kernel(a, a, w), kernel(x, a, w)
    regression = DiagonalRegression.from_moments(psi.T @ psi, K, psi, Y)
    errors = []
    for i in range(len(x)):
        rest = np.delete(psi, i, axis=0)
        alpha = np.linalg.solve(rest.T @ rest + ridge * K, rest.T @ np.delete(Y, i, axis=0))
        errors.append((Y[i] - psi[i] @ alpha) ** 2)
    assert_allclose(regression.left_out_error(ridge, psi, Y), np.mean(errors), rtol=1e-6)

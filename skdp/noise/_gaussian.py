"""The Gaussian mechanism."""

import numpy as np

from skdp.noise._base import PRECISION, DPNoise
from skdp.noise._distributions import GaussianDistribution
from skdp.privacy import Mechanism, gaussian_sigma
from skdp.utils._sklearn import StrOptions

# Probability of the outputs, beyond 32σ, that the sampler's tables have no room for:
# 2Φ(−32) < 2^-730.
_CUT = 2.0**-730
# More noise by this factor outweighs that sums over a grid of 2^-24 are not integrals
# (argued, not measured).
_LATTICE = 1 + 2.0**-24


class GaussianDPNoise(DPNoise):
    r"""Make data (ε, δ)-private with Gaussian noise.

    To each element it adds independent normal noise. The standard deviation is either

    - ``calibration="analytic"``: the least σ that is (ε, δ)-private, exact for every ε
      (Balle & Wang, 2018); or
    - ``calibration="classical"``: :math:`σ = d\sqrt{2\log(1.25/δ)}/ε`, the formula that
      SERUMS D3.1 (2019), section 2.1.3, compares the optimal noise with, proven for ε < 1
      only and refused above.

    **What is guaranteed.** By default ε and δ are *per element*, as for
    :class:`OptimalDPNoise`. For a whole record of p entries the sensitivity grows to √p·d:
    :attr:`guarantee_` gives the ε that this σ then has at the same δ, and
    ``privacy_unit="record"`` chooses σ for the record. Labels, and how many rows there are,
    are not protected. Each further noisy copy of the same rows spends privacy again.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one element; smaller is more private. ``inf`` adds no
        noise at all, and warns.

    delta : float, default=1e-5
        Slack δ in (0, 1): an event may be e^ε times as likely, plus δ. It is not the
        probability that the privacy loss exceeds ε, which is larger.

    sensitivity : float, default=1.0
        Largest change d > 0 of one element between neighbours, in the units of the data; 1.0
        suits features scaled to [0, 1]. To be left at 1.0 where ``bounds`` are given.

    privacy_unit : {"element", "record"}, default="element"
        What ε and δ hold for: one entry of the matrix, or one row with all its entries,
        which needs far more noise.

    bounds : pair (low, high), "data" or None, default=None
        Publicly known bounds of the features, each a number or an array of shape
        (n_features,). Values are clipped to them, and their width is the sensitivity.
        ``"data"`` learns them from X, which releases the extremes and warns. None: nothing
        is clipped, and a value that moves by more than d is protected less.

    perturb : {"always", "fit"}, default="always"
        When to add noise. ``"always"``: in every :meth:`transform`, so that whatever comes
        out is private. ``"fit"``: in :meth:`fit_transform` only, which is what a training
        pipeline wants; :meth:`transform` then returns what it gets unchanged: queries, but
        training rows too, as in ``fit(X).transform(X)``.

    calibration : {"analytic", "classical"}, default="analytic"
        How σ follows from ε and δ.

    random_state : int, RandomState instance or None, default=None
        Source of the noise. ``None`` takes a fresh key from the operating system for each
        call, and is the only private choice; an integer, NumPy's global generator and a
        generator that repeats itself warn with :class:`~skdp.privacy.PrivacyLeakWarning`. A
        pickle never carries a ``RandomState``, and that of a fitted transformer no seed
        either; read elsewhere it draws fresh entropy, as a ``RandomState`` does in any child
        process.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Immutable statement of what is guaranteed.

    expected_magnitude_ : float or ndarray of shape (n_features,)
        E|v| = σ·√(2/π), in the units of the data; one for each feature where the bounds
        differ.

    variance_ : float or ndarray of shape (n_features,)
        Var v, likewise; what learners need to know in order to allow for the noise.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    Raises
    ------
    ValueError
        When ``delta`` is 0 or too small for ε, or ``calibration="classical"`` meets ε ≥ 1.

    See Also
    --------
    OptimalDPNoise : Less noise on average for the same ε and δ when δ is small.

    Notes
    -----
    Values are rounded to a grid, noise is a whole number of grid steps, and the step is counted
    in the sensitivity: what is guaranteed holds for the floating-point numbers that come out
    (Mironov, 2012), not in real arithmetic alone. The step is 2^-24 of the sensitivity or less,
    and 2^-34 of the noise or less where that is more (2^-15 of the sensitivity at ε = 1e-6).
    Random bits come from AES-256 in counter mode.

    Neighbours differ in a value, never in the number of rows. Rows stay in their order, and
    where output is pandas they keep their index. Whole numbers beyond ±2^53 are clipped, and
    ``longdouble``, decimals, dates and text are refused.

    References
    ----------
    Balle, B. and Wang, Y.-X., "Improving the Gaussian mechanism for differential
    privacy: analytical calibration and optimal denoising", ICML 2018.

    SERUMS project, deliverable D3.1, "Report on initial distributed differential privacy deep
    learning models", 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import GaussianDPNoise, OptimalDPNoise
    >>> X, _ = load_digits(return_X_y=True)
    >>> gaussian = GaussianDPNoise(epsilon=0.5).fit(X / 16)
    >>> optimal = OptimalDPNoise(epsilon=0.5).fit(X / 16)
    >>> round(gaussian.expected_magnitude_ / optimal.expected_magnitude_, 2)
    2.81
    """

    _mechanism = "Gaussian"

    _parameter_constraints: dict = {
        **DPNoise._parameter_constraints,
        "calibration": [StrOptions({"analytic", "classical"})],
    }

    def __init__(
        self,
        epsilon=1.0,
        delta=1e-5,
        sensitivity=1.0,
        *,
        privacy_unit="element",
        bounds=None,
        perturb="always",
        calibration="analytic",
        random_state=None,
    ):
        super().__init__(
            epsilon,
            delta,
            sensitivity,
            privacy_unit=privacy_unit,
            bounds=bounds,
            perturb=perturb,
            random_state=random_state,
        )
        self.calibration = calibration

    def _make_distribution(self, sensitivity):
        # p elements that may each move by d are one vector that may move by √p·d.
        distance = sensitivity * np.sqrt(self._n_moving())
        epsilon, delta = float(self.epsilon), float(self.delta)
        if delta == 0:
            raise ValueError(
                f"The 'delta' parameter of GaussianDPNoise must be above 0, got {self.delta}: "
                "no amount of Gaussian noise is (epsilon, 0)-private. Use a small delta such "
                "as 1e-5, or OptimalDPNoise(delta=0), which is the Laplace mechanism."
            )
        if self.calibration == "classical" and epsilon >= 1:
            raise ValueError(
                "The 'epsilon' parameter of GaussianDPNoise must be below 1 with "
                f"calibration='classical', got {self.epsilon}: that formula is proven for "
                "epsilon < 1 only. Use calibration='analytic', which is exact for every "
                "epsilon."
            )
        if np.isinf(epsilon):
            return GaussianDistribution(0.0)
        # What the sampler needs for itself.
        p = self._n_moving()
        epsilon -= p * PRECISION
        delta -= (1 + np.exp(min(epsilon, 700.0))) * p * _CUT
        if delta <= 0 or epsilon <= 0:
            raise ValueError(
                f"The 'epsilon' and 'delta' parameters of GaussianDPNoise, {self.epsilon!r} and "
                f"{self.delta!r} for one {self.privacy_unit}, are beyond what the sampler is "
                "exact enough for. Use a larger delta, a more usual epsilon, or OptimalDPNoise."
            )
        if self.calibration == "classical":
            return GaussianDistribution(distance * np.sqrt(2 * np.log(1.25 / delta)) / epsilon)
        return GaussianDistribution(gaussian_sigma(epsilon, delta, distance) * _LATTICE)

    def _state_mechanism(self, distribution):
        p, stated = self._n_moving(), (float(self.epsilon), float(self.delta))
        if not distribution.scale:
            return Mechanism("gaussian", *stated)
        distance = np.sqrt(p) * (float(self.sensitivity) + self._step)
        distance = float(distance / distribution.scale)
        sampler = {"slack": p * PRECISION, "cut": p * _CUT}
        return Mechanism("gaussian", *stated, squared_distance=distance * distance, **sampler)

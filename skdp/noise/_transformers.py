"""Noise transformers, one for each mechanism."""

import numpy as np

from skdp.noise._base import DPNoise
from skdp.noise._laws import GaussianLaw, OptimalLaw
from skdp.privacy import gaussian_epsilon, gaussian_sigma
from skdp.utils._sklearn import StrOptions


class OptimalDPNoise(DPNoise):
    r"""Make data (ε, δ)-private with the papers' least-magnitude noise.

    To each element it adds, independently, 0 with probability δ and otherwise Laplace
    noise of scale ``sensitivity / epsilon`` (Algorithm 5 of 004; δ = 0 is the Laplace
    mechanism):

    .. math:: E|v| = (1-δ)\,\frac{d}{ε}, \qquad \mathrm{Var}\,v = 2(1-δ)\frac{d^2}{ε^2}

    **What is guaranteed.** ε and δ are *per element*: two data sets that differ in one
    entry by at most ``sensitivity`` give outputs that are hard to tell apart. A whole
    record of p entries is covered by (pε, 1 − (1−δ)^p). Labels, and how many rows there
    are, are not protected. Each further noisy copy of the same rows spends ε and δ again.
    :attr:`guarantee_` states all of this for the fitted transformer.

    **What "optimal" means.** Least E|v| among noises made of one point mass plus a density
    that meets a pointwise sufficient condition. It is not the least noise that any
    ε-private mechanism needs: the staircase mechanism (δ = 0) has E|v| = d·e^{ε/2}/(e^ε − 1),
    below d/ε at every ε and far below when ε is large.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one element; smaller is more private. ``inf`` adds no
        noise at all, and warns.

    delta : float, default=1e-5
        Probability δ in [0, 1) that an element is released as it is.

    sensitivity : float, default=1.0
        Largest change d > 0 of one element that must be hidden, in the units of the data;
        1.0 suits columns scaled to [0, 1].

    perturb : {"always", "fit"}, default="always"
        When to add noise. ``"always"``: in every :meth:`transform`, so that whatever comes
        out is private. ``"fit"``: in :meth:`fit_transform` only, which is what a training
        pipeline wants; :meth:`transform` then returns queries unchanged.

    random_state : int, RandomState instance or None, default=None
        Source of the noise. ``None`` takes fresh entropy from the operating system for
        each call, and is the only private choice; an integer warns with
        :class:`~skdp.privacy.PrivacyLeakWarning`. A pickled copy never carries the state
        of a ``RandomState``; it draws fresh entropy.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Immutable statement of what is guaranteed.

    expected_magnitude_ : float
        E|v|, in the units of the data.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    GaussianDPNoise : The Gaussian mechanism; less noise where δ is large for its ε,
        such as δ = 0.01 at ε = 0.1 or δ = 0.1 at ε = 1.

    Notes
    -----
    The proof is in real arithmetic. Floating-point sampling leaves traces in the last bits
    of a sum (Mironov, 2012); where an adversary sees raw float64 outputs, round them. The
    generator (PCG64, seeded with 256 bits or by the operating system) is not cryptographic.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Result 3 and Algorithm 5 (004).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import OptimalDPNoise
    >>> X, _ = load_digits(return_X_y=True)
    >>> noise = OptimalDPNoise(epsilon=2.0).fit(X / 16)
    >>> private = noise.transform(X / 16)
    >>> private.shape
    (1797, 64)
    >>> round(noise.expected_magnitude_, 4)
    0.5
    >>> round(noise.guarantee_.record_epsilon)
    128
    """

    _mechanism = "optimal"

    def __init__(
        self, epsilon=1.0, delta=1e-5, sensitivity=1.0, *, perturb="always", random_state=None
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.perturb = perturb
        self.random_state = random_state

    def _make_law(self):
        return OptimalLaw(float(self.sensitivity) / float(self.epsilon), float(self.delta))

    def _record_level(self):
        # If none of the p atoms fires, which has probability (1-δ)^p, the noise is pure
        # Laplace and composes to pε; the remaining probability is the δ of the record.
        p = self.n_features_in_
        return p * float(self.epsilon), -np.expm1(p * np.log1p(-float(self.delta)))


class GaussianDPNoise(DPNoise):
    r"""Make data (ε, δ)-private with Gaussian noise.

    To each element it adds independent normal noise. The standard deviation is either

    - ``calibration="analytic"``: the least σ that is (ε, δ)-private, exact for every ε
      (Balle & Wang, 2018); or
    - ``calibration="classical"``: :math:`σ = d\sqrt{2\log(1.25/δ)}/ε`, the formula that
      the papers compare with, proven for ε < 1 only and refused above.

    **What is guaranteed.** ε and δ are *per element*, as for :class:`OptimalDPNoise`. For
    a whole record of p entries the sensitivity grows to √p·d; :attr:`guarantee_` gives the
    ε that this σ then has at the same δ. Labels, and how many rows there are, are not
    protected. Each further noisy copy of the same rows spends privacy again.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one element; smaller is more private. ``inf`` adds no
        noise at all, and warns.

    delta : float, default=1e-5
        Slack δ in (0, 1): an event may be e^ε times as likely, plus δ. It is not the
        probability that the privacy loss exceeds ε, which is larger.

    sensitivity : float, default=1.0
        Largest change d > 0 of one element that must be hidden, in the units of the data;
        1.0 suits columns scaled to [0, 1].

    perturb : {"always", "fit"}, default="always"
        When to add noise. ``"always"``: in every :meth:`transform`, so that whatever comes
        out is private. ``"fit"``: in :meth:`fit_transform` only, which is what a training
        pipeline wants; :meth:`transform` then returns queries unchanged.

    calibration : {"analytic", "classical"}, default="analytic"
        How σ follows from ε and δ.

    random_state : int, RandomState instance or None, default=None
        Source of the noise. ``None`` takes fresh entropy from the operating system for
        each call, and is the only private choice; an integer warns with
        :class:`~skdp.privacy.PrivacyLeakWarning`. A pickled copy never carries the state
        of a ``RandomState``; it draws fresh entropy.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Immutable statement of what is guaranteed.

    expected_magnitude_ : float
        E|v| = σ·√(2/π), in the units of the data.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    Raises
    ------
    ValueError
        When ``delta`` is 0, or ``calibration="classical"`` meets ε ≥ 1.

    See Also
    --------
    OptimalDPNoise : Less noise on average for the same ε and δ when δ is small.

    Notes
    -----
    The proof is in real arithmetic. Floating-point sampling leaves traces in the last bits
    of a sum (Mironov, 2012); where an adversary sees raw float64 outputs, round them. The
    generator (PCG64, seeded with 256 bits or by the operating system) is not cryptographic.

    References
    ----------
    Balle, B. and Wang, Y.-X., "Improving the Gaussian mechanism for differential
    privacy: analytical calibration and optimal denoising", ICML 2018.

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
        perturb="always",
        calibration="analytic",
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.perturb = perturb
        self.calibration = calibration
        self.random_state = random_state

    def _make_law(self):
        if self.delta == 0:
            raise ValueError(
                f"The 'delta' parameter of GaussianDPNoise must be above 0, got {self.delta}: "
                "no amount of Gaussian noise is (epsilon, 0)-private. Use a small delta such "
                "as 1e-5, or OptimalDPNoise(delta=0), which is the Laplace mechanism."
            )
        if self.calibration == "analytic":
            sigma = gaussian_sigma(float(self.epsilon), float(self.delta), float(self.sensitivity))
            return GaussianLaw(sigma)
        if self.epsilon >= 1:
            raise ValueError(
                "The 'epsilon' parameter of GaussianDPNoise must be below 1 with "
                f"calibration='classical', got {self.epsilon}: that formula is proven for "
                "epsilon < 1 only. Use calibration='analytic', which is exact for every epsilon."
            )
        factor = np.sqrt(2 * np.log(1.25 / float(self.delta)))
        return GaussianLaw(float(self.sensitivity) * factor / float(self.epsilon))

    def _record_level(self):
        # p elements that may each move by d are one vector that may move by √p·d.
        distance = float(self.sensitivity) * np.sqrt(self.n_features_in_)
        return gaussian_epsilon(self._law.scale, float(self.delta), distance), self.delta

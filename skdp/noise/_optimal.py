"""The optimal noise of Kumar and Moser: Laplace with a point mass."""

from skdp.noise._base import PRECISION, DPNoise
from skdp.noise._distributions import OptimalDistribution


class OptimalDPNoise(DPNoise):
    r"""Make data (ε, δ)-private with the least-magnitude noise of Kumar and Moser.

    To each element it adds, independently, 0 with probability δ and otherwise Laplace
    noise of scale ``sensitivity / epsilon`` (Kumar and Moser, Algorithm 5; δ = 0 is the
    Laplace mechanism):

    .. math:: E|v| = (1-δ)\,\frac{d}{ε}, \qquad \mathrm{Var}\,v = 2(1-δ)\frac{d^2}{ε^2}

    **What is guaranteed.** By default ε and δ are *per element*: two data sets that differ
    in one entry by at most ``sensitivity`` give outputs that are hard to tell apart. A whole
    record of p entries is then covered by (pε, 1 − (1−δ)^p); with ``privacy_unit="record"``
    ε and δ are those of the record, each element gets the p-th part, and the scale is p·d/ε.
    Labels, and how many rows there are, are not protected. Each further noisy copy of the
    same rows spends ε and δ again. :attr:`guarantee_` states all of this for the fitted
    transformer.

    **What "optimal" means.** Least E|v| among noises made of one point mass plus a density
    that meets a pointwise sufficient condition. It is not the least noise that any
    ε-private mechanism needs: that of :class:`StaircaseDPNoise` is below it at every ε, and
    far below when ε is large.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one element; smaller is more private. ``inf`` adds no
        noise at all, and warns.

    delta : float, default=0.0
        Probability δ in [0, 1) that an element is released as it is, which shows where the
        data lie on a coarse grid. For N rows of p elements choose δ far below 1/(N·p), with
        public N, or 0, which takes 1/(1 − δ) times the noise: ``transform`` warns where more
        than a tenth of a value is expected to leave so.

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
        E|v|, in the units of the data; one for each feature where the bounds differ.

    variance_ : float or ndarray of shape (n_features,)
        Var v, likewise; what learners need to know in order to allow for the noise.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    StaircaseDPNoise : Less noise at every ε.
    GaussianDPNoise : The Gaussian mechanism; less noise where δ is large for its ε,
        such as δ = 0.01 at ε = 0.1 or δ = 0.1 at ε = 1, and for whole records.

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
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Result 3 and Algorithm 5.

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
    >>> round(noise.guarantee_.to_record().epsilon)
    128
    """

    _mechanism = "optimal"

    def _make_distribution(self, sensitivity):
        epsilon, delta = self._element_budget()
        return OptimalDistribution(sensitivity / (epsilon - PRECISION / (1 - delta)), delta)

    def _state_mechanism(self, distribution):
        return self._shared_budget("laplace")

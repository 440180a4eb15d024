"""The release: what a source owner hands out in place of its data."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.membership import WideCDMMAClassifier
from skdp.noise import OptimalDPNoise, RandomizedResponse
from skdp.transfer._alignment import class_medians
from skdp.transfer._denoise import denoised_codes
from skdp.transfer._moments import Moments
from skdp.transfer._perturb import BUDGET, NOISES, perturb_labels, perturb_rows
from skdp.transfer._release import read_source, write_source
from skdp.utils._linalg import principal_directions
from skdp.utils._sklearn import HasMethods, StrOptions, fit_context
from skdp.utils._validation import check_magnitude

# For as many codes, so many directions.
_DIRECTIONS = 3


class DPSource(BaseEstimator):
    r"""The release of a private source: classifier, class moments, subspace and medians.

    The owner of private labelled rows calls :meth:`fit` and :meth:`save`, and hands out the
    file; the target owner calls :meth:`load` and passes the release to
    :class:`DPTransferClassifier`. Fitting perturbs the rows once, forgets them, and computes
    everything from the noisy copy :math:`y^+`: a :class:`~skdp.WideCDMMAClassifier`, counts,
    means and noise-corrected covariances :math:`\mathrm{cov}(y^+) - \mathrm{diag}(v)` of the
    classes, a mixture of normal distributions for each behind the noise, the leading principal
    directions :math:`V_{sr}` of all rows, and class medians

    .. math:: m_{sr,c} = \mathrm{median}\{V_{sr}\, y^+ : y^+ \text{ of class } c\}

    **What is guaranteed.** What the noise guarantees for the *features* of the training
    rows, per element; :attr:`guarantee_` states it, and for a whole record too. Anything
    computed from the noisy copy and the public law of its noise, by anybody, keeps it.
    **What is treated as public**: the labels (hence the classes and their numbers of rows),
    the number and names of the columns, and their dtype. With ``label_noise`` each label is
    protected too, as :attr:`label_guarantee_` says; classes and number of rows stay public.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound ε > 0 for one element; smaller is more private. ``inf`` releases
        a model of the data as they are, and warns.

    delta : float, default=1e-5
        Slack δ in [0, 1) for one element.

    sensitivity : float, default=1.0
        Largest change of one element that must be hidden, in the units of the data: scale
        columns to [0, 1] by bounds that are known without looking at the data.

    noise : {"optimal", "staircase", "gaussian"} or transformer, default="optimal"
        The noise by name, drawn from fresh entropy of the operating system. Or a noise
        transformer (with ``privacy_unit="record"`` or ``bounds``, say), which must state a
        ``guarantee_``; where it has an ``epsilon``, ``delta`` or ``sensitivity`` of its own,
        these must be the same as those above. Neither a pickled nor a saved release carries
        it.

    label_noise : RandomizedResponse or None, default=None
        Randomises the labels before anything is learned from them. By default they are
        used as they are, and count as public.

    denoise : bool, default=True
        Whether to allow for the noise, whose law is public: the release then has class
        moments (p(p+1)/2 numbers a class), and in the ``3 * n_components`` directions in
        which rows differ most a mixture of normal distributions for each class and a
        classifier of denoised rows. The papers' strategies need False, where there is noise.

    n_components : int, default=20
        Size of the codes, see :class:`~skdp.WideCDMMAClassifier`.

    n_inducing : int or float, default=0.5
        Inducing points of each layer: a count, or a fraction of the rows.

    n_layers : int, default=5
        Depth of each autoencoder. The file grows with it.

    inference : {"gamma", "empirical"}, default="gamma"
        Inference of the mappings, see :class:`~skdp.CDMMA`.

    subset_size : int, default=1000
        Rows for which one autoencoder is meant.

    n_jobs : int or None, default=None
        Autoencoders fitted at once, and threads of a prediction. ``None`` means 1 unless in
        a :obj:`joblib.parallel_config` context. The result does not depend on it.

    verbose : int, default=0
        Above 0, :meth:`fit` prints its progress.

    random_state : int, RandomState instance or None, default=None
        For k-means and held-out rows, never for the noise: a seed that others may guess must
        not undo the guarantee. For reproducible noise pass a transformer with a seed of its own.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        What the release guarantees about features.

    label_guarantee_ : PrivacyGuarantee or None
        What it guarantees about labels; None where they are used as they are.

    classes_ : ndarray of shape (n_classes,)
        Class labels.

    classifier_ : WideCDMMAClassifier
        Trained on the noisy copy, or on denoised codes; :meth:`score` asks it.

    mean_ : ndarray of shape (n_features,)
        Of the noisy copy.

    moments_ : Moments or None
        ``totals`` and ``counts`` (n_classes,), ``means`` (n_classes, p), upper triangles of
        ``covariances`` (n_classes, p(p+1)/2), float32, and ``noise`` (p,), its variances.
        None without ``denoise``.

    components_ : ndarray of shape (n_directions, n_features)
        Principal directions V_sr of the noisy copy as rows, at most ⌈p/2⌉.

    class_medians_ : ndarray of shape (n_classes, n_directions)
        Medians m_sr,c of the noisy copy in the subspace.

    n_features_in_ : int
        Number of features p seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names
        that are all strings.

    See Also
    --------
    DPTransferClassifier : Learns from a release.

    Notes
    -----
    Every :meth:`fit` draws noise anew and spends ε and δ again; so does every candidate of
    a parameter search over a source. A fitted source is a finished release:
    :func:`sklearn.base.clone` hands its contents on, because whoever clones it does not have
    the rows to fit it again.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", section 4.2, Algorithms 5 and 6 and equation (118) (004).

    Examples
    --------
    >>> from skdp import DPSource
    >>> from skdp.datasets import load_digits_domains
    >>> domains = load_digits_domains()
    >>> source = DPSource(epsilon=8.0, n_layers=1, random_state=0)
    >>> source = source.fit(domains.source, domains.source_target)
    >>> source.class_medians_.shape
    (10, 32)
    >>> source.guarantee_.epsilon, source.guarantee_.unit
    (8.0, 'element')
    >>> source.save("digits.skdp")  # doctest: +SKIP
    >>> release = DPSource.load("digits.skdp")  # doctest: +SKIP
    """

    _parameter_constraints: dict = {
        **{name: OptimalDPNoise._parameter_constraints[name] for name in BUDGET},
        **WideCDMMAClassifier._parameter_constraints,
        "noise": [StrOptions(set(NOISES)), HasMethods(["fit_transform", "get_params"])],
        "label_noise": [RandomizedResponse, None],
        "denoise": ["boolean"],
    }

    def __init__(
        self,
        epsilon=1.0,
        delta=1e-5,
        sensitivity=1.0,
        *,
        noise="optimal",
        label_noise=None,
        denoise=True,
        n_components=20,
        n_inducing=0.5,
        n_layers=5,
        inference="gamma",
        subset_size=1000,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.noise = noise
        self.label_noise = label_noise
        self.denoise = denoise
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.n_layers = n_layers
        self.inference = inference
        self.subset_size = subset_size
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Perturb the rows, and learn the release from the noisy copy alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows. Nothing computed from them is kept.

        y : array-like of shape (n_samples,)
            Class labels, at least two different ones; not protected without ``label_noise``.

        Returns
        -------
        self : object
            The release.

        Raises
        ------
        ValueError
            When the noise transformer contradicts this object's parameters, changes the
            shape of the rows or states no guarantee, or the largest magnitude of the
            noisy rows is not between 1e-12 and 1e12.
        """
        self.__dict__.pop("guarantee_", None)  # whatever fails now, nothing old passes for new
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, labels, weights, label_guarantee = perturb_labels(self.label_noise, y)
        if len(classes) < 2:
            kept = "" if self.label_noise is None else " after 'label_noise'"
            raise ValueError(
                f"The 'y' parameter of DPSource.fit must hold at least two classes{kept}, got "
                f"one class: {classes.tolist()}. Add rows of another class."
            )
        noisy, variance, guarantee = perturb_rows(self, X)
        del X, y  # from here on there is only the noisy copy
        check_magnitude(noisy, "X (with the noise of 'sensitivity' and 'epsilon')")
        moments = subspace = mixtures = None
        rows = noisy
        if self.denoise:
            moments = Moments.measure(noisy, weights, variance)
            if variance.any():
                n_directions = min(_DIRECTIONS * self.n_components, noisy.shape[1])
                subspace, mixtures, rows = denoised_codes(
                    noisy,
                    labels,
                    moments,
                    n_directions,
                    check_random_state(self.random_state),
                    sure=self.label_noise is None,
                )
        classifier = WideCDMMAClassifier(
            self.n_components,
            self.n_inducing,
            self.n_layers,
            inference=self.inference,
            subset_size=self.subset_size,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            random_state=self.random_state,
        ).fit(rows, classes[labels])
        n_directions = -(-noisy.shape[1] // 2)
        components = principal_directions(noisy.astype(np.float64, copy=False), n_directions)
        medians = class_medians(noisy @ components.T, labels, len(classes))
        mean = noisy.mean(axis=0, dtype=np.float64)
        guarantees = guarantee, label_guarantee
        return self._assemble(
            classifier, components, medians, mean, moments, subspace, mixtures, *guarantees
        )

    def _assemble(
        self, classifier, components, medians, mean, moments, subspace, mixtures, *guarantees
    ):
        """Take what was learned or loaded as this release."""
        self.classifier_ = classifier
        self.guarantee_, self.label_guarantee_ = guarantees
        self.mean_, self.moments_ = mean, moments
        self._subspace, self._mixtures = subspace, mixtures
        self.classes_, self.n_features_in_ = classifier.classes_, components.shape[1]
        self.components_ = components.astype(classifier.dtype_, copy=False)
        self.class_medians_ = medians.astype(classifier.dtype_, copy=False)
        return self

    def _centre(self, columns):
        """Return the mean of the noisy copy; of some classes alone where moments say it."""
        return self.mean_ if self.moments_ is None else self.moments_.select(columns).mean

    def _errors(self, X):
        """Return the squared error of the classifier for each row of X and class."""
        rows = X if self._subspace is None else self._subspace.encode(X)
        return self.classifier_.reconstruction_errors(rows)

    def score(self, X, y):
        """Return the accuracy of the released classifier on rows of the source's own space.

        Ask for it, with held-out rows, before the release leaves the house; they are
        queries, and stay.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were not trained on.

        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        accuracy : float
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        guesses = self.classes_[self._errors(X).argmin(axis=1)]
        return accuracy_score(y, guesses)

    def save(self, path):
        """Write the release to a file that holds arrays and text, and no code.

        Parameters
        ----------
        path : str or path-like
            Where to write; used as given, whatever its ending.
        """
        check_is_fitted(self)
        write_source(self, path)

    @classmethod
    def load(cls, path):
        """Read a release that :meth:`save` wrote; no code in the file can run.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        source : DPSource
            Fitted. Its ``noise`` is None: a release cannot be fitted again.

        Raises
        ------
        ValueError
            When the file is truncated, altered, of a newer version or not a release.
        """
        return read_source(cls, path)

    def summary(self):
        """Return a few lines for humans: what the release is, and what it guarantees.

        Returns
        -------
        text : str
            Ends with the statements of :attr:`guarantee_` and :attr:`label_guarantee_`.
        """
        check_is_fitted(self)
        parts = [part for parts in self.classifier_.autoencoders_by_class() for part in parts]
        labels = ", ".join(str(label) for label in self.classes_.tolist())
        return (
            f"Release of a private source: {len(self.classes_)} classes ({labels}), "
            f"{self.n_features_in_} features\n"
            f"  model:      {len(parts)} autoencoders (depth {len(parts[0].precisions_)}) of "
            f"{'noisy' if self._subspace is None else 'denoised'} rows"
            f"{'' if self.moments_ is None else ', moments of each class'}"
            f"{'' if self._mixtures is None else f', {len(self._mixtures.weights)} normals'}\n"
            f"  guarantee:  {self.guarantee_}\n"
            f"  labels:     {self.label_guarantee_ or 'not protected'}"
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "guarantee_")

    def __sklearn_clone__(self):
        if not hasattr(self, "guarantee_"):
            return super().__sklearn_clone__()
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)  # a refit of the copy does not touch this release
        return copy

    def __getstate__(self):
        # What made the noise stays with the source owner.
        state = super().__getstate__().copy()
        if "guarantee_" in state:
            state["label_noise"] = None
            if not isinstance(self.noise, str):
                state["noise"] = None
        return state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.target_tags.required = True
        return tags

"""Noisy rows as what is expected behind their noise, in the few directions that matter."""

import numpy as np

from skdp.release._empirical_bayes import ClassModel
from skdp.release._mixtures import Mixtures
from skdp.release._moments import Moments
from skdp.release._subspace import Subspace
from skdp.utils._labels import stratified_folds

# One fold of ten is held out to choose between mixtures and single normals; rule of thumb.
_FOLDS = 10


def denoised_codes(noisy, labels, moments, n_directions, random_state, *, labels_exact):
    """Return the subspace of the rows behind a noisy copy, and denoised rows in it.

    Parameters
    ----------
    noisy : ndarray of shape (n_samples, n_features)
        The noisy copy.

    labels : ndarray of shape (n_samples,)
        Class indices.

    moments : Moments
        Of the noisy copy.

    n_directions : int
        Of the subspace.

    random_state : RandomState
        Seeds k-means, and chooses held-out rows.

    labels_exact : bool
        Whether labels are as they were. If not, every class is one normal distribution: a
        mixture would find the rows that are in the class by mistake, and keep them.

    Returns
    -------
    subspace : Subspace

    mixtures : Mixtures
        Of the classes, in units of the subspace.

    codes : ndarray of shape (n_samples, n_directions)
        In units of the subspace and the dtype of the copy.
    """
    subspace = Subspace.of_moments(moments, n_directions)
    codes, noise = subspace.encode(noisy), subspace.noise(moments.noise)
    variances = subspace.variances * subspace.scale**2
    mixtures = None
    if labels_exact:
        mixtures = _likely_mixtures(codes, labels, noise, variances, random_state)
    if mixtures is None:
        # From the moments of all features, whose noise is known without correlations.
        mixtures = _normals(moments, subspace.components * subspace.scale, variances)
    return subspace, mixtures, mixtures.denoise(codes, labels, noise).astype(noisy.dtype)


def _normals(moments, directions, variances, centre=0.0):
    """Return one normal distribution for each class, by empirical Bayes."""
    means, covariances, noise = moments.project(directions)
    model = ClassModel.shrink(means, covariances, noise, moments.effective_sizes, variances)
    return Mixtures.single(model.means + centre, model.covariances)


def _likely_mixtures(codes, labels, noise, variances, random_state):
    """Return mixtures if they explain held-out noisy rows better than one normal each."""
    held = stratified_folds(labels, _FOLDS, random_state) == 0
    held &= np.bincount(labels)[labels] > 1
    if not held.any():
        return None
    kept, rows = ~held, np.arange(held.sum())
    moments = Moments.measure(codes[kept], np.eye(labels.max() + 1)[labels[kept]], noise)
    normals = _normals(moments, np.eye(len(noise)), variances, moments.mean)
    mixtures = Mixtures.fit(codes[kept], labels[kept], noise, random_state)
    likelihoods = [
        model.log_likelihood(codes[held], noise)[rows, labels[held]].mean(dtype=np.float64)
        for model in (normals, mixtures)
    ]
    return mixtures if likelihoods[1] > likelihoods[0] else None

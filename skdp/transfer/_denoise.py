"""Noisy rows as what is expected behind their noise, in the few directions that matter."""

import numpy as np

from skdp.transfer._folds import stratified_folds
from skdp.transfer._mixtures import Mixtures
from skdp.transfer._shrinkage import ClassModel
from skdp.transfer._subspace import Subspace

_FOLDS = 10


def denoised_codes(noisy, labels, moments, n_directions, random_state, *, sure):
    """Return the subspace of the rows behind a noisy copy, and denoised rows in it.

    Parameters
    ----------
    noisy : ndarray of shape (n_samples, n_features)
        The noisy copy.

    labels : ndarray of shape (n_samples,)
        Class numbers.

    moments : Moments
        Of the noisy copy.

    n_directions : int
        Of the subspace.

    random_state : RandomState
        Seeds k-means, and chooses held-out rows.

    sure : bool
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
    means, covariances, noise = moments.project(subspace.components)
    model = ClassModel.shrink(means, covariances, noise, moments.counts, subspace.variances)
    scale = subspace.scale
    codes, noise = subspace.encode(noisy), noise * scale**2
    normal = Mixtures.single(model.means * scale, model.covariances * scale**2)
    mixtures = _more_likely(normal, codes, labels, noise, random_state) if sure else normal
    return subspace, mixtures, mixtures.denoise(codes, labels, noise).astype(noisy.dtype)


def _more_likely(normal, codes, labels, noise, random_state):
    """Return mixtures where they explain held-out noisy rows better than one normal each.

    The normal distributions know the moments of all rows, which makes the choice cautious.
    """
    held = stratified_folds(labels, _FOLDS, random_state) == 0
    held &= np.bincount(labels)[labels] > 1
    if not held.any():
        return normal
    mixtures = Mixtures.fit(codes[~held], labels[~held], noise, random_state)
    rows = np.arange(held.sum())
    likelihoods = [
        model.log_likelihood(codes[held], noise)[rows, labels[held]].mean(dtype=np.float64)
        for model in (normal, mixtures)
    ]
    return mixtures if likelihoods[1] > likelihoods[0] else normal

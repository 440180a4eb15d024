"""Noisy rows as what is expected behind their noise, in the few directions that matter."""

from skdp.transfer._shrinkage import ClassModel
from skdp.transfer._subspace import Subspace


def denoised_codes(noisy, labels, moments, n_directions):
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

    Returns
    -------
    subspace : Subspace

    codes : ndarray of shape (n_samples, n_directions)
        In units of the subspace and the dtype of the copy.
    """
    subspace = Subspace.of_moments(moments, n_directions)
    means, covariances, noise = moments.project(subspace.components)
    model = ClassModel.shrink(means, covariances, noise, moments.counts, subspace.variances)
    denoised = model.denoise(subspace.project(noisy), labels, noise)
    return subspace, (denoised * subspace.scale).astype(noisy.dtype, copy=False)

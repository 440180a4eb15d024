"""Mixtures of classes in the columns that remain."""

from dataclasses import replace

import numpy as np

from skdp.release._empirical_bayes import ClassModel
from skdp.release._mixtures import Mixtures
from skdp.release._moments import Moments
from skdp.release._subspace import Subspace
from skdp.utils._linalg import nonnegative

# Ratio of variances of a component below which floating point does not tell them from none.
_PRECISION = 1e-9
_FLOAT32 = np.finfo(np.float32)


def restrict_mixtures(subspace, mixtures, moments, columns):
    r"""Return a subspace of some of the columns, and mixtures of the classes in it.

    With directions V of all columns, rows of a component of class c are
    :math:`x = m + V^T u + (I - V^T V)(x - m)`, u normal as the mixture has it, and what V leaves
    out with the mean of the class and the covariance within classes of the moments. Of the columns
    S that remain, the subspace is that of their own leading principal directions Q, as many
    as there were. With :math:`E = Q (I - V^T V)_S`, a component with mean a and covariance C of u
    has there

    .. math:: Q V_S^T a + E (μ_c - m) + Q (m - m_Q)_S, \qquad Q V_S^T C V_S Q^T + E W E^T

    Mixtures that were learned from noisy rows owe too much to columns that are gone, and are not
    used, see :func:`normals_of_moments`. Where all columns remain, in another order, nothing but
    that order changes.

    Parameters
    ----------
    subspace : Subspace

    mixtures : Mixtures or None
        In the subspace.

    moments : Moments
        Of all columns.

    columns : ndarray of shape (n_remaining,)
        Numbers of those that remain, each once, in their new order.

    Returns
    -------
    subspace : Subspace

    mixtures : Mixtures or None

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.release import Mixtures, Moments, Subspace, restrict_mixtures
    >>> rng = np.random.RandomState(0)
    >>> y = np.arange(200) % 2
    >>> moments = Moments.measure(rng.rand(200, 3) + y[:, None], np.eye(2)[y], np.zeros(3))
    >>> subspace = Subspace.of_moments(moments, 3)
    >>> mixtures = Mixtures.single(np.array([[-1.0, 0, 0], [1.0, 0, 0]]), np.ones((2, 3, 3)) / 2)
    >>> subspace, mixtures = restrict_mixtures(subspace, mixtures, moments, np.array([0, 2]))
    >>> subspace.components.shape, mixtures.means.shape
    ((2, 2), (2, 2))
    """
    V = subspace.components
    if len(columns) == V.shape[1]:
        same = replace(subspace, mean=subspace.mean[columns], components=V[:, columns])
        return same, mixtures
    d = min(len(V), len(columns))
    if mixtures is not None and moments.noise.any():
        return normals_of_moments(moments, columns, d)
    new = _subspace(moments, columns, d)
    if mixtures is None:
        return new, None
    inside = new.components @ V[:, columns].T
    outside = -inside @ V
    outside[:, columns] += new.components
    T, own = new.scale / subspace.scale * inside, mixtures.class_indices
    left_out = _credible_means(moments, outside) - subspace.mean @ outside.T
    shift = new.components @ (subspace.mean[columns] - new.mean)
    spread = new.scale**2 * nonnegative(outside @ moments.within_covariance() @ outside.T)
    covariances = [_definite(T @ covariance @ T.T + spread) for covariance in mixtures.covariances]
    means = mixtures.means @ T.T + new.scale * (left_out + shift)[own]
    return new, Mixtures(own, mixtures.weights, means, np.stack(covariances))


def normals_of_moments(moments: Moments, columns, n_directions):
    """Return a subspace of some columns, and normal distributions in it, by empirical Bayes.

    Of columns of noisy rows that remain they do better than marginals of mixtures of all
    columns: of five random pairs of columns left out of adult, actg175 and randhie at ε = 4 for
    each element (one draw) AUC is .867, .651 and .661 against .843, .606 and .603; with 40 of 64
    pixels of digits 93.0 % are right against 94.3 %.

    Parameters
    ----------
    moments : Moments
        Of all columns.

    columns : ndarray of shape (n_remaining,)
        Numbers of those that remain, each once, in their new order.

    n_directions : int
        Of the subspace.

    Returns
    -------
    subspace : Subspace

    mixtures : Mixtures
        One component for each class, see :meth:`ClassModel.of_moments`.
    """
    subspace = _subspace(moments, columns, n_directions)
    directions = subspace.components * subspace.scale
    variances = subspace.variances * subspace.scale**2
    # Both are centred at the mean of all rows.
    model = ClassModel.of_moments(moments.restrict(columns), directions, variances)
    return subspace, Mixtures.single(model.means, model.covariances)


def _subspace(moments, columns, n_directions):
    """Return the leading principal directions of some columns, which may all be constant."""
    new = Subspace.of_moments(moments.restrict(columns), n_directions)
    least = _FLOAT32.eps * max(moments.total_covariance().diagonal().max(), 0)
    return replace(new, variances=np.maximum(new.variances, max(least, _FLOAT32.tiny)))


def _credible_means(moments, directions):
    """Return class means in few directions, as far from that of all rows as is credible there."""
    apart = (moments.means - moments.mean) @ directions.T
    noise, _ = moments.project_noise(directions)
    squares = np.maximum((apart**2).sum(axis=1), np.finfo(np.float64).tiny)
    credible = np.maximum(1 - noise.sum(axis=1) / squares, 0)
    return moments.mean @ directions.T + credible[:, np.newaxis] * apart


def _definite(covariance):
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    definite = (vectors * np.maximum(values, _PRECISION * max(values[-1], 1.0))) @ vectors.T
    return (definite + definite.T) / 2

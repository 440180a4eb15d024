"""Mixtures of classes in the columns that remain."""

from dataclasses import replace

import numpy as np

from skdp.release.estimation._empirical_bayes import ClassModel
from skdp.release.estimation._mixtures import Mixtures
from skdp.release.estimation._moments import Moments
from skdp.release.estimation._subspace import Subspace

# Ratio of variances of a component below which floating point does not tell them from none.
_PRECISION = 1e-9


def restrict_mixtures(subspace, mixtures, moments, columns):
    r"""Return a subspace of some of the columns, and the marginals of mixtures in it.

    With directions V of all columns, which were codes of the mixtures, rows of a component of
    class c are :math:`x = m + V^T u + (I - V^T V)(x - m)`, u normal by the mixture and the rest
    with mean and covariance of the moments of the class. Of the columns S that remain, the
    subspace is that of their own leading principal directions Q, as many as there were. With
    :math:`E = Q (I - V^T V)_S`, a component with mean a and covariance C of u has there

    .. math:: Q V_S^T a + E (μ_c - m) + Q (m - m_Q)_S, \qquad Q V_S^T C V_S Q^T + E Σ_c E^T

    Where all columns remain, in another order, nothing but that order changes.

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
    """
    V = subspace.components
    if len(columns) == V.shape[1]:
        same = replace(subspace, mean=subspace.mean[columns], components=V[:, columns])
        return same, mixtures
    new = Subspace.of_moments(moments.restrict(columns), min(len(V), len(columns)))
    if mixtures is None:
        return new, None
    inside = new.components @ V[:, columns].T
    outside = -inside @ V
    outside[:, columns] += new.components
    shift = new.components @ (subspace.mean[columns] - new.mean)
    means = (moments.means - subspace.mean) @ outside.T + shift
    spread = [
        _positive(outside @ moments.covariance(c) @ outside.T) for c in range(len(moments.means))
    ]
    T, own = new.scale / subspace.scale * inside, mixtures.class_indices
    covariances = T @ mixtures.covariances @ T.T + new.scale**2 * np.array(spread)[own]
    covariances = np.stack([_definite(covariance) for covariance in covariances])
    means = mixtures.means @ T.T + new.scale * means[own]
    return new, Mixtures(own, mixtures.weights, means, covariances)


def normals_of_moments(moments: Moments):
    """Return a subspace of all columns, and a normal distribution of each class in it.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    subspace : Subspace

    mixtures : Mixtures
        See :meth:`ClassModel.of_moments`.
    """
    subspace = Subspace.of_moments(moments, moments.means.shape[1])
    directions = subspace.components * subspace.scale
    variances = subspace.variances * subspace.scale**2
    model = ClassModel.of_moments(moments, directions, variances)
    shift = subspace.scale * subspace.project(moments.mean)
    return subspace, Mixtures.single(model.means + shift, model.covariances)


def _positive(covariance):
    """Return a covariance without the negative variances that noise may have made."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def _definite(covariance):
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    definite = (vectors * np.maximum(values, _PRECISION * max(values[-1], 1.0))) @ vectors.T
    return (definite + definite.T) / 2

"""Synthetic labelled rows from what a release knows of its classes."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state


def sample_rows(release, n_samples, random_state):
    """Return rows and labels, see :meth:`Release.sample`."""
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
        raise ValueError(
            f"The 'n_samples' parameter of Release.sample must be a whole number >= 1, got "
            f"{n_samples!r}."
        )
    moments = release.moments
    if moments is None:
        raise ValueError(
            "This release has no moments, from which rows could be drawn. Ask its owner for one "
            "of DPStatisticsSource, or of DPSource(parts='noise_aware')."
        )
    random_state = check_random_state(random_state)
    class_indices = random_state.choice(len(release.classes), n_samples, p=moments.frequencies)
    rows, roots = np.empty((n_samples, release.n_features)), {}
    for c in np.unique(class_indices):
        here = np.flatnonzero(class_indices == c)
        k = c if len(moments.covariances) > 1 else 0  # one that all classes share
        if k not in roots:
            roots[k] = _root(moments.covariance(k), moments.eigenvalue_noise)
        normal = random_state.standard_normal((len(here), release.n_features)) @ roots[k]
        rows[here] = _with_mixture(release, c, moments.means[c] + normal, random_state)
    if release.bounds is not None:
        rows = np.clip(rows, *release.bounds)
    return rows.astype(release.dtype), release.classes[class_indices]


def _with_mixture(release, c, rows, random_state):
    """Return rows of one class, by its mixture in the subspace and as they are elsewhere."""
    subspace = release.subspace
    if release.mixtures is None:
        return rows
    inside = (rows - subspace.mean) @ subspace.components.T
    mixture = release.mixtures.select([c])
    codes = _codes_of_class(mixture, len(rows), random_state) / subspace.scale
    return rows + (codes - inside) @ subspace.components


def _codes_of_class(mixture, n, random_state):
    which = random_state.choice(len(mixture.weights), n, p=mixture.weights)
    codes = np.empty((n, mixture.means.shape[1]))
    for k in np.unique(which):
        here = np.flatnonzero(which == k)
        normal = random_state.standard_normal((len(here), codes.shape[1]))
        codes[here] = mixture.means[k] + normal @ _root(mixture.covariances[k])
    return codes


def _root(covariance, noise=0.0):
    """Return what makes a covariance of independent normals.

    What noise alone may have made of variances is averaged.
    """
    values, vectors = np.linalg.eigh(covariance)
    drowned = values <= noise
    if drowned.any():
        values[drowned] = max(values[drowned].mean(), 0.0)
    return np.sqrt(values)[:, np.newaxis] * vectors.T

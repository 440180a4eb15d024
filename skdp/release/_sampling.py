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
    rows = np.empty((n_samples, release.n_features))
    for c in np.unique(class_indices):
        here = np.flatnonzero(class_indices == c)
        rows[here] = _rows_of_class(release, c, len(here), random_state)
    if release.bounds is not None:
        rows = np.clip(rows, *release.bounds)
    return rows.astype(release.dtype), release.classes[class_indices]


def _rows_of_class(release, c, n, random_state):
    """Return rows of one class: by its mixture in the subspace, and its normal elsewhere."""
    moments, subspace = release.moments, release.subspace
    rows = moments.means[c] + _normal(
        moments.covariance(c), n, random_state, moments.eigenvalue_noise
    )
    if release.mixtures is None:
        return rows
    inside = (rows - subspace.mean) @ subspace.components.T
    codes = _codes_of_class(release.mixtures.select([c]), n, random_state) / subspace.scale
    return rows + (codes - inside) @ subspace.components


def _codes_of_class(mixture, n, random_state):
    which = random_state.choice(len(mixture.weights), n, p=mixture.weights)
    codes = np.empty((n, mixture.means.shape[1]))
    for k in np.unique(which):
        here = np.flatnonzero(which == k)
        codes[here] = mixture.means[k] + _normal(mixture.covariances[k], len(here), random_state)
    return codes


def _normal(covariance, n, random_state, noise=0.0):
    """Return rows of mean zero; what noise alone may have made of variances is averaged."""
    values, vectors = np.linalg.eigh(covariance)
    drowned = values <= noise
    if drowned.any():
        values[drowned] = max(values[drowned].mean(), 0.0)
    return random_state.standard_normal((n, len(values))) * np.sqrt(values) @ vectors.T

"""What an audit looks at in a release of statistics, and along which direction."""

import numpy as np

from skdp.privacy.audit._intervals import area_under_curve

# What of a release is public, whatever the rows are.
_PUBLIC = (
    *("classes", "n_features", "dtype", "guarantee", "label_guarantee", "feature_names"),
    *("bounds", "encoder"),
)
# Floor of the deviation of a statistic, relative to its size: of one without any noise, rounding
# is all that is left (rule of thumb).
_LEAST_NOISE = 1e-9
# Weights of independent noise, in place of the correlations that were found, that are tried: from
# what tells two statistics that say the same apart to no correlations at all (rule of thumb).
_INDEPENDENT = (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0)


def released_statistics(release):
    """Return all numbers of a release that depend on private rows, part by part.

    Of ``moments`` the sums that they are made of, to which a record adds the same whatever the
    other records are, but for noise: counts of the classes, sums of their rows and, where there
    is one covariance matrix for all of them, of the products of two columns over all rows,
    otherwise over those of each class. Of ``subspace`` its mean and the covariance that its
    directions stand for; of ``mixtures`` mean and covariance of each class, in the columns of
    the rows. All other arrays of these, and those of other parts, as they are.

    Parameters
    ----------
    release : Release
        Of statistics.

    Returns
    -------
    statistics : dict of {str: ndarray of shape (n_statistics,)}
        By the name of the part.

    Examples
    --------
    >>> from types import SimpleNamespace as Fields
    >>> moments = Fields(
    ...     class_counts=np.array([2.0, 1.0]),
    ...     effective_sizes=np.array([2.0, 1.0]),
    ...     means=np.array([[1.0], [3.0]]),
    ...     covariances=np.array([[4.0]]),
    ... )
    >>> released_statistics(Fields(moments=moments))["moments"].tolist()
    [2.0, 1.0, 2.0, 3.0, 23.0, 2.0, 1.0]
    """
    parts = {name: part for name, part in vars(release).items() if name not in _PUBLIC}
    found = {}
    for name, part in parts.items():
        if part is not None:
            arrays = {k: a for k, a in vars(part).items() if _is_numbers(a)}
            numbers = _READERS[name](release, arrays) if name in _READERS else arrays.values()
            found[name] = np.concatenate([np.ravel(array) for array in numbers])
    return found


def _is_numbers(array):
    return isinstance(array, np.ndarray) and array.dtype.kind == "f"


def _read_moments(release, arrays):
    counts, means = arrays.pop("class_counts"), arrays.pop("means")
    covariances = arrays.pop("covariances").astype(np.float64)
    rows, columns = np.triu_indices(means.shape[1])
    products = counts[:, np.newaxis] * (covariances + means[:, rows] * means[:, columns])
    if len(covariances) == 1:
        products = products.sum(axis=0)
    return counts, counts[:, np.newaxis] * means, products, *arrays.values()


def _read_subspace(release, arrays):
    components = arrays.pop("components")
    covariance = (components.T * arrays.pop("variances")) @ components
    return covariance[np.triu_indices(len(covariance))], *arrays.values()


def _read_mixtures(release, arrays):
    """Return mean and covariance of each class, however many components it has."""
    mixtures, subspace = release.mixtures, release.subspace
    classes = np.arange(mixtures.class_indices[-1] + 1)
    units = subspace.components / subspace.scale
    numbers = []
    for here in mixtures.class_indices == classes[:, np.newaxis]:
        weights, own = mixtures.weights[here], mixtures.means[here]
        mean = weights @ own
        covariance = np.tensordot(weights, mixtures.covariances[here], 1)
        covariance = covariance + ((own - mean).T * weights) @ (own - mean)
        covariance = units.T @ covariance @ units
        numbers += [subspace.mean + mean @ units, covariance[np.triu_indices(len(covariance))]]
    return numbers


_READERS = {"moments": _read_moments, "subspace": _read_subspace, "mixtures": _read_mixtures}


class BestScore:
    """The weighted sum of statistics that tells most of what a canary adds to them.

    For normal noise of covariance S, whatever is added to the statistics, that is the
    log-likelihood ratio S⁻¹d, d being what the canary adds: the most powerful test of all
    (Neyman and Pearson). Both are estimated, and S is shrunk towards independent noise as far as
    makes what one half of the fits says good for the other half; by the same measure, the area
    under the ROC curve, one part of the release is looked at rather than all of them where that
    tells more.

    Parameters
    ----------
    learned : dict of {str: ndarray of shape (n_fits, 2, n_statistics)}
        What was released without and with the canary, part by part.

    Attributes
    ----------
    parts : tuple of str
        Those that are looked at.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(2000, 2, 2)) * [1.0, 2.0]
    >>> score = BestScore({"sums": noise + [[[0.0, 0.0], [1.0, 4.0]]]})
    >>> bool(abs(score.weights[1] / score.weights[0] - 1.0) < 0.1)
    True
    """

    def __init__(self, learned):
        choices = [tuple(learned)] + [(name,) for name in learned if len(learned) > 1]
        best = -np.inf
        for parts in choices:
            fits = np.concatenate([learned[name] for name in parts], axis=2)
            halves = fits[::2], fits[1::2]
            directions = [_directions(half) for half in halves]
            for part in _INDEPENDENT:
                told = sum(
                    _area(other @ weights(part))
                    for other, weights in zip(halves[::-1], directions, strict=True)
                )
                if told > best:
                    best, self.parts, independent = told, parts, part
        fits = np.concatenate([learned[name] for name in self.parts], axis=2)
        self.weights = _directions(fits)(independent)

    def __call__(self, released):
        """Return the scores of releases, of shape (n_fits, 2)."""
        return np.concatenate([released[name] for name in self.parts], axis=2) @ self.weights


def _area(scores):
    return area_under_curve(scores[:, 1], scores[:, 0])[0]


def _directions(fits):
    """Return a function from the weight of independent noise to S⁻¹d."""
    means = fits.mean(axis=0)
    noise = (fits - means).reshape(-1, fits.shape[2])
    floor = _LEAST_NOISE * np.maximum(np.abs(fits).max(axis=(0, 1)), np.finfo(np.float32).tiny)
    deviations = np.maximum(noise.std(axis=0), floor)
    d = (means[1] - means[0]) / deviations
    # By singular values, as there may be more statistics than fits.
    _, values, axes = np.linalg.svd(noise / deviations, full_matrices=False)
    squares, along = values**2 / len(noise), axes @ d

    def weights(part):
        inside = along * (1 - part) * squares / ((1 - part) * squares + part)
        return (d - inside @ axes) / part / deviations

    return weights

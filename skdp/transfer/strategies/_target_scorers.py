"""The target's own models: fuzzy sets of autoencoders, and mixtures of normal distributions."""

import numpy as np

from skdp.membership import WideCDMMAClassifier
from skdp.release import Mixtures
from skdp.utils._parallel import draw_seeds


class ReconstructionScorer:
    """Minus the squared reconstruction errors of a fitted classifier.

    Parameters
    ----------
    classifier : WideCDMMAClassifier
        Of class indices.
    """

    def __init__(self, classifier):
        self.classifier = classifier

    def scores(self, X):
        """Return minus the squared error of each row and class."""
        return -self.classifier.reconstruction_errors(X)


class MixtureScorer:
    """Log-densities by mixtures of rows without noise, whose labels need not be 0, 1, ….

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_directions)

    labels : ndarray of shape (n_samples,)
        Class indices.

    random_state : RandomState
        Seeds k-means.
    """

    def __init__(self, rows, labels, random_state):
        self._noise = np.zeros(rows.shape[1])
        present = np.unique(labels, return_inverse=True)[1]
        self._mixtures = Mixtures.fit(rows, present, self._noise, random_state)

    def scores(self, X):
        """Return the log-density of each row in each class, up to a constant."""
        return self._mixtures.log_likelihood(X, self._noise)


def reconstruction_fitter(*, inference, subset_size, n_jobs, random_state):
    """Return ``fit(settings, rows, labels)``, which gives a :class:`ReconstructionScorer`.

    Parameters
    ----------
    inference, subset_size, n_jobs
        Of :class:`~skdp.WideCDMMAClassifier`; the same in every round.

    random_state : RandomState
        Seeds k-means.
    """

    def fit(settings, rows, labels):
        classifier = WideCDMMAClassifier(
            settings.n_components,
            settings.n_inducing,
            settings.n_layers,
            inference=inference,
            subset_size=subset_size,
            n_jobs=n_jobs,
            random_state=draw_seeds(random_state),
        )
        return ReconstructionScorer(classifier.fit(rows, labels))

    return fit


def mixture_fitter(random_state):
    """Return ``fit(settings, rows, labels)``, which gives a :class:`MixtureScorer`."""
    return lambda settings, rows, labels: MixtureScorer(rows, labels, random_state)

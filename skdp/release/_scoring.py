"""What a release says of rows by itself: by its linear scores, its classifier or its mixtures."""

from scipy.special import softmax


def class_scores(release, rows):
    """Return a score for each row and class, larger is likelier.

    Parameters
    ----------
    release : Release

    rows : ndarray of shape (n_samples, n_features)
        In the release's own features.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_classes)
        Log-posteriors, up to a constant for each row; minus squared reconstruction errors where
        a classifier scores, which is where nothing is linear.

    Raises
    ------
    ValueError
        When no part of the release scores rows.
    """
    if release.linear is not None:
        return release.linear.scores(rows)
    if release.classifier is not None:
        return -release.classifier.reconstruction_errors(_codes(release, rows))
    if release.mixtures is not None:
        frequencies = release.moments.frequencies
        return release.mixtures.log_posteriors(_codes(release, rows), frequencies)
    raise ValueError(
        "This release has no classifier of its own. Learn from it with DPTransferClassifier, or "
        "ask its owner for one that has."
    )


def class_probabilities(release, rows):
    """Return class probabilities, see :func:`class_scores`."""
    if release.linear is None and release.classifier is not None:
        return release.classifier.predict_proba(_codes(release, rows))
    return softmax(class_scores(release, rows), axis=1)


def _codes(release, rows):
    return rows if release.subspace is None else release.subspace.encode(rows)

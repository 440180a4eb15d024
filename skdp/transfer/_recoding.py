"""Labels and tables as meta-estimators hand them on: recoded, or not as numbers."""

# What numbers instead of classes may mean; for an error.
RECODED = (
    "OneVsRestClassifier, OneVsOneClassifier, VotingClassifier, BaggingClassifier and "
    "CalibratedClassifierCV(ensemble=False) number the labels 0, 1, ..., and count marks of "
    "unlabelled rows as labels. DPTransferClassifier takes many classes itself; fit it first, and "
    "give FrozenEstimator(fitted) and labelled rows to those that can do with a fitted one."
)


def are_codes(labels):
    """Return whether labels are the numbers 0, 1, ..., at least two of them.

    Parameters
    ----------
    labels : list
        Different labels, sorted.

    Returns
    -------
    codes : bool

    Examples
    --------
    >>> from skdp.transfer._recoding import are_codes
    >>> are_codes([0, 1, 2]), are_codes([1, 2]), are_codes(["a", "b"])
    (True, False, False)
    """
    return len(labels) > 1 and labels == list(range(len(labels)))


def refuse_binary_codes(labels, source_classes):
    """Raise ValueError where a meta-estimator made two classes, 0 and 1, of those of a source.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Of all rows, none of which is unlabelled.

    source_classes : ndarray of shape (n_classes,)
    """
    known = source_classes.tolist()
    if len(known) > 2 and {0, 1} <= set(known) and set(labels.tolist()) == {0, 1}:
        raise ValueError(
            f"All rows in y are labelled 0 or 1, while the source has the classes {known}: these "
            f"may be no classes, but what a meta-estimator made of them. {RECODED} If the target "
            "has the classes 0 and 1 alone, leave a row without a label (None)."
        )


def refuse_text(X, releases, error):
    """Raise ValueError where text is why rows could not be read.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.

    releases : list of Release

    error : ValueError
        What reading them raised.
    """
    names = next((list(each.encoder.names) for each in releases if each.encoder), None)
    if names and not hasattr(X, "columns") and "could not convert" in str(error):
        raise ValueError(
            "X is an array with text, and the release has a schema, whose columns are found by "
            f"their names. Pass a DataFrame with the columns {names!r:.300}."
        ) from error
    if names:
        return
    columns = getattr(X, "columns", ())
    text = [name for name in columns if any(isinstance(value, str) for value in X[name])]
    if text:
        raise ValueError(
            f"The columns {text} of X hold text, and there is no release with an encoder for "
            "them. Encode rows beforehand: by a TabularEncoder(schema) in front, in a pipeline, "
            "which serves source=None and a release in one search."
        ) from error

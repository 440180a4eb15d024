"""Which rows are unlabelled, what the labelled ones name, and whether a release fits them."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.release import Release
from skdp.transfer._columns import far_columns, unseen_columns
from skdp.transfer._recoding import RECODED, are_codes, refuse_binary_codes
from skdp.utils._labels import natural_labels, scorable_labels, unlabelled_rows
from skdp.utils._validation import check_magnitude
from skdp.utils._warnings import warn

# What NumPy makes of marks in a list of text.
_MARKS_AS_TEXT = {"-1", "nan", "None", "<NA>"}
_AS_OBJECTS = "If NumPy turned marks into text, make y an array of dtype object."


def validate_training(estimator, matching, X, y):
    """Return rows, classes, and class indices with −1 for what is unlabelled.

    What marks an unlabelled row is the rule of :func:`unlabelled_rows`, with a release or not.
    The classes are those of the releases where these have log-posteriors of all (statistics and
    tables), or fewer than two classes are labelled; otherwise those that have a label. They are
    sorted, as the classes of all of scikit-learn's classifiers: its metrics rely on it.

    Raises
    ------
    ValueError
        When rows or labels are none that can be learned from.
    """
    releases = matching.releases
    if y is None and not releases:
        validate_data(estimator, X, y)  # raises, as all of scikit-learn does
    X = matching.rows(estimator, X, reset=True)
    y = np.full(len(X), None) if y is None else column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    check_magnitude(X, "X")
    classes = [label for release in releases for label in release.classes.tolist()]
    unlabelled = unlabelled_rows(y, estimator.unlabeled, classes if releases else None)
    if not releases:
        _warn_of_marks_as_text(y[~unlabelled])
    elif not unlabelled.any():
        refuse_binary_codes(y, releases[0].classes)
    elif unlabelled.all() and _learn_without_labels(estimator, releases):
        return X, np.sort(releases[0].classes), np.full(len(X), -1)
    if releases and estimator.strategy == "noise_aware" and _know_more(releases, y[~unlabelled]):
        return X, *_encode_known(y, unlabelled, np.sort(releases[0].classes))
    return X, *encode_labels(estimator, y, unlabelled)


def _know_more(releases, labels):
    """Return whether classes without a label stay possible, as the releases know them.

    They do where all releases have log-posteriors of the same classes; and with any moments
    where one class alone is labelled.
    """
    lists = [set(release.classes.tolist()) for release in releases]
    if any(release.moments is None for release in releases) or any(k != lists[0] for k in lists):
        return False
    ready = all(each.moments.of_statistics or each.linear is not None for each in releases)
    return ready or len(np.unique(natural_labels(labels))) == 1


def _encode_known(y, unlabelled, classes):
    """Return all classes of a source, and class indices with −1 where unlabelled."""
    given, known = np.unique(natural_labels(y[~unlabelled]), return_inverse=True)
    labels = np.full(len(y), -1)
    labels[~unlabelled] = np.array(match_classes(given, classes))[known]
    return classes, labels


def _learn_without_labels(estimator, releases):
    """Return whether releases say enough for a target without labels.

    Raises
    ------
    ValueError
        When they differ in their classes, of which none is named.
    """
    lists = [release.classes.tolist() for release in releases]
    if any(set(found) != set(lists[0]) for found in lists):
        raise ValueError(
            f"The sources have the classes {' and '.join(map(str, lists))}, and no row is "
            "labelled: label one row of each class that the target has, and that all sources have."
        )
    densities = all(release.moments is not None for release in releases)
    return densities and estimator.strategy == "noise_aware"


def _warn_of_marks_as_text(labels):
    """Warn where labels of text name what NumPy makes of marks: they may be classes."""
    texts = {label for label in labels.tolist() if isinstance(label, str)}
    found = sorted(texts & _MARKS_AS_TEXT)
    if found and not all(text.lstrip("-").isdigit() for text in texts):
        warn(f"The labels {found} in y count as classes. {_AS_OBJECTS}")


def encode_labels(estimator, y, unlabelled):
    """Return the classes of the labelled rows, and class indices with −1 where unlabelled.

    Raises
    ------
    ValueError
        When there are fewer than two classes.
    """
    given = natural_labels(y[~unlabelled])
    if given.size:
        check_classification_targets(given)
    classes, known = np.unique(given, return_inverse=True)
    n_classes = len(classes)
    if n_classes < 2:
        raise ValueError(
            f"The 'y' parameter of {type(estimator).__name__}.fit must name at least two classes, "
            f"got {n_classes} class{'es'[: 2 - 2 * n_classes]} {classes.tolist()} and "
            f"{unlabelled.sum()} unlabelled rows (unlabeled={estimator.unlabeled!r}). Label at "
            "least one row of each class."
        )
    labels = np.full(len(y), -1)
    labels[~unlabelled] = known
    return classes, labels


class LabeledScoreMixin(ClassifierMixin):
    """A classifier whose score refuses rows that are marked as unlabelled."""

    def score(self, X, y, sample_weight=None):
        """Return the accuracy on labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Target rows.

        y : array-like of shape (n_samples,)
            Their labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        accuracy : float

        Raises
        ------
        ValueError
            When a row is marked as unlabelled: no score can be right or wrong about it.
        """
        check_is_fitted(self)
        where = f"{type(self).__name__}.score"
        y = scorable_labels(y, where, self.unlabeled, self.classes_.tolist())
        return super().score(X, y, sample_weight)


def match_classes(classes, source_classes):
    """Return the index of each class among those of the source.

    Raises
    ------
    ValueError
        When the source lacks one. Classes that only the source has are no error.
    """
    known = source_classes.tolist()
    unknown = [label for label in classes.tolist() if label not in known]
    if unknown:
        remedy = (
            "Mark unlabelled rows by -1 or None (or say which value marks them with the "
            "'unlabeled' parameter), spell classes as the source does, and leave out rows of "
            "classes that it does not have."
        )
        if are_codes(classes.tolist()):
            remedy += f" {RECODED}"
        if set(unknown) & _MARKS_AS_TEXT:
            remedy = _AS_OBJECTS
        raise ValueError(
            f"The labels {unknown} in y are not among the classes of the source: {known}. {remedy}"
        )
    return [known.index(label) for label in classes.tolist()]


def check_columns(target, matching, X, labelled):
    """Raise ValueError unless the columns of a target can be carried to those of its releases.

    Equally many columns of other names are refused, and so is a release without the alignment,
    or a target without any label, where nothing else says how. Rows in other units warn, see
    :meth:`Release.encode` and :func:`far_columns`.
    """
    for release in matching.releases:
        shared = X if matching.n_shared is None else X[:, : matching.n_shared]
        if shared.shape[1] != release.n_features:
            _check_alignment(release, shared.shape[1], labelled)
            continue
        if matching.names is None:
            _check_names(release, list(getattr(target, "feature_names_in_", ())))
        if release.alignment is None and release.moments is None:
            _check_alignment(release, shared.shape[1], labelled)
        if not matching.is_raw:  # else it was encoded, with a warning
            release.encode(shared)
        if release.moments is not None:
            _warn_of_far_columns(release, shared)


def _check_alignment(release, n_columns, labelled):
    if not labelled:
        raise ValueError(
            f"The target has {n_columns} columns and labels of one class at most, the release has "
            f"{release.n_features}: nothing says how to carry one to the other. Label a row of "
            "each class, or use the columns of the source."
        )
    if release.alignment is None:
        raise ValueError(
            f"This release of {release.n_features} columns has no alignment, without which "
            f"{n_columns} columns of the target cannot be carried to them. Ask its "
            "owner for a release that has one, as all those of DPSource have."
        )


def _check_names(release, names):
    known = [] if release.feature_names is None else release.feature_names.tolist()
    if known and names and names != known:
        raise ValueError(
            f"Source and target both have {release.n_features} columns, but they are called "
            f"{known} and {names}. As many columns must be the same columns: rename those of X, "
            "or pass a plain array if they mean the same, in the same order."
        )


def _warn_of_far_columns(release, X):
    """Warn of columns in which the target lies where the source has hardly any rows."""
    far, unseen = far_columns(release.moments, X), unseen_columns(release.moments, X)
    if far.any():
        left_out = f" What the source says of {_named(release, unseen)!r:.300} is left out."
        warn(
            f"The columns {_named(release, far)!r:.300} of X lie where the source has hardly any "
            "rows. If they are in other units, or scaled in another way, bring them to those of "
            "the source. If not, these are records of another kind than the source's."
            f"{left_out if unseen.any() else ''}",
        )


def _named(release, chosen):
    """Return the names of encoded columns, as the table has them; their numbers without names."""
    names = np.arange(len(chosen)) if release.feature_names is None else release.feature_names
    columns = () if release.encoder is None else release.encoder.columns
    raw = {name: column.name for column in columns for name in column.encoded_names}
    return list(dict.fromkeys(raw.get(name, name) for name in names[chosen].tolist()))


def as_releases(source, strategy):
    """Return the releases that were given as a source: none, one or a list of them.

    Raises
    ------
    ValueError
        One of them is no release, see :func:`as_release`; the list is empty; or there are
        several for a strategy of the papers, or ones that cannot be weighed.
    """
    if not isinstance(source, list | tuple):
        source = [] if source is None else [source]
    elif not len(source):
        raise ValueError(
            "The 'source' parameter of DPTransferClassifier is an empty list. Name a release at "
            "least, or None to learn from the target alone."
        )
    releases = [as_release(each, strategy) for each in source]
    if len(releases) > 1 and strategy != "noise_aware":
        raise ValueError(
            f"The 'strategy' parameter of DPTransferClassifier is {strategy!r}, which takes one "
            f"source, got {len(releases)}. Use strategy='noise_aware'."
        )
    without = [k for k, release in enumerate(releases) if release.moments is None]
    if len(releases) > 1 and without:
        raise ValueError(
            f"Several sources are weighed by their moments, which source {without[0]} does not "
            "have. Ask its owner for a release that has."
        )
    if len({release.encoder.columns for release in releases if release.encoder is not None}) > 1:
        raise ValueError(
            "The 'source' parameter of DPTransferClassifier holds releases of tables that are "
            "encoded by other schemas, so that the same row has several codes. Combine releases "
            "of the same columns, bounds and categories."
        )
    return releases


def summed_guarantee(guarantees):
    """Return what releases guarantee together about a person whose rows are in all of them.

    Parameters
    ----------
    guarantees : list of PrivacyGuarantee

    Returns
    -------
    guarantee : PrivacyGuarantee, tuple of PrivacyGuarantee, or None
        Their sum. Those about different neighbours have no sum: they are returned as they are,
        and each holds for the rows of its own source alone.
    """
    if not guarantees:
        return None
    try:
        return sum(guarantees[1:], start=guarantees[0])
    except ValueError:
        return tuple(guarantees)


def as_release(source, strategy):
    """Return the release that was given as a source.

    Raises
    ------
    ValueError
        It is neither a release nor a fitted source; or a release without the parts that the
        strategy needs.

    sklearn.exceptions.NotFittedError
        It is a source that is not fitted.
    """
    if hasattr(source, "fit") and not isinstance(source, type):
        check_is_fitted(
            source,
            msg="This %(name)s is not fitted, so that there is no release to learn from. Fit it, "
            "and pass its release_: a search clones a source, and its clones are not fitted.",
        )
    release = getattr(source, "release_", source)
    if not isinstance(release, Release):
        raise ValueError(
            "The 'source' parameter of DPTransferClassifier must be a Release, a fitted source, a "
            f"list of these or None, got {type(source).__name__}. Read the file of a release with "
            "Release.load(path)."
        )
    if strategy != "noise_aware" and None in (release.row_classifier, release.alignment):
        raise ValueError(
            f"The 'strategy' parameter of DPTransferClassifier is {strategy!r}, which compares "
            "reconstructions of whole rows, but this release has no classifier of whole rows: "
            "its own reads denoised codes. Use strategy='noise_aware', or ask for a release of "
            "DPSource(parts='papers') or DPSource(parts='all')."
        )
    return release

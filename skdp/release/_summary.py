"""A few lines for humans: what a release is, and what it guarantees."""

import numpy as np

from skdp.release._values import elements_per_record, elements_per_value, value_guarantee
from skdp.utils._validation import inline

# Area under the curve below which two classes are not told apart: the scores of two random rows,
# one of each, are in the wrong order more than 45 times of a hundred (rule of thumb).
_LEAST_AUC = 0.55
# Most pairs of classes that are listed one by one.
_MAX_PAIRS = 3


def describe(release):
    """Return the text of :meth:`Release.summary`."""
    labels = ", ".join(_labels(release))
    contents = ("\n" + " " * 14).join(_contents(release))
    both = release.record_guarantee
    covered = both is release.guarantee
    together = "no guarantee of a record with its label: labels not protected"
    if both is not None:
        together = (
            f"({both.epsilon:g}, {both.delta:g})-differential privacy per {both.unit}, all "
            "features of a row and its label"
        )
    return (
        f"Release of a private source: {len(release.classes)} classes ({labels}), "
        f"{release.n_features} features\n"
        f"  holds:      {contents}\n"
        f"{_left_out(release)}"
        f"{_told_apart(release)}"
        f"  guarantee:  {release.guarantee}\n"
        f"{_about_values(release)}"
        f"  labels:     {_about_labels(release, covered)}\n"
        f"  together:   {together}"
    )


def _labels(release):
    return [inline(str(label)) for label in release.classes.tolist()]


def _about_labels(release, covered):
    if covered:
        return "protected together with the features"
    return release.label_guarantee or "not protected"


def _about_values(release):
    """Return lines about one value and one record of a table, whose encoding has more elements."""
    value = value_guarantee(release.guarantee, release.encoder)
    if value is release.guarantee:
        return ""
    p, k = release.guarantee.n_features, elements_per_value(release.encoder)
    n = elements_per_record(release.encoder, p)
    record = release.guarantee.to_record(n)
    return (
        f"  a value:    ({value.epsilon:g}, {value.delta:g})-differential privacy per value of "
        f"the table, which moves {k} encoded element{'s' * (k > 1)} at most\n"
        f"  a row:      ({record.epsilon:g}, {record.delta:g})-differential privacy per row of "
        f"the table, which moves {n} of {p} encoded elements at most\n"
    )


def _left_out(release):
    """Return a line about features that a guarantee is about and the release is not."""
    n_left_out = release.guarantee.n_features - release.n_features
    if not n_left_out:
        return ""
    return (
        f"  restricted: {n_left_out} other features were left out, which the guarantee is about "
        "too\n"
    )


def _told_apart(release):
    """Return a line about pairs of classes, by linear scores that know it."""
    expected = None if release.linear is None else release.linear.expected_auc
    if expected is None:
        return ""
    labels = _labels(release)
    pairs = np.triu_indices(len(labels), 1)
    areas = expected[pairs]
    if areas.max() < _LEAST_AUC:
        phrase = "nothing: noise leaves no difference between classes"
    elif len(areas) <= _MAX_PAIRS:
        phrase = "; ".join(
            f"{labels[a]} and {labels[b]}, AUC about {area:.2f}"
            if area >= _LEAST_AUC
            else f"{labels[a]} and {labels[b]} not"
            for a, b, area in zip(*pairs, areas, strict=True)
        )
    else:
        least = int(np.argmin(areas))
        worst = " and ".join(labels[side[least]] for side in pairs)
        phrase = (
            f"pairs of classes, AUC about {np.median(areas):.2f} in the median, "
            f"{areas[least]:.2f} at least ({worst})"
        )
    return f"  separates:  {phrase}\n"


def _contents(release):
    """Yield a phrase for each part that there is."""
    own = "noisy" if release.subspace is None else "denoised"
    kinds = {own: release.classifier}
    if release.row_classifier is not release.classifier:
        kinds["noisy"] = release.row_classifier
    for rows, classifier in kinds.items():
        if classifier is not None:
            subsets = [a for group in classifier.autoencoders_by_class() for a in group]
            depth = len(subsets[0].precisions_)
            yield f"{len(subsets)} autoencoders (depth {depth}) of {rows} rows"
    if release.moments is not None:
        yield "moments of each class"
    if release.mixtures is not None:
        yield f"{len(release.mixtures.weights)} normal distributions"
    if release.linear is not None:
        yield "linear scores"

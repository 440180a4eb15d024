"""What a release guarantees and holds, in plain words."""

from math import ceil, inf

from scipy.special import expit

from skdp.utils._validation import inline

_PROTECTED = {
    "element": "One single value of one row. A whole row is protected far less; see below.",
    "record": "One row with all its columns, but not its label.",
    "label": "The label of one row, and nothing else of it.",
    "labelled record": "One record: all columns of one row, and its label.",
    "group": "One person: all rows of a person, with their labels.",
}
_NOUNS = {
    "element": "the value",
    "record": "the row",
    "label": "the label",
    "labelled record": "the record",
    "group": "the person",
}
_HIDDEN = "Whether {} is in the data at all is protected too, and so is the number of rows."
_COUNTED = "The number of rows is not protected."
# Area under the curve from which classes are told apart; rule of thumb, that of Release.summary.
_LEAST_AUC = 0.55


def statements(release):
    """Return what a data-protection officer asks about a release, with the answers.

    Parameters
    ----------
    release : Release

    Returns
    -------
    answers : dict of str to str
    """
    guarantee = release.guarantee
    added, noun = guarantee.relation == "add/remove", _NOUNS[guarantee.unit]
    number = _HIDDEN.format(noun) if added else _COUNTED
    return {
        "What is in the file": _contents(release),
        "What is protected": f"{_PROTECTED[guarantee.unit]} {number}",
        "How well": _how_well(guarantee, noun),
        "If it is known to be there": _replaced(guarantee, noun) if added else "",
        "A whole record": _whole_record(release),
        "Labels": _labels(release),
        "Covered": inline(guarantee.covers) + ".",
        "Not covered": inline(guarantee.excludes) + ".",
        "What must hold": (
            "Columns, bounds, categories and classes were known without a look at the rows, and "
            "nothing else was released of the same rows: every further release adds to the loss, "
            "and a ledger keeps the account. Whatever is computed from the file, by anybody, adds "
            "nothing."
        ),
    }


def success(guarantee):
    """Return how often somebody guesses right, at most, which of two neighbours was used.

    With both equally likely beforehand, and whatever else is known,

    .. math:: (e^ε + δ) / (e^ε + 1)

    (Kairouz, Oh and Viswanath, 2015).

    Examples
    --------
    >>> from skdp.privacy import Mechanism, PrivacyGuarantee
    >>> success(PrivacyGuarantee("m", [Mechanism("any", 0.0)], 1.0, 1, "c", "e"))
    0.5
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta
    return float(expit(epsilon) + delta * expit(-epsilon))


def noisy_counts(release):
    """Return a line with the rows of each class as the release has them, or none."""
    counts = class_counts(release)
    if counts is None:
        return []
    own = ", ".join(f"{inline(str(c))} {n:,}" for c, n in counts.items())
    what = "persons" if release.guarantee.unit == "group" else "rows"
    noisy = release.moments.of_statistics
    note = "noisy; these may be shown" if noisy else "as the release has them"
    return [f"{what} of each class ({note}): {own}"]


def class_counts(release):
    """Return the rows of each class as the release has them, or None."""
    if release.moments is None:
        return None
    counts = [round(float(count)) for count in release.moments.class_counts]
    return dict(zip(release.classes.tolist(), counts, strict=True))


def separation(release):
    """Return a line that says how well the release expects to tell two classes apart, or none."""
    areas = None if release.linear is None else release.linear.expected_auc
    if areas is None or len(release.classes) != 2:
        return []
    return [f"expected area under the ROC curve on rows like these: {areas[0, 1]:.2f} (0.5: none)"]


def is_empty(release):
    """Return whether a release tells no two classes apart, as far as it knows itself."""
    areas = None if release.linear is None else release.linear.expected_auc
    return areas is not None and bool(areas.max() < _LEAST_AUC)


def _contents(release):
    names = ", ".join(inline(str(label)) for label in release.classes.tolist())
    columns = f"{release.n_features} columns"
    if release.encoder is not None:
        columns = f"{len(release.encoder.names)} columns ({release.n_features} when encoded)"
    return (
        "No rows and no program: numbers that were computed from the rows with noise, and what "
        f"is public: {columns}, and the classes {names}."
    )


def _how_well(guarantee, noun):
    if guarantee.epsilon == inf:
        return "Not at all: epsilon is infinite, so that no noise was added."
    slack = f", delta = {guarantee.delta:g}" if guarantee.delta else ""
    which = (
        f"whether {noun} is in the data"
        if guarantee.relation == "add/remove"
        else f"which of two versions of {noun} is in the data"
    )
    return (
        f"epsilon = {guarantee.epsilon:g}{slack}. Somebody who knows everything else "
        f"guesses {which}, both being equally likely: without the file this is right in 50% of "
        f"cases, and with it in at most {_percent(success(guarantee))}."
    )


def _replaced(guarantee, noun):
    replaced = guarantee.to_replace_one()
    if replaced.epsilon == inf:
        return "Nothing is protected."
    return (
        f"epsilon = {replaced.epsilon:g}, delta = {replaced.delta:g}. The guess which of two "
        f"versions of {noun} is in the data is right in at most {_percent(success(replaced))} of "
        "cases."
    )


def _whole_record(release):
    if release.guarantee.unit != "element":
        return ""
    record = release.guarantee.to_record()
    return (
        f"All {record.n_features} values of a row together: epsilon = {record.epsilon:g}, delta = "
        f"{record.delta:g}, right in at most {_percent(success(record))} of guesses."
    )


def _labels(release):
    if release.guarantee.unit in {"labelled record", "group"}:
        return "Protected together with the columns."
    own = release.label_guarantee
    if own is None:
        return "Not protected: they were used as they are."
    return (
        f"Protected by themselves: epsilon = {own.epsilon:g}, delta = {own.delta:g}, right in at "
        f"most {_percent(success(own))} of guesses."
    )


def _percent(share):
    """Return a share as a percentage, rounded upwards."""
    return f"{ceil(share * 1000 - 1e-9) / 10:g}%"

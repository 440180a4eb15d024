"""Which data sets are neighbours: units, relations, and what they are called."""

from math import expm1

# Greatest argument of exp that float64 holds, rounded down.
_MOST_EXPONENT = 700.0
UNITS = ("element", "value", "record", "label", "labelled record", "group")
RELATIONS = ("replace-one", "add/remove")
# Units that hold all of a record, its label too, each with its name in a sentence. Only these can
# be added or removed: what is left without one of the others is no data set.
WHOLE = {
    "labelled record": "one record (with its label)",
    "group": "one group of rows (one person)",
}


def check_relation(unit, relation, sensitivity):
    """Check that a unit can be added and removed, where it is.

    Parameters
    ----------
    unit, relation : str
        Of a guarantee.

    sensitivity : float or None
        Of a guarantee.

    Raises
    ------
    ValueError
        When it cannot, or is said to move by a distance only.
    """
    if relation == "replace-one":
        return
    if unit not in WHOLE:
        raise ValueError(
            f"The 'relation' of PrivacyGuarantee is {relation!r} with unit={unit!r}, which can "
            f"only be replaced. Use unit={' or unit='.join(map(repr, WHOLE))}."
        )
    if sensitivity is not None:
        raise ValueError(
            f"The 'sensitivity' of PrivacyGuarantee must be None with relation={relation!r}, got "
            f"{sensitivity:g}: what is added or removed may have any values."
        )


def describe_neighbours(guarantee):
    """Return the neighbouring relation as a text.

    Parameters
    ----------
    guarantee : PrivacyGuarantee

    Returns
    -------
    text : str
    """
    unit, d = guarantee.unit, guarantee.sensitivity
    if guarantee.relation == "add/remove":
        return f"two data sets, one of which has {WHOLE[unit]} more"
    if unit == "label":
        return "two lists of labels that differ in one label"
    if unit == "group":
        return f"two data sets that differ in {WHOLE[unit]}, in its labels too"
    where = unit if unit in {"element", "value"} else "record"
    if d is None:
        how = ", anywhere within the bounds"
    else:
        how = f"{'' if unit == 'element' else ', each element'} by at most {d:g}"
    label = ", and in its label" if unit == "labelled record" else ""
    what = "tables" if unit == "value" else "data matrices"
    return f"two {what} that differ in one {where}{how}{label}"


def describe_replaced(guarantee, replaced):
    """Return a line that says what replacing a unit, in place of removing it, comes to.

    Parameters
    ----------
    guarantee, replaced : PrivacyGuarantee
        One with ``relation="add/remove"``, and its :meth:`~PrivacyGuarantee.to_replace_one`.

    Returns
    -------
    line : str
    """
    return (
        f"  replaced:   ({replaced.epsilon:g}, {replaced.delta:g}), {WHOLE[guarantee.unit]} in "
        "place of another\n"
    )


def replaces_at_will(guarantee):
    """Return whether it is about whole records that may become any others.

    Such a guarantee holds for neighbours of every smaller step too, and does not depend on how
    many columns a record has.
    """
    return guarantee.unit in WHOLE and guarantee.sensitivity is None


def common_step(first, second):
    """Return how far a record may move where two guarantees hold, as fields of their sum.

    Parameters
    ----------
    first, second : PrivacyGuarantee
        That can be added.

    Returns
    -------
    fields : dict
        ``sensitivity`` and ``n_features``.
    """
    if replaces_at_will(first) and replaces_at_will(second):
        return {"sensitivity": None, "n_features": max(first.n_features, second.n_features)}
    narrower = second if replaces_at_will(first) else first
    return {"sensitivity": narrower.sensitivity, "n_features": narrower.n_features}


def group_delta(epsilon, delta, k):
    """Return δ of k changes one after the other: δ + e^ε δ + … + e^{(k − 1)ε} δ.

    Parameters
    ----------
    epsilon, delta : float
        Of one change.

    k : int
        How many.

    Returns
    -------
    delta : float
        At most 1.

    Examples
    --------
    >>> group_delta(0.0, 0.125, 2)
    0.25
    """
    if delta == 0:
        return 0.0
    if k * epsilon > _MOST_EXPONENT:
        return 1.0
    return min(1.0, delta * (expm1(k * epsilon) / expm1(epsilon) if epsilon else k))

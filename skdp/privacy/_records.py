"""What is guaranteed about a whole record with its label."""

from dataclasses import replace

from skdp.privacy._neighbours import WHOLE


def record_guarantee(guarantee, label_guarantee, n_elements=None):
    """Return what features and label of a record are guaranteed together.

    Somebody whose whole row is private, with its label, is covered by neither guarantee alone:
    two neighbours may differ in all elements of one row *and* in its label. Both mechanisms
    draw their own noise, so they add up by basic composition: (ε of a record + ε of a label,
    δ of a record + δ of a label), with the record's from :meth:`PrivacyGuarantee.to_record`,
    which is exact for Gaussian noise.

    Parameters
    ----------
    guarantee : PrivacyGuarantee or None
        Of the features, per element or per record; or of features and labels together, per
        labelled record or per group, as statistics of both have it.

    label_guarantee : PrivacyGuarantee or None
        Of the labels; None in the latter case, which has them already.

    n_elements : int or None, default=None
        How many elements of a row one record moves at most, with a guarantee per element: of
        indicators of one category no more than two change. None stands for all of them.

    Returns
    -------
    joint : PrivacyGuarantee or None
        With ``unit="labelled record"``; ``guarantee`` itself where it is about labels too. None
        where either is None otherwise: what is released as it is has no guarantee, and neither
        has a record with it.

    Raises
    ------
    ValueError
        When the guarantees are about other units, or both of them about the labels.

    Examples
    --------
    >>> from skdp import OptimalDPNoise, RandomizedResponse
    >>> from skdp.privacy import record_guarantee
    >>> features = OptimalDPNoise(2.0, 0.0, privacy_unit="record").fit([[0.0, 1.0]]).guarantee_
    >>> labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    >>> joint = record_guarantee(features, labels)
    >>> joint.epsilon, joint.delta, joint.unit
    (3.0, 0.0, 'labelled record')
    """
    if guarantee is not None and guarantee.unit in WHOLE:
        if label_guarantee is not None:
            raise ValueError(
                f"The 'label_guarantee' parameter must be None with a guarantee per "
                f"{guarantee.unit}, which is about its labels too. Labels that are released again "
                "are a release of their own: add it in a PrivacyLedger."
            )
        return guarantee
    for name, given, units in (
        ("guarantee", guarantee, ("element", "record")),
        ("label_guarantee", label_guarantee, ("label",)),
    ):
        if given is not None and given.unit not in units:
            raise ValueError(
                f"The {name!r} parameter must be per {' or '.join(units)}, got one per "
                f"{given.unit}."
            )
    if guarantee is None or label_guarantee is None:
        return None
    record = replace(guarantee.to_record(n_elements), n_features=guarantee.n_features)
    same = {"unit": "record", "sensitivity": record.sensitivity, "n_features": record.n_features}
    return replace(
        record + replace(label_guarantee, **same),
        unit="labelled record",
        mechanism=f"the {guarantee.mechanism} noise and {label_guarantee.mechanism}",
        covers=f"{guarantee.covers}, and {label_guarantee.covers}",
        excludes=f"apart from each other, {guarantee.excludes}; {label_guarantee.excludes}",
    )

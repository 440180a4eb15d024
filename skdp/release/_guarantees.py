"""The guarantee of a release: its validation, and its form for values and records of a table."""

from dataclasses import replace

from skdp.privacy import PrivacyGuarantee
from skdp.release._parts import require
from skdp.tabular import fitted_encoder

# Units of a guarantee about features.
FEATURE_UNITS = {"element", "record"}


def check_guarantee(guarantee, name, units, n_features, *, at_least=False):
    """Raise ValueError unless this is a guarantee that a release may have."""
    require(isinstance(guarantee, PrivacyGuarantee), name, "must be a PrivacyGuarantee")
    require(guarantee.epsilon > 0, name, "must have an epsilon > 0")
    require(guarantee.delta < 1, name, "must have a delta below 1")
    require(guarantee.unit in units, name, f"must be per {' or '.join(sorted(units))}")
    about = guarantee.n_features == n_features or (at_least and guarantee.n_features > n_features)
    more = " or more" * at_least
    require(about, name, f"must be about {n_features} features{more}")


def value_guarantee(guarantee, schema):
    """Return the guarantee for one value of a table, from that for its encoded rows.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        For elements of the encoded rows, or for whole records.

    schema : Schema or None
        By which the table was encoded.

    Returns
    -------
    guarantee : PrivacyGuarantee
        With ``unit="value"``; the given one where it is about whole records, or there is no
        schema.

    Examples
    --------
    >>> from skdp.noise import OptimalDPNoise
    >>> from skdp.release import value_guarantee
    >>> from skdp.tabular import as_schema
    >>> schema = as_schema({"ward": {"type": "category", "categories": ["A", "B", "C"]}})
    >>> guarantee = OptimalDPNoise(epsilon=2.0, bounds=(0, 1)).fit([[0.0, 1.0, 0.0]]).guarantee_
    >>> value_guarantee(guarantee, schema).epsilon
    4.0
    """
    if schema is None or guarantee.unit != "element":
        return guarantee
    of_value = guarantee.to_value(elements_per_value(schema))
    return replace(of_value, covers="the values of the table that the source was fitted to")


def elements_per_value(schema):
    """Return the largest number of elements of an encoded row that one value changes."""
    return fitted_encoder(schema).elements_per_change_


def elements_per_record(schema, n_features):
    """Return the largest number of elements of an encoded row that one record changes.

    Each column changes one element; two where it is encoded as indicators, one of which replaces
    another, or where there is an indicator of missing values.

    Parameters
    ----------
    schema : Schema or None
        By which the table was encoded.

    n_features : int
        Number of elements of an encoded row, at least those of the schema: a restricted release
        does not know how the others were encoded, and counts all of them.

    Returns
    -------
    n_elements : int
        ``n_features`` without a schema.

    Examples
    --------
    >>> from skdp.release import elements_per_record
    >>> from skdp.tabular import as_schema
    >>> schema = as_schema(
    ...     {
    ...         "age": {"type": "numeric", "low": 0, "high": 100},
    ...         "ward": {"type": "category", "categories": ["A", "B", "C", "D"]},
    ...     }
    ... )
    >>> elements_per_record(schema, 5)
    3
    """
    if schema is None:
        return n_features
    others = n_features - len(schema.encoded_names)
    return others + sum(1 + (column.missing or column.is_one_hot) for column in schema.columns)

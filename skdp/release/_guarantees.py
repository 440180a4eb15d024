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
    """Return the guarantee for one value of a table, from that for its encoded rows."""
    if schema is None or guarantee.unit != "element":
        return guarantee
    of_value = guarantee.to_value(elements_per_value(schema))
    return replace(of_value, covers="the values of the table that the source was fitted to")


def elements_per_value(schema):
    """Return the largest number of elements of an encoded row that one value changes."""
    return fitted_encoder(schema).elements_per_change_


def elements_per_record(schema, n_features):
    """Return the largest number of elements of an encoded row that one record changes."""
    # Each column changes one element; two where it is encoded as indicators, one of which replaces
    # another, or where there is an indicator of missing values.
    if schema is None:
        return n_features
    others = n_features - len(schema.encoded_names)
    return others + sum(1 + (column.missing or column.is_one_hot) for column in schema.columns)

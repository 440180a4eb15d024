"""Public properties of a release: validation, guarantee, and the file around a model."""

from dataclasses import replace

import numpy as np

from skdp.privacy import (
    WHOLE,
    PrivacyGuarantee,
    pack_guarantee,
    record_guarantee,
    unpack_guarantee,
)
from skdp.release._model import Model
from skdp.release._parts import LARGEST, check_shape, largest_magnitude, require
from skdp.release._principal_model import PrincipalModel, RowsModel
from skdp.release._table_model import TableModel
from skdp.tabular import Outcome, Schema, fitted_encoder, outcome_of
from skdp.utils._files import checksum

KIND = "Release"
# Kinds of models by their name in the header.
MODELS = {model.kind: model for model in (TableModel, PrincipalModel, RowsModel)}
# Keys of the header, those of all files included; a model has others.
_KEYS = {
    *("format", "version", "kind", "classes", "n_features", "dtype", "feature_names"),
    *("guarantee", "label_guarantee", "encoder", "outcome"),
}
# Units of a guarantee about features.
FEATURE_UNITS = {"element", "record"}


def float_dtype(dtype):
    """Return float32 or float64; raise ValueError for anything else."""
    for allowed in (np.dtype(np.float32), np.dtype(np.float64)):
        if any(
            dtype is same or dtype == same for same in (allowed.type, allowed.str, allowed.name)
        ):
            return allowed
    raise ValueError(
        f"The 'dtype' of a release must be float32 or float64, got {dtype!r}. Ask its owner for "
        "a sound one."
    )


def check(release):
    """Raise ValueError, naming the part, unless a release is valid."""
    _check_frame(release)
    _check_model(release)


def _check_frame(release):
    """Raise ValueError, naming the part, unless the public properties are valid."""
    outcome, p = release.outcome, release.n_features
    kinds = "must be a ClassOutcome, a NumberOutcome or an EventOutcome"
    require(isinstance(outcome, Outcome), "outcome", kinds)
    fault = outcome.fault()
    require(not fault, "classes", fault)
    require(_is_count(p), "n_features", "must be a whole number >= 1")
    names = release.feature_names
    if names is not None:
        listed = isinstance(names, np.ndarray) and names.shape == (p,)
        require(listed, "feature_names", f"must be an array of {p} names")
        texts = all(isinstance(name, str) for name in names.tolist())
        require(texts, "feature_names", "must be text")
        require(len(set(names.tolist())) == p, "feature_names", "must differ from each other")
    if release.bounds is not None:
        _check_bounds(release.bounds, p)
    if release.encoder is not None:
        require(isinstance(release.encoder, Schema), "encoder", "must be a Schema")
        given = () if names is None else tuple(names.tolist())
        encodes = release.encoder.encoded_names == given
        require(encodes, "encoder", "must encode rows into feature_names")
    # The remaining columns still carry information about omitted ones.
    check_guarantee(release.guarantee, "guarantee", FEATURE_UNITS | WHOLE, p, at_least=True)
    if release.label_guarantee is not None:
        features_only = release.guarantee.unit in FEATURE_UNITS
        require(
            features_only,
            "label_guarantee",
            "must be None where the guarantee is about labels too",
        )
        check_guarantee(release.label_guarantee, "label_guarantee", {"label"}, 1)


def _check_model(release):
    """Raise ValueError unless the model fits the outcome and the guarantee."""
    require(isinstance(release.model, Model), "model", "must be a model of skdp.release")
    outcome = release.outcome
    # Lengths by the letters in which parts declare their arrays: K classes or sums, p features,
    # x cells of the outcome.
    lengths = {"K": outcome.n_sums, "p": release.n_features, "x": outcome.n_cells}
    type(release.model).validate(release.model, "", release, lengths)
    learned = release.model.prediction.kind
    require(outcome.kind == learned, "outcome", "must be what the model is about")
    if release.encoder is not None:
        covered = release.encoder.outcome.covers(outcome)
        require(covered, "outcome", "must be that of the encoder")
    in_rows = release.guarantee.unit in FEATURE_UNITS
    fits = (
        "must be about features where the noise is in rows, and about records or groups elsewhere"
    )
    require(in_rows == release.model.noise_in_rows, "guarantee", fits)


def _check_bounds(bounds, p):
    real = isinstance(bounds, np.ndarray) and bounds.dtype.kind == "f"
    require(real, "bounds", "must be an array of real numbers")
    check_shape(bounds, (2, p), "bounds")
    require(largest_magnitude(bounds) < LARGEST, "bounds", "must be finite")
    require((bounds[0] < bounds[1]).all(), "bounds", "must be low and high, low < high")


def _is_count(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1


def check_guarantee(guarantee, name, units, n_features, *, at_least=False):
    """Raise ValueError unless this is a valid guarantee of a release."""
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


def joint_guarantee(release):
    """Return the guarantee for a whole record with its label, see ``Release``."""
    guarantee = release.guarantee
    if guarantee.unit in WHOLE:
        return guarantee
    n_elements = elements_per_record(release.encoder, guarantee.n_features)
    return record_guarantee(guarantee, release.label_guarantee, n_elements)


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


def pack(release):
    """Return the header and the arrays of the file of a release."""
    header = {
        "n_features": int(release.n_features),
        "dtype": release.dtype.str,
        "guarantee": pack_guarantee(release.guarantee),
        "label_guarantee": release.label_guarantee and pack_guarantee(release.label_guarantee),
        "feature_names": None if release.feature_names is None else release.feature_names.tolist(),
        # As text, because keys of the header are sorted but the order of columns must be kept.
        "encoder": release.encoder and release.encoder.to_json(),
    }
    of_model, arrays = release.model.pack_file()
    if release.bounds is not None:
        arrays["bounds"] = release.bounds
    return header | release.outcome.description() | of_model, arrays


def identity(release):
    """Return what tells a release from others: a fingerprint of its content, size and cost."""
    added = ", add/remove" if release.guarantee.relation == "add/remove" else ""
    rows = ""
    if release.moments is not None:
        n_rows = max(float(release.moments.class_counts.sum()), 0.0)
        rows = f"about {n_rows:,.0f} {release.guarantee.counted}, "
    return (
        f"{checksum(*pack(release))[:8]}: {rows}{release.outcome.about}, "
        f"{release.n_features} features, {release.guarantee.amount}{added}"
    )


def unpack(header, arrays):
    """Return the fields of a release from its file; the release validates them later."""
    if not all(_is_sane(array) for array in arrays.values()):
        raise ValueError("numbers do not fit")
    names, labels, schema = (header[k] for k in ("feature_names", "label_guarantee", "encoder"))
    model = MODELS[header["model"]]
    return {
        "n_features": header["n_features"],
        "dtype": header["dtype"],
        "guarantee": unpack_guarantee(header["guarantee"]),
        "label_guarantee": None if labels is None else unpack_guarantee(labels),
        "feature_names": None if names is None else np.array(names, dtype=object),
        "bounds": arrays.get("bounds"),
        "encoder": None if schema is None else Schema.from_json(schema),
        "outcome": outcome_of(header),
        "model": model.unpack_file({k: v for k, v in header.items() if k not in _KEYS}, arrays),
    }


def _is_sane(array):
    """Return whether an array holds real numbers whose squares are numbers too."""
    return array.dtype.kind in "iuf" and largest_magnitude(array) < LARGEST

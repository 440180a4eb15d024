"""The file of a release: arrays and a JSON header, with keys independent of names in the code."""

import numpy as np

from skdp.privacy import pack_guarantee, unpack_guarantee
from skdp.release._parts import LARGEST, largest_magnitude
from skdp.release._principal_model import PrincipalModel
from skdp.release._rows_model import RowsModel
from skdp.release._table_model import TableModel
from skdp.tabular import Schema
from skdp.utils._storage import require, stored_labels

KIND = "Release"
# Kinds of models by their name in the header.
MODELS = {model.kind: model for model in (TableModel, PrincipalModel, RowsModel)}
# Keys of the header, those of all files included; a model has others.
_KEYS = {
    *("format", "version", "kind", "classes", "n_features", "dtype", "feature_names"),
    *("guarantee", "label_guarantee", "encoder"),
}


def pack(release):
    """Return the header and the arrays of the file of a release."""
    header = {
        "classes": release.classes.tolist(),
        "n_features": int(release.n_features),
        "dtype": release.dtype.str,
        "guarantee": pack_guarantee(release.guarantee),
        "label_guarantee": release.label_guarantee and pack_guarantee(release.label_guarantee),
        "feature_names": None if release.feature_names is None else release.feature_names.tolist(),
        # As a text: keys of the header are sorted, and the order of columns must not be.
        "encoder": release.encoder and release.encoder.to_json(),
    }
    of_model, arrays = release.model.pack_file()
    if release.bounds is not None:
        arrays["bounds"] = release.bounds
    return header | of_model, arrays


def unpack(header, arrays):
    """Return the fields of a release from its file; the release validates them later."""
    require(all(_is_sane(array) for array in arrays.values()), "numbers")
    names, labels, schema = (header[k] for k in ("feature_names", "label_guarantee", "encoder"))
    model = MODELS[header["model"]]
    return {
        "classes": stored_labels(header["classes"]),
        "n_features": header["n_features"],
        "dtype": header["dtype"],
        "guarantee": unpack_guarantee(header["guarantee"]),
        "label_guarantee": None if labels is None else unpack_guarantee(labels),
        "feature_names": None if names is None else np.array(names, dtype=object),
        "bounds": arrays.get("bounds"),
        "encoder": None if schema is None else Schema.from_json(schema),
        "model": model.unpack_file({k: v for k, v in header.items() if k not in _KEYS}, arrays),
    }


def _is_sane(array):
    """Return whether an array holds real numbers whose squares are numbers too."""
    return array.dtype.kind in "iuf" and largest_magnitude(array) < LARGEST

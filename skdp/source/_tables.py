"""Private tables, encoded by a public schema."""

import numpy as np
from sklearn.base import clone

from skdp.source._columns import PublicColumns
from skdp.source._preparation import check_kind, check_labels, encode_rows
from skdp.source._private_rows import PrivateRows
from skdp.tabular import TabularEncoder


def encoded_columns(encoder, X=None):
    """Return the columns that an encoder makes of a table.

    Parameters
    ----------
    encoder : TabularEncoder, Schema, mapping, str or path-like
        The ``encoder`` parameter of a source.

    X : DataFrame or array-like of shape (n_samples, n_features) or None, default=None
        Says how many columns there are, where the encoder has no schema.

    Returns
    -------
    columns : PublicColumns
    """
    if not isinstance(encoder, TabularEncoder):
        encoder = TabularEncoder(encoder)
    if encoder.schema is None and X is not None:
        return PublicColumns.of_encoder(clone(encoder).fit(X))
    return PublicColumns.of_schema(encoder.schema)


def encode_table(columns, X, y, *, keep_all):
    """Return a private table as numbers, and its labels.

    Parameters
    ----------
    columns : PublicColumns
        With a schema.

    X : DataFrame, or array-like of shape (n_samples, n_columns)
        The table.

    y : array-like of shape (n_samples,)
        Labels.

    keep_all : bool
        Whether rows stay whose label is none of the classes of the schema. Where labels are
        private they have to, for the number of rows is public.

    Returns
    -------
    rows : ndarray of shape (n_samples, n_encoded)
        In [0, 1].

    labels : ndarray of shape (n_samples,)
        Classes of the schema, where it lists them and not all rows are kept.

    Raises
    ------
    ValueError
        When no label is a class of the schema, and rows of others are left out.
    """
    rows = encode_rows(columns, X)
    labels = check_labels(y, rows)
    if columns.schema.classes is None or keep_all:
        return rows, labels
    classes = np.array(columns.schema.classes)
    check_kind(y, classes)
    indices = PrivateRows.of_labels(rows, labels, classes).class_indices
    if not (indices >= 0).any():
        raise ValueError(
            f"No label in y is one of the classes of the schema, {classes.tolist()}. Spell them "
            "alike: rows of other labels are left out."
        )
    return rows[indices >= 0], classes[indices[indices >= 0]]

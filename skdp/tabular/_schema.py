"""The public schema of a table: a validated value and its JSON form."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from skdp.tabular._agreement import column_difference, column_texts, common_column
from skdp.tabular._columns import (
    CategoryColumn,
    NumericColumn,
    column_from,
    description_of,
    is_text,
)
from skdp.tabular._outcomes import ClassOutcome, Outcome, common_outcome, outcome_of
from skdp.tabular._values import ambiguity
from skdp.utils._html import as_html, grid
from skdp.utils._validation import checked_subset

# Version of the JSON form; it increases when old readers would misread the new form.
_VERSION = 1
# A schema may come from a file of another owner. These limits on memory and time are rules of
# thumb, beyond any table whose moments can be released.
_MAX_COLUMNS = 10_000
_MAX_CATEGORIES = 100_000
_MAX_CHARACTERS = 10_000_000
_UNLISTED: Outcome = ClassOutcome()


@dataclass(frozen=True, repr=False)
class Schema:
    """The public description of a table: its columns with bounds or categories, and its classes.

    An immutable, validated value; schemas are equal if all their parts are. Bounds and
    categories must come from units, instruments and code books, never from the private rows.
    Names, categories and classes are in Unicode's composed form (NFC), and match other forms in
    tables.

    Parameters
    ----------
    columns : tuple of NumericColumn and CategoryColumn
        In the order in which they are encoded, at most 10,000 with at most 100,000 categories.

    outcome : ClassOutcome, NumberOutcome or EventOutcome, default=ClassOutcome()
        What is predicted: one of two or more classes, which may be unlisted, a number between
        public bounds, or a time to an event.

    Attributes
    ----------
    classes : tuple of str, bool, int or float, or None
        The classes of the outcome; None if they are not listed, and for a number or a time.

    names : tuple of str
        Names of the columns.

    encoded_names : tuple of str
        Names of the encoded columns.

    noisy_names : tuple of str
        Columns whose bounds or categories were found in private rows with noise.

    Raises
    ------
    ValueError
        The message names the column and the remedy.

    See Also
    --------
    skdp.tabular.TabularEncoder : Encodes rows by a schema.
    skdp.tabular.schema_from : Drafts a schema from public rows.

    Examples
    --------
    >>> from skdp.tabular import Schema
    >>> schema = Schema.from_json('''{"version": 1, "classes": ["alive", "dead"], "columns": {
    ...     "age": {"type": "numeric", "low": 18, "high": 100},
    ...     "sex": {"type": "category", "categories": ["F", "M"]}}}''')
    >>> schema
    Schema(1 numeric column, 1 of categories; 2 encoded; classes 'alive', 'dead')
    >>> schema.encoded_names
    ('age', 'sex_M')
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[NumericColumn | CategoryColumn, ...]
    outcome: Outcome = _UNLISTED

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        if not isinstance(self.outcome, Outcome):
            raise ValueError(
                "The 'outcome' parameter of Schema must be a ClassOutcome, a NumberOutcome or an "
                f"EventOutcome, got {self.outcome!r:.100}."
            )
        object.__setattr__(self, "outcome", self.outcome.composed())
        _check_classes(self.classes)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Tuple or None: the listed classes."""
        return getattr(self.outcome, "classes", None)

    @property
    def names(self) -> tuple[str, ...]:
        """Tuple of str: names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def noisy_names(self) -> tuple[str, ...]:
        """Tuple of str: columns whose description was found in private rows with noise."""
        return tuple(column.name for column in self.columns if column.noisy)

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Tuple of str: names of the encoded columns."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    @property
    def encoded_slices(self) -> tuple[slice, ...]:
        """Tuple of slice: positions of the encoded columns of each column."""
        edges = accumulate((len(column.kinds) for column in self.columns), initial=0)
        return tuple(slice(*pair) for pair in pairwise(edges))

    def is_encoded(self, names: Iterable[str]) -> bool:
        """Return whether these are the encoded columns of this schema.

        Parameters
        ----------
        names : iterable of str

        Returns
        -------
        encoded : bool
            False if the table has all columns of the schema itself.

        Examples
        --------
        >>> from skdp.tabular import Schema
        >>> schema = Schema.from_mapping({"ward": {"type": "category", "categories": [*"ABC"]}})
        >>> schema.is_encoded(["ward"]), schema.is_encoded(schema.encoded_names)
        (False, True)
        """
        given = set(names)
        return not set(self.names) <= given and set(self.encoded_names) <= given

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Return the schema that a mapping describes.

        Parameters
        ----------
        mapping : mapping
            With ``version`` (1), ``columns`` and, optionally, ``classes`` or an ``outcome``; or
            the columns only. An outcome of the type "number" has ``low``, ``high`` and,
            optionally, ``log`` and ``step``; of the type "event", ``horizon`` and, optionally,
            the names ``event`` and ``time``, the ``event_value`` and ``competing`` values.
            Each column is a mapping with ``type``: "numeric", with ``low``, ``high`` and,
            optionally, ``log``, ``missing``, ``step`` and ``noisy``; or "category", with
            ``categories`` and, optionally, ``ordered``, ``missing`` and ``noisy``.

        Returns
        -------
        schema : Schema

        Raises
        ------
        ValueError
            The message names the column and the remedy.

        Examples
        --------
        >>> from skdp import Schema
        >>> mapping = {"version": 1, "columns": {"age": {"type": "numeric", "low": 0, "high": 90}}}
        >>> schema = Schema.from_mapping(mapping)
        >>> schema.names
        ('age',)
        """
        if not isinstance(mapping, Mapping):
            raise ValueError("A schema must be a mapping of columns. Pass a dict.")
        columns, outcome = mapping, _UNLISTED
        if _is_document(mapping):
            for key in mapping:
                if key not in ("version", "classes", "columns", "outcome"):
                    raise ValueError(
                        f"The schema has the unknown key {key!r:.100}; use 'version', 'columns' "
                        "and 'classes' or 'outcome'."
                    )
            version = mapping.get("version")
            if type(version) is not int or version != _VERSION:
                raise ValueError(
                    f"The schema has the version {version!r:.100}; this skdp reads version "
                    f"{_VERSION}. Write 'version': {_VERSION}, or update skdp."
                )
            columns, outcome = mapping["columns"], outcome_of(mapping)
        _check_number(columns)
        described = tuple(column_from(name, columns[name]) for name in columns)
        return cls(described, outcome)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the schema that a JSON text describes.

        Parameters
        ----------
        text : str
            The result of :meth:`to_json`, or columns only. Nothing in it is executed.

        Returns
        -------
        schema : Schema

        Raises
        ------
        ValueError
            If it is not JSON or not a schema, with the column and the remedy.

        Examples
        --------
        >>> from skdp import Schema
        >>> Schema.from_json('{"age": {"type": "numeric", "low": 0, "high": 90}}').names
        ('age',)
        """
        if len(text) > _MAX_CHARACTERS:
            raise ValueError(
                f"The schema has {len(text)} characters, more than {_MAX_CHARACTERS}; leave out "
                "columns or categories."
            )
        try:
            mapping = json.loads(text, object_pairs_hook=_distinct)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"The schema is not JSON ({error}); check the file.") from None
        return cls.from_mapping(mapping)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return the schema of a JSON file.

        Parameters
        ----------
        path : str or path-like
            A file in UTF-8, with or without a byte order mark.

        Returns
        -------
        schema : Schema

        Raises
        ------
        OSError
            If the file does not exist.

        ValueError
            If it contains no schema.

        Examples
        --------
        >>> from pathlib import Path
        >>> from skdp import Schema
        >>> mapping = {"version": 1, "columns": {"age": {"type": "numeric", "low": 0, "high": 90}}}
        >>> schema = Schema.from_mapping(mapping)
        >>> _ = Path("schema.json").write_text(schema.to_json())
        >>> Schema.read("schema.json") == schema
        True
        """
        with Path(path).open("rb") as file:
            # At most four bytes per character; longer files are refused without being read.
            content = file.read(4 * _MAX_CHARACTERS + 1)
        try:
            return cls.from_json(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise ValueError("The schema's file is not in UTF-8; save it as UTF-8.") from None

    def restrict(self, names: Iterable[str]) -> "Schema":
        """Return the schema of some of the columns, with the same classes.

        Parameters
        ----------
        names : iterable of str
            Names of the columns that remain, each once, in their new order.

        Returns
        -------
        schema : Schema
            Its columns are encoded as before.

        Raises
        ------
        ValueError
            If names are missing, unknown or repeated; the message lists them.

        Examples
        --------
        >>> from skdp.tabular import Schema
        >>> columns = {name: {"type": "numeric", "low": 0, "high": 1} for name in "abc"}
        >>> Schema.from_mapping(columns).restrict(["c", "a"]).names
        ('c', 'a')
        """
        chosen = checked_subset("Schema.restrict", names, self.names)
        of_name = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(of_name[name] for name in chosen))

    def difference(
        self, other: "Schema | Mapping[str, Any] | str | os.PathLike[str]"
    ) -> tuple[str, ...]:
        """Return the differences between this schema and another one.

        The order of columns does not matter, since ``Release.restrict`` can change it. The order
        of categories does, because it determines their codes.

        Parameters
        ----------
        other : Schema, mapping, str or path-like
            A string that starts with a brace is JSON, any other a path.

        Returns
        -------
        lines : tuple of str
            One per differing column, with its name and both descriptions, and one if the
            classes or their order differ. Empty if the schemas agree.

        Raises
        ------
        ValueError
            If ``other`` is not a schema.

        See Also
        --------
        common : A schema that several owners can use.

        Examples
        --------
        >>> from skdp.tabular import Schema
        >>> ours = {"age": {"type": "numeric", "low": 20, "high": 90}}
        >>> theirs = {"age": {"type": "numeric", "low": 18, "high": 100}}
        >>> Schema.from_mapping(ours).difference(theirs)
        ("'age': numeric, 20 to 90 here; numeric, 18 to 100 there",)
        """
        other = as_schema(other)
        first, second = ({c.name: c for c in schema.columns} for schema in (self, other))
        lines = [
            f"{name!r:.100}: {column_difference(first.get(name), second.get(name))}"
            for name in first | second
            if first.get(name) != second.get(name)
        ]
        return (*lines, *self.outcome.difference(other.outcome))

    @classmethod
    def common(
        cls, schemas: Sequence[Any] | Mapping[str, Any], *, columns: str = "shared"
    ) -> Self:
        """Return a schema that several owners can use together.

        Releases can be merged only if they have the same schema. Agree on it before the first
        release: noisy sums cannot be converted to another schema, and their budget is spent. No
        rows are read; never derive the schemas from private rows.

        Bounds become the widest of all owners, and categories are the union, in the order and
        spelling of the first owner that lists them. A column may have missing values if it may
        with any owner. Ordered categories need lists that allow one order only. Owners must agree
        on whether a column is numeric, logarithmic or ordered, on the classes and on the horizon:
        a difference is probably another unit or spelling.

        Parameters
        ----------
        schemas : list of schemas, or dict of str to schema
            One or more in any form that :meth:`difference` takes. Errors name owners by the keys
            of a dict, or by positions in a list.

        columns : {"shared", "all"}, default="shared"
            The columns of all schemas, or of any. With "all", a column that some lack may have
            missing values, and owners who lack it must add it, empty, to their tables.

        Returns
        -------
        schema : Schema
            With columns in the order of the first schema, then of the others. Its classes
            are in the order of the first schema that lists them.

        Raises
        ------
        ValueError
            If the descriptions of a column are incompatible, classes or horizons differ, or no
            column is shared.

        See Also
        --------
        difference : The differences between two schemas.

        Examples
        --------
        >>> from skdp.tabular import Schema
        >>> north = {
        ...     "age": {"type": "numeric", "low": 20, "high": 90},
        ...     "ward": {"type": "category", "categories": ["A", "B"]},
        ... }
        >>> south = {
        ...     "ward": {"type": "category", "categories": ["B", "C"], "missing": True},
        ...     "age": {"type": "numeric", "low": 18, "high": 80},
        ... }
        >>> print(Schema.common([north, south]).summary())
        Schema(1 numeric column, 1 of categories; 5 encoded; classes not listed)
          'age': numeric, 18 to 90
          'ward': category, 'A', 'B', 'C'; may be missing
        """
        if columns not in ("shared", "all"):
            raise ValueError(
                f"The 'columns' parameter of Schema.common must be 'shared' or 'all', got "
                f"{columns!r:.100}."
            )
        if not isinstance(schemas, list | tuple | Mapping) or not schemas:
            raise ValueError(
                "The 'schemas' parameter of Schema.common must be a nonempty list of schemas, "
                "or a dict of them."
            )
        if not isinstance(schemas, Mapping):
            schemas = {f"schema {k}": schema for k, schema in enumerate(schemas)}
        read = {owner: as_schema(schema) for owner, schema in schemas.items()}
        of_name: dict = {}
        for owner, schema in read.items():
            for column in schema.columns:
                of_name.setdefault(column.name, {})[owner] = column
        in_all = [name for name, owners in of_name.items() if len(owners) == len(read)]
        if not in_all and columns == "shared":
            raise ValueError(
                "The schemas have no column in common; give the same things the same names, or "
                "use columns='all'."
            )
        chosen = [common_column(of_name[name]) for name in (in_all, of_name)[columns == "all"]]
        chosen = [c if c.name in in_all else replace(c, missing=True) for c in chosen]
        outcome = common_outcome({owner: schema.outcome for owner, schema in read.items()})
        return cls(tuple(chosen), outcome)

    def to_mapping(self) -> dict[str, Any]:
        """Return the schema as a mapping of version, columns and classes, in JSON types.

        Returns
        -------
        mapping : dict

        Examples
        --------
        >>> from skdp import Schema
        >>> mapping = {"version": 1, "columns": {"age": {"type": "numeric", "low": 0, "high": 90}}}
        >>> schema = Schema.from_mapping(mapping)
        >>> schema.to_mapping() == mapping
        True
        """
        columns = {column.name: description_of(column) for column in self.columns}
        return {"version": _VERSION, "columns": columns} | self.outcome.description()

    def to_json(self) -> str:
        """Return the schema as JSON, which :meth:`from_json` reads.

        Returns
        -------
        text : str

        Examples
        --------
        >>> from skdp import Schema
        >>> mapping = {"version": 1, "columns": {"age": {"type": "numeric", "low": 0, "high": 90}}}
        >>> schema = Schema.from_mapping(mapping)
        >>> Schema.from_json(schema.to_json()) == schema
        True
        """
        return json.dumps(self.to_mapping(), indent=1, ensure_ascii=False, allow_nan=False)

    def summary(self) -> str:
        """Return a text with one line per column.

        Returns
        -------
        text : str

        Examples
        --------
        >>> from skdp import Schema
        >>> mapping = {"version": 1, "columns": {"age": {"type": "numeric", "low": 0, "high": 90}}}
        >>> schema = Schema.from_mapping(mapping)
        >>> print(schema.summary())
        Schema(1 numeric column, 0 of categories; 1 encoded; classes not listed)
          'age': numeric, 0 to 90
        """
        rows = [
            f"  {name!r}: {kind}, {values}{notes}" for name, kind, values, notes in self._table
        ]
        return "\n".join([f"{self}", *rows])

    def __repr__(self) -> str:
        numeric = sum(isinstance(column, NumericColumn) for column in self.columns)
        plural = "" if numeric == 1 else "s"
        return (
            f"Schema({numeric} numeric column{plural}, {len(self.columns) - numeric} of "
            f"categories; {len(self.encoded_names)} encoded; {self.outcome.in_schema})"
        )

    def _repr_html_(self):
        lines = [(name, kind, values + notes) for name, kind, values, notes in self._table]
        return f"<p>{as_html(repr(self))}</p>{grid(['column', 'type', 'values'], lines)}"

    @property
    def _table(self):
        """Yield the name, kind, values and notes of each column."""
        for column in self.columns:
            yield column.name, *column_texts(column)


def as_schema(schema: Schema | Mapping[str, Any] | str | os.PathLike[str]) -> Schema:
    """Return a schema given in any form; a string that starts with a brace is JSON."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str) and schema.lstrip().startswith("{"):
        return Schema.from_json(schema)
    if isinstance(schema, str | os.PathLike):
        return Schema.read(schema)
    return Schema.from_mapping(schema)


def _is_document(mapping):
    """Return whether it is a schema, not columns only, one of which may be called 'columns'."""
    columns = mapping.get("columns")
    return isinstance(columns, Mapping) and not isinstance(columns.get("type"), str)


def _distinct(pairs):
    """Return pairs of a JSON object as a dict; JSON itself keeps the last of equal keys."""
    mapping = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"The schema has the key {key!r:.100} twice; leave one out.")
        mapping[key] = value
    return mapping


def _check_number(columns):
    if not 0 < len(columns) <= _MAX_COLUMNS:
        raise ValueError(
            f"The schema has {len(columns)} columns; describe between 1 and {_MAX_COLUMNS}."
        )


def _check_columns(columns):
    kinds = NumericColumn | CategoryColumn
    if not isinstance(columns, tuple) or not all(isinstance(c, kinds) for c in columns):
        raise ValueError(
            "The 'columns' parameter of Schema must be a tuple of NumericColumn and "
            "CategoryColumn; Schema.from_mapping takes mappings."
        )
    _check_number(columns)
    total = sum(len(c.categories) for c in columns if isinstance(c, CategoryColumn))
    if total > _MAX_CATEGORIES:
        raise ValueError(
            f"The schema has {total} categories in all; list at most {_MAX_CATEGORIES}."
        )
    of_column = [(name, c.name) for c in columns for name in c.encoded_names]
    seen: dict[str, str] = {}
    for encoded, name in of_column:
        if encoded in seen:
            raise ValueError(
                f"Columns {seen[encoded]!r:.100} and {name!r:.100} of the schema both have an "
                f"encoded column {encoded!r:.100}; rename a column or a category."
            )
        seen[encoded] = name


def _check_classes(classes):
    fault = None if classes is None else class_fault(classes)
    if fault is not None:
        raise ValueError(f"The schema {fault}")


def class_fault(classes):
    """Return why a public list of classes cannot be used, with a remedy, or None."""
    kinds = (str, bool, int, float)
    proper = isinstance(classes, tuple) and all(type(c) in kinds for c in classes)
    proper = proper and len({type(c) for c in classes}) == 1 and len(classes) <= _MAX_CATEGORIES
    proper = proper and all(is_text(c) if isinstance(c, str) else np.isfinite(c) for c in classes)
    if not proper or not len(classes) == len(set(classes)) >= 2:
        return (
            "must list two or more different 'classes', all text or all finite numbers of one "
            "type, each once."
        )
    fractions = [c for c in classes if isinstance(c, float) and c % 1]
    if fractions:
        return (
            f"lists the fraction {fractions[0]!r} as one of the 'classes', which classifiers take "
            "for a measurement; write such classes as text, here and in the table."
        )
    fault = ambiguity(classes)
    return fault and f"{fault}, as 'classes'; spell them differently here and in the table."

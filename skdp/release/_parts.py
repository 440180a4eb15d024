"""Parts of a release: frozen sets of arrays with declared properties.

A field made by :func:`array` or :func:`part` declares how its value is checked, stored and made
read-only. A class adds only checks that such declarations cannot express.

The shape of an array names its lengths: "K" is the number of classes, "p" the number of features,
a number is itself, and any other name means the same length in all parts of a model; "tri(p)" is
the length of an upper triangle. The empty shape is a single float, stored as an array in a file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from skdp.utils._validation import inline

# Largest magnitude, whose square is finite.
LARGEST = 1e100
# Of a mean: rows have magnitudes below 1e12, and weights of randomized labels enlarge them.
LARGEST_MEAN = 1e18
# Of a variance or covariance.
LARGEST_VARIANCE = 1e36
# Of a coefficient.
LARGEST_COEFFICIENT = 1e30
# Directions are unit vectors to this precision, float32 included.
_UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True)
class _Array:
    """The declared properties of an array, and its storage in a file."""

    shape: tuple[str, ...]
    kind: str
    below: float
    least: float
    key: str
    symmetric: bool


def array(
    shape: str,
    kind: str = "iuf",
    *,
    below: float = LARGEST,
    least: float = -np.inf,
    key: str = "",
    symmetric: bool = False,
    optional: bool = False,
) -> Any:
    """Return a field of an array of real numbers: its shape, kinds of dtype, bounds and file key.

    Magnitudes are below ``below``, numbers at least ``least``; "" is the name of the field as key,
    and of a symmetric one the file holds the upper triangle.
    """
    statement = _Array(tuple(shape.split()), kind, below, least, key, symmetric)
    return _field({"array": statement}, optional)


def part(kind: type, *, inline: bool = False, optional: bool = False) -> Any:
    """Return a field of another part; ``inline`` keeps its keys among those of this one."""
    return _field({"part": kind, "inline": inline}, optional)


def _field(metadata, optional):
    return field(default=None, metadata=metadata) if optional else field(metadata=metadata)


@dataclass(frozen=True)
class Part:
    """A frozen dataclass of arrays and other parts, which checks, stores and freezes itself."""

    @classmethod
    def validate(cls, value: Any, name: str, release: Any, lengths: dict[str, int]) -> None:
        """Raise ValueError, naming the array, unless this is such a part and can be used.

        ``lengths`` contains known lengths by name, and new lengths are added to it.
        """
        require(isinstance(value, cls), name, f"must be {cls.__name__} or None")
        present = value.present()
        for inner, statement in declarations(cls):
            if inner.name not in present and inner.default is None:  # an optional one
                continue
            content = getattr(value, inner.name)
            of_inner = f"{name}.{inner.name}" if name else inner.name
            of_inner = name if inner.metadata.get("inline") else of_inner
            if isinstance(statement, _Array):
                _check_array(statement, content, of_inner, lengths)
            else:
                statement.validate(content, of_inner, release, lengths)
        value.check(name, release)

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError if the arrays do not fit together."""

    def present(self) -> dict[str, Any]:
        """Return the fields by name, without optional ones that are None."""
        values = {inner.name: getattr(self, inner.name) for inner in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def pack(self, prefix: str = "") -> dict[str, np.ndarray]:
        """Return all arrays by their keys in the file, which start with the prefix."""
        arrays: dict[str, np.ndarray] = {}
        present = self.present()
        for inner, statement in declarations(type(self)):
            if inner.name not in present:
                continue
            content, key = present[inner.name], _key(prefix, inner)
            if not isinstance(statement, _Array):
                arrays |= content.pack(key)
            elif statement.symmetric:
                arrays[key] = content[np.triu_indices(len(content))]
            else:
                arrays[key] = content if statement.shape else np.array([content])
        return arrays

    @classmethod
    def unpack(cls, arrays: Mapping[str, np.ndarray], prefix: str = "") -> Self | None:
        """Return the part that :meth:`pack` packed, or None if a file lacks it."""
        contents: dict[str, Any] = {}
        for inner, statement in declarations(cls):
            key = _key(prefix, inner)
            if not isinstance(statement, _Array):
                contents[inner.name] = statement.unpack(arrays, key)
            elif key in arrays:
                contents[inner.name] = _unpacked(statement, arrays[key], key)
        contents = {name: content for name, content in contents.items() if content is not None}
        return cls(**contents) if contents else None

    def freeze(self, copy: bool) -> Self:
        """Return this with arrays that cannot be written to, see ``read_only``."""
        present = self.present()
        frozen = {name: read_only(value, copy) for name, value in present.items()}
        same = all(frozen[name] is value for name, value in present.items())
        return self if same else replace(self, **frozen)


def declarations(cls):
    """Yield the fields of a part with their declarations: an array, or another part."""
    for inner in fields(cls):
        for kind in inner.metadata.keys() & {"array", "part"}:
            yield inner, inner.metadata[kind]


def _key(prefix, inner):
    if "part" in inner.metadata:
        return prefix if inner.metadata["inline"] else f"{prefix}{inner.name}/"
    return prefix + (inner.metadata["array"].key or inner.name)


def _unpacked(statement, content, key):
    """Return an array, or number, as a part holds it."""
    if not statement.shape:
        [value] = content.tolist()
        return float(value)
    if not statement.symmetric:
        return content
    n = int(np.sqrt(2 * content.size))
    check_shape(content, (n * (n + 1) // 2,), key)
    full = np.zeros((n, n), dtype=content.dtype)
    full[np.triu_indices(n)] = content
    return full + np.triu(full, 1).T


def _check_array(statement, content, name, lengths):
    """Raise ValueError, naming the array, unless it has its declared properties."""
    content = content if statement.shape else np.asarray(content)
    kinds = "whole" if statement.kind == "i" else "real"
    numeric = isinstance(content, np.ndarray) and content.dtype.kind in statement.kind
    require(numeric, name, f"must be an array of {kinds} numbers")
    _check_lengths(statement.shape, content, name, lengths)
    require(largest_magnitude(content) < LARGEST, name, "must be finite")
    check_below(content, statement.below, name)
    least = statement.least
    wanted = "must not be negative" if least == 0 else f"must be positive, >= {least:g}"
    require(float(content.min()) >= least, name, wanted)


def _check_lengths(wanted, content, name, lengths):
    """Raise ValueError unless an array has these lengths; take up those of new names."""
    if content.ndim == len(wanted):
        for token, length in zip(wanted, content.shape, strict=True):
            if not token.isdigit() and not token.startswith("tri("):
                lengths.setdefault(token, length)
    expected = tuple(_length(token, lengths) for token in wanted)
    check_shape(content, expected, name)
    require(content.size or not wanted, name, "must not be empty")


def _length(token, lengths):
    """Return the length that a token stands for; an unknown name stays text, for messages."""
    if token.isdigit():
        return int(token)
    if token.startswith("tri("):
        n = lengths[token[4:-1]]
        return n * (n + 1) // 2
    return lengths.get(token, token)


def read_only(value, copy):
    """Return an array or part with read-only numbers; anything else unchanged."""
    # With copy, a writable array is copied, so that the caller's array remains writable; otherwise
    # it is made read-only itself.
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.copy() if copy else value
        value.flags.writeable = False
    elif isinstance(value, Part):
        value = value.freeze(copy)
    return value


def class_names(release):
    """Return the class labels as text that may be shown."""
    return [inline(str(label)) for label in release.classes.tolist()]


def require(condition, name, problem):
    """Raise ValueError, naming the part, unless the condition holds."""
    if not condition:
        raise ValueError(f"The {name!r} of a release {problem}. Ask its owner for a sound one.")


def largest_magnitude(array):
    """Return the largest magnitude, without a copy of the array; NaN where it has one."""
    return max(-float(array.min(initial=0)), float(array.max(initial=0)))


def check_shape(array, shape, name):
    """Raise ValueError, naming the array, unless it has this shape."""
    require(array.shape == shape, name, f"must have shape {shape}, got {array.shape}")


def check_below(array, limit, name):
    """Raise ValueError, naming the array, unless all magnitudes are below a limit."""
    below = largest_magnitude(array) < limit
    require(below, name, f"must have magnitudes below {limit:g}")


def check_units(directions, name):
    """Raise ValueError, naming the array, unless its rows have length 1."""
    lengths = np.linalg.norm(directions, axis=1)
    require(np.allclose(lengths, 1, atol=_UNIT_TOLERANCE), name, "must be unit vectors")

"""Parts of a release, which check, store, restrict and describe themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from skdp.membership import (
    WideCDMMAClassifier,
    frozen_classifier,
    pack_classifier,
    unpack_classifier,
)
from skdp.utils._validation import inline

# Numbers whose squares are numbers too.
LARGEST = 1e100
# Of a mean: rows have magnitudes below 1e12, and weights of randomized labels enlarge them.
LARGEST_MEAN = 1e18
# Of a variance or covariance.
LARGEST_VARIANCE = 1e36
# Directions are unit vectors to this precision, float32 included.
_UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Part:
    """What each part of a release can do: a frozen dataclass of arrays, some of them optional.

    A new one is a subclass, in a file of its own, and a field of :class:`~skdp.Release`;
    nothing else lists the parts.
    """

    # Key in the file of each field. Files of these keys exist: one may be added, never changed.
    file_keys: ClassVar[dict[str, str]] = {}

    @classmethod
    def validate(cls, part: Any, name: str, release: Any) -> None:
        """Raise ValueError unless a part is one of this class that the release can use."""
        require(isinstance(part, cls), name, f"must be {cls.__name__} or None")
        part.check(name, release)

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError, naming the array, unless this fits the release and can be used."""
        raise NotImplementedError

    def check_arrays(self, name: str) -> None:
        """Check that all fields but optional ones are arrays of numbers that can be squared."""
        optional = {field.name for field in fields(self) if field.default is None}
        for key, array in vars(self).items():
            if array is None and key in optional:
                continue
            real = isinstance(array, np.ndarray) and array.dtype.kind in "iuf"
            require(real, f"{name}.{key}", "must be an array of real numbers")
            require(largest_magnitude(array) < LARGEST, f"{name}.{key}", "must be finite")

    def pack(self, name: str, release: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """Return what the header of a file says of this, or None, and its arrays by their keys."""
        found = {f"{name}/{key}": getattr(self, own) for own, key in self.file_keys.items()}
        return None, {key: array for key, array in found.items() if array is not None}

    @classmethod
    def unpack(cls, name: str, header: Any, arrays: Mapping[str, np.ndarray]) -> Self | None:
        """Return what :meth:`pack` took apart, or None where a file has nothing of it."""
        if header is not None:
            raise ValueError(f"the header has {name!r}, which consists of arrays")
        keys = {own: f"{name}/{key}" for own, key in cls.file_keys.items()}
        found = {own: arrays[key] for own, key in keys.items() if key in arrays}
        return cls(**found) if found else None

    def freeze(self, copy: bool) -> Self:
        """Return this with arrays that cannot be written to, see :func:`read_only`."""
        return replace(self, **{key: read_only(value, copy) for key, value in vars(self).items()})

    def restrict(self, columns: np.ndarray, release: Any) -> Self | None:
        """Return this of some of the columns.

        Parameters
        ----------
        columns : ndarray of shape (n_remaining,)
            Numbers of those that remain, each once, in their new order.

        release : Release
            Of all columns, which this is a part of.

        Returns
        -------
        part : Part or None
            None where nothing is known of these columns alone.
        """
        raise NotImplementedError

    def contents(self, name: str, release: Any) -> str:
        """Return what this is, in a few words of the summary."""
        raise NotImplementedError

    def result_lines(self, release: Any) -> list[str]:
        """Return lines of the summary about what came out: noisy, and free to be shown."""
        return []


class SourceClassifier:
    """What a :class:`Part` can do, for the classifier of denoised rows, which is an estimator."""

    @classmethod
    def validate(cls, classifier, name, release):
        """Raise ValueError unless this is a fitted classifier of the rows that it will get."""
        fitted = isinstance(classifier, WideCDMMAClassifier) and hasattr(classifier, "classes_")
        require(fitted, name, "must be a fitted WideCDMMAClassifier")
        same = np.array_equal(classifier.classes_, release.classes)
        require(same, name, "must have the same classes")
        n_inputs = cls.n_inputs(release)
        reads = classifier.n_features_in_ == n_inputs
        require(reads, name, f"must read {n_inputs} features")

    @staticmethod
    def n_inputs(release):
        """Return how many features the classifier reads."""
        subspace = release.subspace
        return release.n_features if subspace is None else len(subspace.variances)

    @staticmethod
    def pack(classifier, name, release):
        """Return what the header of a file says of it, and its arrays by their keys."""
        return pack_classifier(classifier, f"{name}/")

    @staticmethod
    def unpack(name, header, arrays):
        """Return what :meth:`pack` took apart, or None where a file has nothing of it."""
        return None if header is None else unpack_classifier(header, arrays, f"{name}/")

    @staticmethod
    def freeze(classifier, copy):
        """Return it as its file would hold it, with arrays that cannot be written to."""
        return frozen_classifier(classifier, copy)

    @staticmethod
    def restrict(classifier, columns, release):
        """Return None, for it has no marginal, unless all columns remain and it reads codes.

        Codes of all columns do not depend on the order of these; rows do.
        """
        all_remain = len(columns) == release.n_features
        return classifier if all_remain and release.subspace is not None else None

    @staticmethod
    def contents(classifier, name, release):
        """Return what it is, in a few words."""
        subsets = [a for group in classifier.autoencoders_by_class() for a in group]
        of_codes = name == "classifier" and release.subspace is not None
        rows = "denoised" if of_codes else "noisy"
        return f"{len(subsets)} autoencoders (depth {len(subsets[0].precisions_)}) of {rows} rows"

    @staticmethod
    def result_lines(classifier, release):
        """Return nothing: what it tells apart is not known without rows."""
        return []


class RowClassifier(SourceClassifier):
    """The same for the classifier of noisy rows, which is no other where nothing is denoised."""

    @classmethod
    def validate(cls, classifier, name, release):
        """Raise ValueError unless this is a fitted classifier of the noisy rows."""
        alike = release.subspace is not None or classifier is release.classifier
        require(alike, name, "must be the classifier where there is no subspace")
        super().validate(classifier, name, release)

    @staticmethod
    def n_inputs(release):
        """Return how many features the classifier reads."""
        return release.n_features

    @staticmethod
    def pack(classifier, name, release):
        """Return what the file has of it: nothing where it is the other one."""
        if classifier is release.classifier:
            return None, {}
        return SourceClassifier.pack(classifier, name, release)

    @staticmethod
    def restrict(classifier, columns, release):
        """Return None, for it reads rows of all columns in their order."""


def read_only(value, copy):
    """Return an array, or a part, whose numbers cannot be written to; anything else as it is.

    An array that could be written to is copied where ``copy`` is True, so that the caller's own
    stays the caller's, and is made read-only itself otherwise.
    """
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

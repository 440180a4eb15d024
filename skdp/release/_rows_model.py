"""The model of noisy rows: noise-corrected parts, and parts for the papers' strategies."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from skdp.membership import (
    WideCDMMAClassifier,
    frozen_classifier,
    pack_classifier,
    unpack_classifier,
)
from skdp.release._linear_scores import linear_discriminant
from skdp.release._mixtures import Mixtures
from skdp.release._moments import Moments
from skdp.release._parts import part, require
from skdp.release._principal_model import PrincipalModel
from skdp.release._subspace import Alignment, Subspace

# Of which rows each is.
_CLASSIFIERS = {"code_classifier": "denoised", "row_classifier": "noisy"}


@dataclass(frozen=True)
class RowsModel(PrincipalModel):
    """The parts learned from perturbed rows.

    Attributes
    ----------
    moments : Moments or None, default=None

    linear : LinearScores or None, default=None
        The linear discriminant of the moments, of tables.

    subspace, mixtures : as of PrincipalModel
        Of the rows without noise.

    alignment : Alignment or None, default=None

    code_classifier : WideCDMMAClassifier or None, default=None
        Of denoised rows in the subspace.

    row_classifier : WideCDMMAClassifier or None, default=None
        Of the noisy rows, which the papers' strategies need.
    """

    kind = "rows"
    noise_in_rows = True

    moments: Any = part(Moments, optional=True)
    alignment: Alignment | None = part(Alignment, optional=True)
    code_classifier: WideCDMMAClassifier | None = None
    row_classifier: WideCDMMAClassifier | None = None

    @property
    def classifiers(self) -> dict[str, WideCDMMAClassifier]:
        """The available classifiers, by the names of their fields."""
        both = {key: getattr(self, key) for key in _CLASSIFIERS}
        return {key: classifier for key, classifier in both.items() if classifier is not None}

    @property
    def classifier(self) -> WideCDMMAClassifier | None:
        """Classifier of the codes if the model has a subspace, otherwise of the noisy rows."""
        return self.row_classifier if self.subspace is None else self.code_classifier

    @property
    def calibrated(self) -> bool:
        """bool: whether scores are log-posteriors; errors of reconstruction are none."""
        return self.linear is not None

    @property
    def structure(self) -> Mixtures | None:
        """Mixtures or None: those with several components in a class.

        Noise of rows leaves one normal distribution of each class wider than the true one.
        """
        mixtures = self.mixtures
        return mixtures if mixtures is not None and mixtures.is_multimodal else None

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless parts fit together, and there are moments or a classifier."""
        super().check(name, release)
        some = self.moments is not None or self.row_classifier is not None
        require(some, "release", "has neither statistics, moments nor a classifier")
        codes = self.code_classifier is None or self.subspace is not None
        require(codes, "classifier", "needs a subspace, but there is none")
        n_codes = 0 if self.subspace is None else len(self.subspace.variances)
        _check_classifier(self.code_classifier, "classifier", release, n_codes)
        _check_classifier(self.row_classifier, "row_classifier", release, release.n_features)

    def freeze(self, copy: bool) -> Self:
        """Return this as if read from its file, with read-only arrays."""
        frozen = {key: frozen_classifier(made, copy) for key, made in self.classifiers.items()}
        return replace(super().freeze(copy), **frozen)

    def effective_rows(self, release: Any) -> float:
        """Return the number of rows of a class whose mean would be as precise without noise."""
        return self.moments.precision

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Return log-posteriors, or minus the squared errors of the classifier."""
        if self.linear is None and self.classifier is not None:
            return -self.classifier.reconstruction_errors(self.encode(rows))
        return super().score(rows)

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class for each row."""
        if self.linear is None and self.classifier is not None:
            return self.classifier.predict_proba(self.encode(rows))
        return super().probabilities(rows)

    def restrict(self, columns: np.ndarray, release: Any) -> Self:
        """Return the marginal of some of the columns; a classifier of rows has none.

        Scores from moments are estimated again from the remaining moments, which reduces the
        effect of noise. Codes of all columns do not depend on the order of these.
        """
        moments = self.moments.restrict(columns)
        subspace, mixtures = self._restricted_mixtures(columns)
        every = len(columns) == release.n_features
        codes = self.code_classifier if every else None
        linear = None if self.linear is None else linear_discriminant(moments)
        if self.classifier is not None and linear is codes is mixtures is None:
            subspace = Subspace.of_columns(self.moments, columns, len(columns))
            mixtures = Mixtures.of_moments(moments, subspace)
        alignment = None if self.alignment is None else self.alignment.restrict(columns)
        return type(self)(
            moments, linear, subspace, mixtures, alignment=alignment, code_classifier=codes
        )

    def contents(self) -> list[str]:
        """Return what this consists of, a line for each part."""
        lines = [] if self.alignment is None else [self.alignment.contents()]
        lines += super().contents()
        for key, classifier in self.classifiers.items():
            subsets = [a for group in classifier.autoencoders_by_class() for a in group]
            depth = len(subsets[0].precisions_)
            rows = _CLASSIFIERS[key]
            lines.append(f"{len(subsets)} autoencoders (depth {depth}) of {rows} rows")
        return lines

    def pack_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what the header of a file says of this, and its arrays by their keys."""
        header, arrays = super().pack_file()
        for key, classifier in self.classifiers.items():
            header[key], classifier_arrays = pack_classifier(classifier, f"{key}/")
            arrays |= classifier_arrays
        return header, arrays

    @classmethod
    def unpack_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Return what :meth:`pack_file` took apart."""
        classifiers = {
            key: unpack_classifier(header.pop(key), arrays, f"{key}/")
            for key in _CLASSIFIERS
            if key in header
        }
        if set(header) != {"model"}:
            raise ValueError("the header holds more than a model of rows has")
        return replace(cls.unpack(arrays) or cls(), **classifiers)


def _check_classifier(classifier, name, release, n_inputs):
    """Raise ValueError unless this is a fitted classifier of as many features, or None."""
    if classifier is not None:
        fitted = isinstance(classifier, WideCDMMAClassifier) and hasattr(classifier, "classes_")
        require(fitted, name, "must be a fitted WideCDMMAClassifier")
        same = np.array_equal(classifier.classes_, release.outcome.groups)
        require(same, name, "must have the same classes")
        reads = classifier.n_features_in_ == n_inputs
        require(reads, name, f"must read {n_inputs} features")

"""Models with means and covariances: of noisy moments, and of noisy rows.

The first scores rows by a softmax regression, or by mixtures in principal directions; the second
has parts that are corrected for the noise in rows, and parts for the papers' strategies.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from skdp.membership import (
    WideCDMMAClassifier,
    frozen_classifier,
    pack_classifier,
    unpack_classifier,
)
from skdp.release._linear_scores import (
    NOT_SEPARATED,
    LinearScores,
    linear_discriminant,
    restrict_linear,
)
from skdp.release._mixtures import Mixtures
from skdp.release._model import Model
from skdp.release._moments import Moments
from skdp.release._parts import array, part, require
from skdp.release._subspace import Alignment, Subspace

# Classifiers of a model of rows, and which rows each is of.
_CLASSIFIERS = {"code_classifier": "denoised", "row_classifier": "noisy"}


@dataclass(frozen=True)
class PrincipalModel(Model):
    """Moments of the classes, with scores that were learned in principal directions.

    Attributes
    ----------
    moments : Moments

    linear : LinearScores or None, default=None
        Of a softmax regression.

    subspace : Subspace or None, default=None
        The directions of the mixtures.

    mixtures : Mixtures or None, default=None
        A mixture of normal distributions for each class.

    confidence : ndarray of shape (1,) or None, default=None
        From 0 to 1: log-posteriors s, limited as by ``limited_scores``, become
        log π + confidence · (s − log π), where π are the class frequencies. The source chose the
        confidence by noisy Brier scores of its rows. None for 1, without limits.
    """

    kind = "principal"

    moments: Moments = part(Moments)
    linear: LinearScores | None = part(LinearScores, optional=True)
    subspace: Any = part(Subspace, optional=True)
    mixtures: Mixtures | None = part(Mixtures, optional=True)
    confidence: np.ndarray | None = array("1", least=0, below=1.001, optional=True)

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless each part has the other parts that it needs."""
        present = self.present().keys()
        needs = {"subspace": "moments", "mixtures": "subspace", "code_classifier": "subspace"}
        for key, needed in needs.items():
            complete = key not in present or needed in present
            require(complete, key, f"needs {needed}, but there is none")
        plain = self.linear is None or self.linear.basis is None
        require(plain, "linear.basis", "must be left out: scores are of the columns themselves")

    def effective_rows(self, release: Any) -> float:
        r"""Return the number of rows that would be as informative without noise.

        Noise in a mean of N rows of p columns, by a mechanism of sensitivity/σ = μ, leaves the
        information of :math:`N/(1 + p/(μ^2 N))` rows.
        """
        n_rows = self.moments.class_counts.sum()
        distance = release.guarantee.gaussian_distance
        square = (release.guarantee.epsilon if distance is None else distance) ** 2
        return float(n_rows / (1 + release.n_features / (square * n_rows)))

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Return log-posteriors up to a constant for each row."""
        if self.linear is not None:
            return self.tempered(self.linear.scores(rows))
        if self.mixtures is not None:
            codes = self.encode(rows)
            return self.tempered(self.mixtures.log_posteriors(codes, self.moments.frequencies))
        return super().score(rows)

    def tempered(self, scores: np.ndarray) -> np.ndarray:
        """Return log-posteriors with confidence reduced by the noise behind them."""
        if self.confidence is None:
            return scores
        return tempered_scores(scores, self.moments.class_counts, self.confidence)

    def doubt(self) -> str | None:
        """Return the warning that classes are not separated, or None; from noisy numbers."""
        if self.confidence is None or self.confidence[0] > 0:
            return super().doubt()
        return NOT_SEPARATED

    def result_lines(self, release: Any) -> list[str]:
        """Return lines of the summary about the results; they are noisy and may be shown."""
        lines = super().result_lines(release)
        if self.confidence is not None:
            share = f"{self.confidence[0]:.0%}"
            lines.append(f"confidence: the noise leaves {share} of the log-odds that were learned")
        return lines

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Return coordinates of rows in the subspace; the rows where there is none."""
        return rows if self.subspace is None else self.subspace.encode(rows)

    def restrict(self, columns: np.ndarray, release: Any) -> Self:
        """Return the marginal of some of the columns."""
        subspace, mixtures = self._restricted_mixtures(columns)
        linear = self.linear
        if linear is not None:
            linear = restrict_linear(linear, self.moments, columns)
        moments = self.moments.restrict(columns)
        return type(self)(moments, linear, subspace, mixtures, self.confidence)

    def _restricted_mixtures(self, columns):
        """Return subspace and mixtures of some of the columns, if the model has mixtures."""
        subspace, mixtures = self.subspace, self.mixtures
        if subspace is None:
            return None, None
        if mixtures is not None:
            mixtures = mixtures.restrict(columns, subspace, self.moments)
        return subspace.restrict(columns, self.moments), mixtures

    def contents(self) -> list[str]:
        """Return what this consists of, a line for each part."""
        present = self.present()
        lines = ["counts, means and covariances of the classes"] * ("moments" in present)
        lines += [present[key].contents() for key in ("subspace", "mixtures") if key in present]
        return lines + ["linear scores of the classes"] * ("linear" in present)


def limited_scores(scores: np.ndarray, class_counts: np.ndarray) -> np.ndarray:
    """Return log-posteriors limited to at most log n below the largest.

    n rows cannot show odds beyond n to one, whereas noisy descent may claim odds of exp(100).

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)

    class_counts : ndarray of shape (n_classes,)
        Noisy numbers of rows.
    """
    most = np.log(max(class_counts.sum(), 2.0))
    return np.maximum(scores, scores.max(axis=1, keepdims=True) - most)


def tempered_scores(
    scores: np.ndarray, class_counts: np.ndarray, confidence: float | np.ndarray
) -> np.ndarray:
    """Return log frequencies plus a share of how far limited log-posteriors differ from them.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)

    class_counts : ndarray of shape (n_classes,)

    confidence : float
        The share.
    """
    log_frequencies = np.log(class_counts / class_counts.sum())
    return log_frequencies + confidence * (limited_scores(scores, class_counts) - log_frequencies)


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
        return {key: made for key, made in self.present().items() if key in _CLASSIFIERS}

    @property
    def classifier(self) -> Any:
        """Classifier of the codes if the model has a subspace, otherwise of the noisy rows."""
        return self.row_classifier if self.subspace is None else self.code_classifier

    @property
    def calibrated(self) -> bool:
        """bool: whether scores are log-posteriors; errors of reconstruction are none."""
        return self.linear is not None

    @property
    def _reconstructs(self):
        """Whether rows are scored by how well a classifier reconstructs them."""
        return self.classifier is not None and not self.calibrated

    @property
    def structure(self) -> Mixtures | None:
        """Mixtures with several components in a class, or None.

        Noise of rows leaves one normal distribution of each class wider than the true one.
        """
        mixtures = self.mixtures
        return mixtures if mixtures is not None and mixtures.is_multimodal else None

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless parts fit together, and there are moments or a classifier."""
        super().check(name, release)
        some = self.moments is not None or self.row_classifier is not None
        require(some, "release", "has neither statistics, moments nor a classifier")
        for key, classifier in self.classifiers.items():
            coded = key == "code_classifier"
            n_inputs = len(self.subspace.variances) if coded else release.n_features
            _check_classifier(classifier, key, release, n_inputs)

    def freeze(self, copy: bool) -> Self:
        """Return this as if read from its file, with read-only arrays."""
        frozen = {key: frozen_classifier(made, copy) for key, made in self.classifiers.items()}
        return replace(super().freeze(copy), **frozen)

    def effective_rows(self, release: Any) -> float:
        """Return the number of rows of a class whose mean would be as precise without noise."""
        return self.moments.precision

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Return log-posteriors, or minus the squared errors of the classifier."""
        if self._reconstructs:
            return -self.classifier.reconstruction_errors(self.encode(rows))
        return super().score(rows)

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class for each row."""
        if self._reconstructs:
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
    """Raise ValueError unless this is a fitted classifier of as many features."""
    fitted = isinstance(classifier, WideCDMMAClassifier) and hasattr(classifier, "classes_")
    require(fitted, name, "must be a fitted WideCDMMAClassifier")
    same = np.array_equal(classifier.classes_, release.outcome.groups)
    require(same, name, "must have the same classes")
    reads = classifier.n_features_in_ == n_inputs
    require(reads, name, f"must read {n_inputs} features")

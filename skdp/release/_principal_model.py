"""The model of noisy moments: a softmax regression, or mixtures in principal directions."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skdp.release._linear_scores import NOT_SEPARATED, LinearScores, restrict_linear
from skdp.release._mixtures import Mixtures
from skdp.release._model import Model
from skdp.release._moments import Moments
from skdp.release._parts import array, part, require
from skdp.release._subspace import Subspace


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
    subspace: Subspace | None = part(Subspace, optional=True)
    mixtures: Mixtures | None = part(Mixtures, optional=True)
    confidence: np.ndarray | None = array("1", least=0, below=1.001, optional=True)

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless each part has the other parts that it needs."""
        needs = self.subspace is None or self.moments is not None
        require(needs, "subspace", "needs moments, but there are none")
        needs = self.mixtures is None or self.subspace is not None
        require(needs, "mixtures", "need a subspace, but there is none")
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
        lines = []
        if self.moments is not None:
            lines.append("counts, means and covariances of the classes")
        lines += [part.contents() for part in (self.subspace, self.mixtures) if part is not None]
        return lines if self.linear is None else [*lines, "linear scores of the classes"]


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

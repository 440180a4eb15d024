"""The model of noisy moments: a softmax regression, or mixtures in principal directions."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skdp.release._linear_scores import LinearScores, restrict_linear
from skdp.release._mixtures import Mixtures
from skdp.release._model import Model
from skdp.release._moments import Moments
from skdp.release._parts import part, require
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
    """

    kind = "principal"

    moments: Moments = part(Moments)
    linear: LinearScores | None = part(LinearScores, optional=True)
    subspace: Subspace | None = part(Subspace, optional=True)
    mixtures: Mixtures | None = part(Mixtures, optional=True)

    def check(self, name: str, release: Any) -> None:
        """Raise ValueError unless what needs another part has it."""
        needs = self.subspace is None or self.moments is not None
        require(needs, "subspace", "needs moments, but there are none")
        needs = self.mixtures is None or self.subspace is not None
        require(needs, "mixtures", "need a subspace, but there is none")

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
            return self.linear.scores(rows)
        if self.mixtures is not None:
            return self.mixtures.log_posteriors(self.encode(rows), self.moments.frequencies)
        return super().score(rows)

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Return coordinates of rows in the subspace; the rows where there is none."""
        return rows if self.subspace is None else self.subspace.encode(rows)

    def restrict(self, columns: np.ndarray, release: Any) -> Self:
        """Return the marginal of some of the columns."""
        subspace, mixtures = self._restricted_mixtures(columns)
        linear = self.linear
        if linear is not None:
            linear = restrict_linear(linear, self.moments, columns)
        return type(self)(self.moments.restrict(columns), linear, subspace, mixtures)

    def _restricted_mixtures(self, columns):
        """Return subspace and mixtures of some of the columns, where there are any."""
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

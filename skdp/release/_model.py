"""The interface of what a release has learned: one model, of which all it can say follows."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax

from skdp.release._moments import normal_root
from skdp.release._parts import Part
from skdp.release._prediction import ClassPrediction


class Model(Part):
    """What a release knows of the distribution of its rows: a frozen dataclass of parts.

    A model scores rows, draws synthetic ones, is restricted to some of its columns, may be merged,
    and describes itself. ``release`` is in each method the frame around it: classes, columns and
    guarantees, which are public.
    """

    # In the header of a file.
    kind: ClassVar[str]
    # Whether noise was added to rows, and not to sums over rows.
    noise_in_rows: ClassVar[bool] = False
    # What only some models have.
    statistics: Any = None
    hazards: Any = None
    descent: Any = None
    moments: Any = None
    linear: Any = None
    regression: Any = None
    subspace: Any = None
    mixtures: Any = None
    alignment: Any = None
    classifier: Any = None
    row_classifier: Any = None

    def parts(self) -> dict[str, Any]:
        """Return all that this consists of, and what is estimated from it, by name."""
        names = ("statistics", "moments", "linear", "regression")
        estimated = {name: getattr(self, name) for name in names}
        contents = estimated | {inner.name: getattr(self, inner.name) for inner in fields(self)}
        return {name: content for name, content in contents.items() if content is not None}

    @property
    def calibrated(self) -> bool:
        """bool: whether scores are log-posteriors, as sure of the classes as they should be."""
        return True

    @property
    def structure(self) -> Any:
        """Mixtures or None: those that show more of a class than where it lies and how wide."""
        return self.mixtures

    def effective_rows(self, release: Any) -> float:
        """Return the number of rows that would be as informative without noise."""
        raise NotImplementedError

    def tempered(self, scores: np.ndarray) -> np.ndarray:
        """Return log-posteriors that are as sure as the noise behind them leaves them."""
        return scores

    @property
    def prediction(self) -> ClassPrediction:
        """What follows for rows and outcomes, of classes unless a model says otherwise."""
        return ClassPrediction(self)

    def doubt(self) -> str | None:
        """Return the warning that nothing may be predicted, or None; from noisy numbers."""
        return self.prediction.doubt()

    def result_lines(self, release: Any) -> list[str]:
        """Return lines of the summary about the results; they are noisy and may be shown."""
        return self.prediction.result_lines(release)

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Return the score of each class for each row; larger is more likely."""
        raise ValueError(
            "This release has no classifier of its own. Learn from it with DPTransferClassifier, "
            "or ask its owner for a release with one."
        )

    def risks(self, rows: np.ndarray) -> np.ndarray:
        """Return the log-hazard of each row."""
        raise NotImplementedError

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of each class for each row."""
        return softmax(self.score(rows), axis=1)

    def sample(self, n: int, release: Any, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return synthetic rows, and their outcomes."""
        # Classes are drawn by their frequencies, and rows from the normal distribution of their
        # class, which mixtures refine in their subspace.
        moments = self.moments
        labels = random_state.choice(len(release.classes), n, p=moments.frequencies)
        rows, roots = np.empty((n, release.n_features)), {}
        for c in np.unique(labels):
            members = np.flatnonzero(labels == c)
            k = c if len(moments.covariances) > 1 else 0  # one that all classes share
            if k not in roots:
                roots[k] = normal_root(moments.covariance(k), moments.eigenvalue_noise)
            normal = random_state.standard_normal((len(members), release.n_features)) @ roots[k]
            rows[members] = self._with_mixture(c, moments.means[c] + normal, random_state)
        if release.bounds is not None:
            rows = np.clip(rows, *release.bounds)
        return rows, release.classes[labels]

    def _with_mixture(self, c, rows, random_state):
        """Return rows of one class, by its mixture in the subspace and as they are elsewhere."""
        subspace = self.subspace
        if self.mixtures is None or subspace is None:
            return rows
        inside = subspace.project(rows)
        codes = self.mixtures.select([c]).sample(len(rows), random_state) / subspace.scale
        return rows + (codes - inside) @ subspace.components

    def restrict(self, columns: np.ndarray, release: Any) -> Self:
        """Return the marginal of some of the columns, given by number in their new order."""
        raise NotImplementedError

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """Return the model of all rows of several sources."""
        raise NotImplementedError

    def contents(self) -> list[str]:
        """Return what this consists of, a line for each part."""
        raise NotImplementedError

    def pack_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what the header of a file says of this, and its arrays by their keys."""
        return {"model": self.kind}, self.pack()

    @classmethod
    def unpack_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Return what :meth:`pack_file` took apart."""
        if set(header) != {"model"}:
            raise ValueError("the header holds more than a model of its kind has")
        model = cls.unpack(arrays)
        if model is None:
            raise ValueError("the file has no arrays of a model")
        return model

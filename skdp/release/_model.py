"""The interface of the one model in a release, from which all its results are computed."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax

from skdp.release._moments import normal_root
from skdp.release._parts import Part
from skdp.release._prediction import ClassPrediction


class Model(Part):
    """The learned distribution of a release's rows: a frozen dataclass of parts.

    A model scores rows, draws synthetic rows, can be restricted to some columns and perhaps
    merged, and describes itself. The argument ``release`` of each method provides the public
    properties: classes, columns and guarantees.
    """

    # In the header of a file.
    kind: ClassVar[str]
    # Whether noise was added to rows rather than to sums over rows.
    noise_in_rows: ClassVar[bool] = False
    # Parts that only some models have.
    statistics: Any = None
    hazards: Any = None
    baseline: Any = None
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
        """Return the parts of this model, and the estimates made from them, by name."""
        names = ("statistics", "moments", "linear", "regression")
        estimated = {name: getattr(self, name) for name in names}
        contents = estimated | {inner.name: getattr(self, inner.name) for inner in fields(self)}
        return {name: content for name, content in contents.items() if content is not None}

    @property
    def calibrated(self) -> bool:
        """bool: whether scores are calibrated log-posteriors."""
        return True

    @property
    def structure(self) -> Any:
        """Mixtures or None: those that describe more than the moments of a class."""
        return self.mixtures

    def effective_rows(self, release: Any) -> float:
        """Return the number of rows that would be as informative without noise."""
        raise NotImplementedError

    def tempered(self, scores: np.ndarray) -> np.ndarray:
        """Return log-posteriors with confidence reduced by the noise behind them."""
        return scores

    @property
    def prediction(self) -> ClassPrediction:
        """The prediction for rows and outcomes; of classes unless overridden."""
        return ClassPrediction(self)

    def doubt(self) -> str | None:
        """Return a warning if noisy numbers show that the model may predict nothing, else None."""
        return self.prediction.doubt()

    def result_lines(self, release: Any) -> list[str]:
        """Return lines of the summary about the results, which are noisy and may be shown."""
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
        # Draw classes by their frequencies, and rows from the normal distribution of their class,
        # refined by mixtures in their subspace.
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
        """Return rows of one class, drawn again from its mixture within the subspace."""
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
        """Return one model of the rows of several sources."""
        raise NotImplementedError

    def contents(self) -> list[str]:
        """Return a line of text for each part of this model."""
        raise NotImplementedError

    def pack_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the entry of this model in the header of a file, and its arrays by key."""
        return {"model": self.kind}, self.pack()

    @classmethod
    def unpack_file(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Return the model that :meth:`pack_file` packed."""
        if set(header) != {"model"}:
            raise ValueError("the header holds more than a model of its kind has")
        model = cls.unpack(arrays)
        if model is None:
            raise ValueError("the file has no arrays of a model")
        return model

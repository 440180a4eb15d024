"""The interface of the one model in a release, and its predictions of classes.

All results of a release are computed from its model. Predictions of numbers and times, in
``_numbers`` and ``_times``, have the methods of those of classes. A release and its model call
these methods; no other file depends on the kind of the outcome.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags

from skdp.release._moments import normal_root
from skdp.release._parts import Part, class_names
from skdp.tabular import canonical, spelled_as
from skdp.utils._labels import scorable_labels


@dataclass(frozen=True)
class ClassPrediction:
    """The class of each row, by a model with scores.

    Attributes
    ----------
    model : Model
    """

    model: Any

    kind = "class"
    # Results of noisy sums besides means and covariances.
    learned = "scores"
    # Advice to the owner of a release that may predict nothing.
    advice = (
        "Check that labels are spelled like the classes and columns have the schema's units. If "
        "so, rows are too few."
    )
    # Whether rows without a schema are drawn from the normal distributions of the classes.
    draws_normal_rows = True

    def predict(self, release: Any, rows: np.ndarray, **asked: Any) -> Any:
        """Return the prediction for each encoded row."""
        refuse_numbers(asked)
        return release.classes[self.model.score(rows).argmax(axis=1)]

    def score(self, release: Any, y: Any, predicted: np.ndarray) -> float:
        """Return the score of predictions, here the accuracy."""
        labels = list(map(canonical, release.classes.tolist()))
        y = spelled_as(scorable_labels(y, "Release.score", "auto", labels), release.classes)
        return float(accuracy_score(y, predicted))

    def tags(self) -> dict[str, Any]:
        """Return scikit-learn's tags of the kind of estimator."""
        return {"estimator_type": "classifier", "classifier_tags": ClassifierTags()}

    def doubt(self) -> str | None:
        """Return a warning if noisy numbers show that nothing may be predicted, else None."""
        return None if self.model.linear is None else self.model.linear.doubt()

    def sample(self, release: Any, rows: np.ndarray, random_state: Any) -> np.ndarray:
        """Return random outcomes given the rows."""
        steps = np.cumsum(softmax(self.model.score(rows), axis=1), axis=1)
        places = random_state.random_sample((len(rows), 1)) * steps[:, -1:]
        return release.classes[(places > steps[:, :-1]).sum(axis=1)]

    def contrast(self, release: Any, positive: Any) -> np.ndarray:
        """Return the weights of :meth:`terms` in effects: log-odds of a class against others."""
        unknown = release.encoder is None and release.bounds is None
        if release.linear is None or unknown:
            raise ValueError(
                "This release has no scores that are sums over columns. Those of "
                "DPStatisticsSource with model='linear' or 'gradients' have such scores; 'auto' "
                "uses these for tables."
            )
        classes = release.classes.tolist()
        if positive is None and len(classes) == 2:
            positive = classes[1]
        if positive not in classes:
            raise ValueError(
                "The 'positive' parameter of Release.effects must be one of the classes "
                f"{classes}, got {positive!r:.100}."
            )
        is_positive = np.array([label == positive for label in classes])
        return np.where(is_positive, 1.0, -1 / (len(classes) - 1))

    def terms(self, release: Any, rows: np.ndarray) -> np.ndarray:
        """Return the additive scores from which effects are computed, one per column."""
        return self.model.score(rows)

    def explanation(self, release: Any, row: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Return the explained function of rows, and further facts of the explanation."""

        def log_probabilities(rows):
            # The floor is far below what rounds to 0 beside 1.
            return np.log(np.maximum(self.model.probabilities(rows), 1e-300))

        return log_probabilities, {"classes": release.classes}

    def ratios(self, widths: np.ndarray, confidence: float) -> dict[str, Any]:
        """Return what a descriptive table says of categories besides shares, by name: nothing."""
        return {}

    def result_lines(self, release: Any) -> list[str]:
        """Return lines of the summary about the results, which are noisy and may be shown."""
        lines, moments, linear = [], self.model.moments, self.model.linear
        if moments is not None:
            counts = ", ".join(
                f"{label} {round(float(count)):,}"
                for label, count in zip(class_names(release), moments.class_counts, strict=True)
            )
            exact = self.model.noise_in_rows
            note = "as the release has them" if exact else "noisy; these may be shown"
            lines.append(f"{release.guarantee.counted} of each class ({note}): {counts}")
        if linear is not None:
            lines += linear.result_lines(release)
        return lines


def refuse_numbers(asked):
    """Raise ValueError if what only numbers have is asked for."""
    for name, value in asked.items():
        if value not in (None, False, "mean"):
            raise ValueError(f"The {name!r} parameter of Release.predict is for numbers only.")


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
        estimated = {name: part for name, part in estimated.items() if part is not None}
        return estimated | self.present()

    @property
    def calibrated(self) -> bool:
        """bool: whether scores are calibrated log-posteriors."""
        return True

    @property
    def structure(self) -> Any:
        """Mixtures that describe more than the moments of a class, or None."""
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

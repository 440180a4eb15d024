"""Predictions of classes: how they are made, scored, explained and described.

Predictions of numbers and times, in ``_numbers`` and ``_times``, have the same methods. A release
and its model call these methods; no other file depends on the kind of the outcome.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags

from skdp.release._parts import class_names
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
        "Check that labels are spelled like the classes, and that columns are in the units of "
        "their bounds. If so, there are too few rows for this epsilon. On its own such a release "
        "is useless; merged with others it may help a little."
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

    def hazard_ratios(self, widths: np.ndarray, confidence: float) -> Any:
        """Return the estimator of hazard ratios of categories; None except for times."""
        return None

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

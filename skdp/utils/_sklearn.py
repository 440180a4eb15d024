"""The one place that imports scikit-learn's private parts, or knows of them.

Everything else in skdp takes these names from here, so a scikit-learn release
that moves one of them is mended in one line.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import _fit_context
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
    validate_params,
)
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in

try:  # scikit-learn >= 1.8
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

_Method = TypeVar("_Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Return scikit-learn's decorator of ``fit`` methods, which keeps their types."""
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


def refuse_scorers(estimator: Any) -> None:
    """Raise ValueError where cross-validation fits a source, to score predictions it has not.

    The scorer would fail after each fit, whose budget is spent by then.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "_fit_and_score":
        frame = frame.f_back
    if frame is None or frame.f_locals.get("estimator") is not estimator:
        return
    scorer = frame.f_locals.get("scorer")
    scorers = getattr(scorer, "_scorers", {"score": scorer}).values()
    if any(isinstance(scorer, _BaseScorer) for scorer in scorers):
        raise ValueError(
            f"A {type(estimator).__name__} makes a release, and predicts nothing by itself: "
            "scikit-learn's 'scoring' would fail after each fit, whose budget is spent by then. "
            "Pass a function as scoring=lambda source, X, y: source.release_.score(X, y)."
        )

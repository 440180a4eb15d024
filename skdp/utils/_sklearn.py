"""The only module that imports scikit-learn's private parts.

Everything else in skdp takes these names from here, so that a scikit-learn release that moves one
of them needs a change of one line.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import _fit_context
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

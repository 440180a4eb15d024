"""A warning names the line of whoever called skdp, however deep it arose."""

import inspect
import warnings

import pytest
from sklearn.pipeline import make_pipeline

import skdp
from skdp import MembershipMapping, PrivacyLeakWarning
from skdp.utils._warnings import recorded_warnings, show_warnings, warn


def test_a_warning_names_the_line_that_led_here():
    with pytest.warns(PrivacyLeakWarning, match="words") as caught:
        warn("words", PrivacyLeakWarning)
    here = inspect.currentframe().f_lineno - 1
    assert (caught[0].filename, caught[0].lineno) == (__file__, here)


def test_frames_of_skdp_and_scikit_learn_are_passed_over(rng):
    X = rng.normal(size=(30, 2))
    model = make_pipeline(MembershipMapping(max_iter=1, tol=1e-9, inference="empirical"))
    with pytest.warns(Warning, match="max_iter=1") as caught:
        model.fit(X, X)
    assert caught[0].filename == __file__


def test_folders_whose_names_only_begin_alike_are_not_passed_over():
    path = skdp.__path__[0] + "_user/a.py"
    with pytest.warns(UserWarning, match="words") as caught:
        exec(compile("warn('words')", path, "exec"), {"warn": warn})
    assert caught[0].filename == path


@pytest.mark.parametrize("error", [RuntimeError, UserWarning])
def test_what_is_shown_at_last_never_raises(monkeypatch, error):
    """A result, and what it cost, would be lost."""

    def fails(*_):
        raise error

    with warnings.catch_warnings():
        with recorded_warnings() as told:
            warnings.warn("doubt", stacklevel=1)
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", fails)
        show_warnings(told)

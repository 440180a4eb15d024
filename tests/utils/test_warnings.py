"""A warning names the line of whoever called skdp, however deep it arose."""

import inspect

import pytest
from sklearn.pipeline import make_pipeline

import skdp
from skdp import MembershipMapping, PrivacyLeakWarning
from skdp.utils._warnings import warn


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

"""What all displays have in common with those of scikit-learn."""

import builtins
import inspect

import numpy as np
import pandas as pd
import pytest

import skdp.displays
from skdp.displays import (
    AuditDisplay,
    EffectsDisplay,
    EvaluationDisplay,
    PrivacyUtilityDisplay,
    ReleaseDisplay,
    SurvivalDisplay,
)

plt = pytest.importorskip("matplotlib.pyplot")

CURVE = pd.DataFrame(
    {"probability": [0.2, 0.8], "frequency": [0.3, 0.7], "low": [0.1, 0.5], "high": [0.5, 0.9]}
)
ROC = pd.DataFrame(
    {"false_positives": [0, 1], "true_positives": [0.5, 1], "low": [0.4, 1], "high": [0.6, 1]}
)
RESIDUALS = pd.DataFrame(
    {"residual": [-1, 1], "share": [0.5, 0.5], "low": [0.4, 0.4], "high": [0.6, 0.6]}
)
OUTCOMES = pd.DataFrame(
    {"prediction": [2, 8], "outcome": [3, 7], "low": [1, 5], "high": [5, 9], "rows": [0.5, 0.5]}
)
SURVIVAL = pd.DataFrame({"time": [0, 9], "survival": [1, 0.5], "low": [1, 0.4], "high": [1, 0.6]})


@pytest.fixture(scope="module")
def displays(release):
    """One of each, with the number of its panels."""
    scores = pd.DataFrame({"epsilon": [1.0, 4.0, np.inf], "score": [0.6, 0.8, 0.9]})
    return {
        "audit": (AuditDisplay({"loss": ([0, 0.1, 1], [0, 0.5, 1])}), 1),
        "evaluation": (EvaluationDisplay(ROC, CURVE), 2),
        "evaluation of a number": (EvaluationDisplay(RESIDUALS, OUTCOMES), 2),
        "utility": (PrivacyUtilityDisplay.from_scores(scores), 1),
        "release": (ReleaseDisplay.from_release(release), 4),
        "effects": (EffectsDisplay.from_release(release), 3),
        "survival": (SurvivalDisplay(SURVIVAL), 1),
    }


NAMES = (
    *("audit", "evaluation", "evaluation of a number", "utility", "release", "effects"),
    "survival",
)
each_display = pytest.mark.parametrize("name", NAMES)


def test_each_class_is_looked_at(displays):
    assert set(displays) == set(NAMES)
    found = {type(display).__name__ for display, _ in displays.values()}
    assert found == set(skdp.displays.__all__)


def test_effects_name_the_class_of_their_odds(release):
    first, second = release.classes.tolist()
    assert EffectsDisplay.from_release(release).adds_to == f"log-odds of {second}"
    other = EffectsDisplay.from_release(release, positive=first)
    assert other.adds_to == f"log-odds of {first}"


@each_display
def test_plot_makes_a_figure_or_takes_axes(displays, name):
    display, n = displays[name]
    before = {key for key in vars(display) if not key.endswith("_")}
    assert display.plot() is display
    own = display.figure_
    assert display.ax_.get_figure() is own
    own.canvas.draw()
    figure, axes = plt.subplots(1, n, squeeze=False)
    given = axes[0, 0] if n == 1 else axes[0]
    assert display.plot(given) is display
    assert display.figure_ is figure
    assert display.ax_ is axes[0, 0]
    # What is plotted are the arguments of the constructor, as of scikit-learn's displays.
    assert before == set(inspect.signature(type(display)).parameters)
    plt.close(own)
    plt.close(figure)


@each_display
def test_axes_that_are_none_are_refused(displays, name):
    display, n = displays[name]
    with pytest.raises(ValueError, match=rf"'ax' parameter of {type(display).__name__}\.plot"):
        display.plot("axes")
    if n > 1:
        figure, ax = plt.subplots()
        with pytest.raises(ValueError, match=f"must be {n} or more matplotlib axes"):
            display.plot(ax)
        plt.close(figure)


@each_display
def test_without_matplotlib_the_remedy_is_named(displays, name, monkeypatch):
    real = builtins.__import__

    def without(module, *args, **kwargs):
        if module.startswith("matplotlib"):
            raise ImportError(module)
        return real(module, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"Display\.plot needs .*pip install 'skdp\[plot\]'"):
        displays[name][0].plot()


def test_every_constructor_refuses_something_else():
    found = 0
    for name in skdp.displays.__all__:
        display = getattr(skdp.displays, name)
        for method, _ in inspect.getmembers(display, inspect.ismethod):
            if not method.startswith("from_") or method == "from_scores":
                continue
            with pytest.raises(ValueError, match=rf"parameter of {name}\.{method} must be"):
                getattr(display, method)(object(), *[None] * (method == "from_estimator"))
            found += 1
    assert found == 7


def test_a_class_in_place_of_an_object_is_told():
    with pytest.raises(ValueError, match="got the class Release"):
        ReleaseDisplay.from_release(skdp.Release)

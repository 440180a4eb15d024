"""What all displays have in common with those of scikit-learn."""

import builtins
import inspect

import numpy as np
import pandas as pd
import pytest

import skdp.displays
from skdp.displays import (
    AuditDisplay,
    CalibrationDisplay,
    EvaluationDisplay,
    ExplanationDisplay,
    LedgerDisplay,
    PredictionErrorDisplay,
    PrivacyUtilityDisplay,
    ReleaseDisplay,
    ShapeFunctionsDisplay,
    SurvivalDisplay,
    TransferReportDisplay,
)
from skdp.tabular import ColumnEffect, Explanation

plt = pytest.importorskip("matplotlib.pyplot")

CURVE = pd.DataFrame(
    {"probability": [0.2, 0.8], "frequency": [0.3, 0.7], "low": [0.1, 0.5], "high": [0.5, 0.9]}
)
ROC = pd.DataFrame(
    {"false_positives": [0, 1], "true_positives": [0.5, 1], "low": [0.4, 1], "high": [0.6, 1]}
)
SURVIVAL = pd.DataFrame(
    {"name": "all", "time": [0, 9], "survival": [1, 0.5], "low": [1, 0.4], "high": [1, 0.6]}
)


def parts(n):
    return pd.DataFrame(
        {
            "name": [f"part number {k}" for k in range(n)],
            "side": [("source", "both", "target")[k % 3] for k in range(n)],
            "weight": np.full(n, 1 / n),
            "log_loss": np.linspace(0.4, 0.6, n),
            "difference": np.linspace(0, 0.2, n),
            "standard_error": np.full(n, 0.02),
        }
    )


def explanation(label, effect):
    runner_up = "dead" if label == "alive" else "alive"
    age = ColumnEffect("age", 55.0, effect, (runner_up,), 18.0, 62.5, (18.0, 99.0))
    ward = ColumnEffect("ward", None, -0.1, ())
    return Explanation(label, 0.8, runner_up, 4.0, (age, ward), ("age",), 1.0)


@pytest.fixture(scope="module")
def displays(release, ledger):
    """One of each, with the number of its panels."""
    scores = pd.DataFrame({"epsilon": [1.0, 4.0, np.inf], "score": [0.6, 0.8, 0.9]})
    calibration = CalibrationDisplay(CURVE)
    return {
        "audit": (AuditDisplay.from_predictions([True, False], [1.0, 0.0]), 1),
        "calibration": (calibration, 1),
        "evaluation": (EvaluationDisplay(ROC, calibration), 2),
        "one explanation": (ExplanationDisplay.from_explanation(explanation("dead", 1.0)), 1),
        "explanations": (
            ExplanationDisplay.from_explanation(
                [explanation("dead", 1.0), explanation("alive", 0.5)]
            ),
            1,
        ),
        "errors": (PredictionErrorDisplay.from_predictions([1, 2, 4.0], [1, 3, 3.0]), 2),
        "ledger": (LedgerDisplay.from_ledger(ledger), 1),
        "utility": (PrivacyUtilityDisplay.from_scores(scores), 1),
        "release": (ReleaseDisplay.from_release(release), 4),
        "shapes": (ShapeFunctionsDisplay.from_release(release), 3),
        "report": (TransferReportDisplay(parts(3)), 1),
        "survival": (SurvivalDisplay(SURVIVAL, SURVIVAL), 1),
    }


NAMES = (
    *("audit", "calibration", "evaluation", "one explanation", "explanations", "ledger"),
    *("utility", "errors", "release", "shapes", "report", "survival"),
)
each_display = pytest.mark.parametrize("name", NAMES)


def test_each_class_is_looked_at(displays):
    assert set(displays) == set(NAMES)
    found = {type(display).__name__ for display, _ in displays.values()}
    assert found == set(skdp.displays.__all__)


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
    with pytest.raises(ImportError, match=r"Display\.plot draws .*pip install 'skdp\[plot\]'"):
        displays[name][0].plot()


def test_every_constructor_refuses_something_else():
    found = 0
    for name in skdp.displays.__all__:
        display = getattr(skdp.displays, name)
        for method, _ in inspect.getmembers(display, inspect.ismethod):
            if not method.startswith("from_") or method in ("from_predictions", "from_scores"):
                continue
            more = {"from_estimator": 1}.get(method, 0)
            by_rows = ("CalibrationDisplay", "PredictionErrorDisplay")
            more = 2 if name in by_rows and more else more
            more = 2 if (name, more) == ("PrivacyUtilityDisplay", 1) else more
            more = 0 if name == "TransferReportDisplay" else more
            with pytest.raises(ValueError, match=rf"parameter of {name}\.{method} must be"):
                getattr(display, method)(object(), *[[1, 0]] * more)
            found += 1
    assert found == 16


def test_a_class_in_place_of_an_object_is_told():
    with pytest.raises(ValueError, match="got the class PrivacyLedger"):
        LedgerDisplay.from_ledger(skdp.privacy.PrivacyLedger)


@pytest.mark.parametrize("n", [2, 10])
def test_texts_of_a_report_overlap_nothing(n):
    display = TransferReportDisplay(parts(n)).plot()
    display.figure_.canvas.draw()
    inside = display.figure_.bbox
    boxes = [text.get_window_extent() for text in display.ax_.texts if text.get_text()]
    boxes += [text.get_window_extent() for text in display.ax_.get_yticklabels()]
    boxes.append(display.ax_.get_legend().get_window_extent())
    for k, box in enumerate(boxes):
        assert inside.x0 <= box.x0 <= box.x1 <= inside.x1
        assert inside.y0 <= box.y0 <= box.y1 <= inside.y1
        assert not any(box.overlaps(other) for other in boxes[:k])
    plt.close(display.figure_)

"""Effects of columns are what scores change by."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from skdp import DPSource, DPStatisticsSource, Schema, TabularEncoder
from skdp.displays import EffectsDisplay, ReleaseDisplay

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = Schema.from_mapping(
    {
        "version": 1,
        "classes": ["no", "yes"],
        "columns": {
            "dose": {"type": "numeric", "low": 1, "high": 100, "log": True, "missing": True},
            "ward": {"type": "category", "categories": ["A", "B", "C"]},
            "sex": {"type": "category", "categories": ["F", "M"]},
        },
    }
)


def patients(n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": np.exp(rng.uniform(0, np.log(100), n))})
    frame["ward"], frame["sex"] = rng.choice(list("ABC"), n), rng.choice(list("FM"), n)
    logit = 1.0 * (frame["ward"] == "B") + (frame["dose"] > 10) - 1
    frame.loc[rng.random(n) < 0.1, "dose"] = np.nan
    return frame, np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")


@pytest.fixture(scope="module", params=["linear", "gradients"])
def release(request):
    return (
        DPStatisticsSource(8.0, encoder=SCHEMA, model=request.param).fit(*patients(5000)).release_
    )


def test_differences_are_those_of_the_scores(release):
    table = release.effects()
    row = pd.DataFrame({"dose": [10.0], "ward": ["A"], "sex": ["F"]})

    def log_odds(**changes):
        encoded = TabularEncoder(SCHEMA).fit_transform(row.assign(**changes))
        return float(release.scores(np.asarray(encoded))[0] @ [-1, 1])

    for name, other in (("ward", "B"), ("sex", "M"), ("dose", None)):
        part = table[table["column"] == name]
        chosen = part[part["value"].isna() if other is None else part["value"] == other]
        assert len(chosen) == 1
        start = {"ward": "A", "sex": "F", "dose": 10.0}[name]
        if name == "dose":
            base = part[np.isclose(part["value"].astype(float), 10.0)]
        else:
            base = part[part["value"] == start]
        found = chosen["effect"].iloc[0] - base["effect"].iloc[0]
        assert found == pytest.approx(log_odds(**{name: other}) - log_odds(), abs=1e-9)
        assert part["effect"].mean() == pytest.approx(0, abs=1e-12)
    ward = table[table["column"] == "ward"].set_index("value")["effect"]
    assert ward["B"] - (ward["A"] + ward["C"]) / 2 == pytest.approx(1.0, abs=0.3)


def test_names_are_no_formulas():
    odd = r"$\frac{$"
    schema = {
        odd: {"type": "category", "categories": [odd, "$", r"\$x$", "b"]},
        "$a$": {"type": "numeric", "low": 0, "high": 100},
    }
    rng = np.random.default_rng(0)
    table = pd.DataFrame({odd: rng.choice([odd, "$"], 500), "$a$": rng.uniform(0, 100, 500)})
    y = np.where(table["$a$"] > 50, odd, "$_{$")
    source = DPStatisticsSource(8.0, encoder=schema, classes=[odd, "$_{$"], model="gradients")
    release = source.fit(table, y).release_
    figure = EffectsDisplay.from_release(release).plot().figure_
    figure.canvas.draw()
    assert {ax.get_title() for ax in figure.axes} == {r"\$\frac{\$", r"\$a\$"}
    ReleaseDisplay.from_release(release).plot().figure_.canvas.draw()


def test_refusals(release):
    with pytest.raises(ValueError, match="'positive' parameter"):
        release.effects("maybe")
    with pytest.raises(ValueError, match=r"'columns' .* \['age'\]"):
        EffectsDisplay.from_release(release, columns=["age"])
    X = np.random.default_rng(0).random((60, 3))
    noisy = DPSource(8.0, bounds=(0, 1), n_layers=1).fit(X, X[:, 0] > 0.5).release_
    with pytest.raises(ValueError, match="sums over columns"):
        noisy.effects()


def test_an_explanation_of_a_row_is_of_what_the_release_predicts(release):
    """Its effects are, of a sum, those of the table; its probability that of predict_proba."""
    X, _ = patients(50)
    row = X.iloc[[7]]
    explanation = release.explain(row)
    assert explanation.prediction == release.predict(row)[0]
    assert explanation.probability == pytest.approx(release.predict_proba(row).max())
    table = release.effects(positive=explanation.prediction)
    wards = table[table["column"] == "ward"].set_index("value")["effect"]
    effects = explanation.to_frame()["effect"]
    assert effects["ward"] == pytest.approx(wards[row["ward"].item()], abs=1e-6)
    with pytest.raises(ValueError, match="must be one row"):
        release.explain(X[:2])


def test_rows_of_an_array_are_explained_between_the_bounds_of_the_release():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(10, 30, (3000, 2)), np.repeat(["low", "high"], 1500)
    X[1500:, 0] = rng.uniform(20, 30, 1500)
    bounds = {"bounds": (10, 30), "classes": ["low", "high"]}
    release = DPStatisticsSource(8.0, model="linear", **bounds).fit(X, y).release_
    explanation = release.explain([12.0, 20.0])
    assert (explanation.prediction, explanation.columns[0].name) == ("low", "x0")
    grid = np.column_stack([np.linspace(10, 30, 101), np.full(101, 20.0)])
    log_odds = release.scores(grid) @ [-1, 1]
    ends = np.array([log_odds.min(), log_odds.max()]) - log_odds.mean()
    assert explanation.towards == "low"
    assert [explanation.columns[0].least, explanation.columns[0].most] == pytest.approx(ends)

"""The additive model: its sums by bin, its residuals, its limit, and when it is chosen."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, Schema, TabularEncoder
from skdp.source import MODELS, _additive_model
from skdp.source._additive_model import BinnedRows, balanced_residuals
from skdp.source._integers import WEIGHT_GRID
from skdp.source._private_rows import PrivateRows, PublicColumns
from skdp.tabular import ClassOutcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = Schema.from_mapping(
    {
        "version": 1,
        "classes": ["no", "yes"],
        "columns": {
            "dose": {"type": "numeric", "low": 0, "high": 10, "missing": True},
            "age": {"type": "numeric", "low": 20, "high": 90},
            "ward": {"type": "category", "categories": ["A", "B", "C"]},
            "sex": {"type": "category", "categories": ["F", "M"], "missing": True},
            "stage": {"type": "category", "categories": ["I", "II", "III"], "ordered": True},
        },
    }
)


def patients(n, seed=0):
    """Return a table in which risk has a step and a bump that no line and cosine follow."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"dose": rng.uniform(0, 10, n), "age": rng.uniform(20, 90, n)})
    logit = 2.0 * (np.abs(frame["dose"] - 6.5) < 0.8) - 0.4 + 1.5 * (frame["age"] > 62) - 0.8
    frame["ward"] = rng.choice(["A", "B", "C"], n)
    logit += (frame["ward"] == "B") * 0.7
    frame["sex"] = rng.choice(np.array(["F", "M", None], dtype=object), n)
    frame["stage"] = rng.choice(["I", "II", "III"], n)
    frame.loc[rng.random(n) < 0.1, "dose"] = np.nan
    yes = rng.random(n) < 1 / (1 + np.exp(-logit))
    return frame, np.where(yes, "yes", "no")


def source(epsilon, model="additive", **settings):
    return DPStatisticsSource(epsilon, encoder=SCHEMA, model=model, **settings)


@pytest.fixture(scope="module")
def many():
    return patients(20_000)


@pytest.fixture(scope="module")
def release(many):
    return source(4.0).fit(*many).release_


class TestResiduals:
    def test_their_norm_is_one_at_most_and_that_of_the_longest(self):
        rng = np.random.default_rng(0)
        scores = rng.normal(0, 4, (300, 4))
        found = np.stack(
            [
                balanced_residuals(scores, np.full(300, c), np.full(300, WEIGHT_GRID))
                for c in range(4)
            ]
        )
        norms = np.linalg.norm(found, axis=2)
        assert norms.max() <= WEIGHT_GRID
        assert norms.max(axis=0) == pytest.approx(WEIGHT_GRID, rel=1e-4)

    def test_persons_count_by_their_rows(self):
        weights = np.array([WEIGHT_GRID, WEIGHT_GRID // 3])
        found = balanced_residuals(np.zeros((2, 2)), np.zeros(2, int), weights)
        assert found[1] == pytest.approx(found[0] / 3, abs=1.1)


def binned(frame, labels, groups=None):
    """Return rows on the grid of the model, with scores of a release that knows nothing."""
    columns = PublicColumns.of_schema(SCHEMA)
    grid = MODELS["additive"].grid(columns, None)
    X = np.asarray(TabularEncoder(SCHEMA).fit_transform(frame))
    rows = PrivateRows.of(X, [labels], ClassOutcome(np.array(["no", "yes"])), groups)
    exact = source(np.inf, "linear").fit(*patients(300)).release_
    linear = exact.linear.coefficients, exact.linear.intercepts
    return X, grid, BinnedRows.of(rows, grid, *linear), exact


def test_sums_are_those_of_the_rows_one_by_one():
    frame, labels = patients(200, 3)
    X, grid, rows, exact = binned(frame, labels)
    found = rows.sums_by_bin(grid.bins, balanced_residuals, 2)
    expected = np.zeros_like(found)
    p = exact.predict_proba(X)
    places = [np.linspace(0, 1, n) for n in (33, 33, 5)]
    offsets = np.cumsum([0, 34, 33, 4, 4, 5])
    assert grid.bins.offsets.tolist() == offsets.tolist()
    for x, q, label in zip(X, p, labels, strict=True):
        y = np.array([label == "no", label == "yes"], dtype=float)
        residual = (y - q) / (np.sqrt(2) * q.max()) * WEIGHT_GRID
        dose = 33 if x[1] else np.abs(places[0] - x[0]).argmin()
        age = np.abs(places[1] - x[2]).argmin()
        ward = int(x[3:6].argmax())
        sex, stage = int(x[6:9].argmax()), np.abs(places[2] - x[9]).argmin()
        for j, code in enumerate((dose, age, ward, sex, stage)):
            expected[:, offsets[j] + code] += np.rint(residual).astype(np.int64)
    assert np.abs(found - expected).max() <= 200 * 4  # steps of 2^-20, truncated row by row
    assert np.abs(found).max() > 5 * WEIGHT_GRID


def test_chunks_and_order_change_no_bit(monkeypatch):
    frame, labels = patients(500, 4)
    _, grid, rows, _ = binned(frame, labels)
    expected = rows.sums_by_bin(grid.bins, balanced_residuals, 2)
    monkeypatch.setattr(_additive_model, "_CHUNK", 37)
    order = np.random.default_rng(0).permutation(500)
    _, _, other, _ = binned(frame.iloc[order], labels[order])
    assert len(other.codes) == 14
    np.testing.assert_array_equal(other.sums_by_bin(grid.bins, balanced_residuals, 2), expected)


@pytest.mark.parametrize("k", [1, 4])
def test_a_person_changes_sums_by_the_sensitivity_at_most(k):
    frame, labels = patients(60, 5)
    more, more_labels = patients(k, 6)
    groups, more_groups = np.arange(60) // 2, np.append(np.arange(60) // 2, np.full(k, 99))
    _, grid, before, _ = binned(frame, labels, groups)
    _, _, after, _ = binned(pd.concat([frame, more]), np.append(labels, more_labels), more_groups)
    change = after.sums_by_bin(grid.bins, balanced_residuals, 2) - before.sums_by_bin(
        grid.bins, balanced_residuals, 2
    )
    moved = np.linalg.norm(change.astype(float))
    assert 0.1 * grid.sensitivity < moved <= grid.sensitivity
    assert grid.sensitivity == int(np.ceil(np.sqrt(5) * WEIGHT_GRID))


def test_bends_and_steps_are_found(many, release):
    test, y = patients(5000, 9)
    linear = source(4.0, "linear").fit(*many).release_
    areas, losses = [], []
    for each in (linear, release):
        p = each.predict_proba(test)[:, 1]
        areas.append(roc_auc_score(y == "yes", p))
        losses.append(log_loss(y == "yes", p))
    assert areas[1] > areas[0] + 0.01
    assert losses[1] < losses[0] - 0.01


class TestChoice:
    def test_the_sums_of_two_perturbations_are_those_of_the_rows(self):
        few = patients(60)
        exact = source(np.inf, "linear").fit(*few).release_.statistics.sums
        with warnings.catch_warnings(action="ignore"):
            drawn = [source(8.0, "auto").fit(*few).release_ for _ in range(40)]
        assert all(each.shapes is None for each in drawn)
        sums = [each.statistics.sums for each in drawn]
        for name, sd in (("counts", "count_sd"), ("total", "total_sd")):
            mean = np.mean([getattr(each, name) for each in sums], axis=0)
            spread = np.std([getattr(each, name) for each in sums], axis=0)
            noise = float(getattr(sums[0], sd)[0])
            assert np.abs(mean - getattr(exact, name)).max() < 4 * noise / np.sqrt(40)
            # 10 % more or less would be found: 40 draws of 10 and more numbers.
            assert np.sqrt(np.mean(spread**2)) == pytest.approx(noise, rel=0.25)


class TestRelease:
    @pytest.mark.parametrize(
        ("field", "change"),
        [
            ("start", lambda a: a + 5),
            ("width", lambda a: a.astype(float)),
            ("one_hot", lambda a: a + 1),
            ("n_bins", lambda a: a + 1),
            ("values", lambda a: a[:, :-1]),
            ("values", lambda a: a + np.inf),
            ("deviations", lambda a: -a - 1),
            ("low", lambda a: a + 2),
            ("intercepts", lambda a: a[:1]),
        ],
    )
    def test_what_is_no_shape_is_refused(self, release, field, change):
        altered = replace(release.shapes, **{field: change(getattr(release.shapes, field))})
        with pytest.raises(ValueError, match=rf"shapes\.({field}|deviations)"):
            replace(release, model=replace(release.model, shapes=altered))

"""The additive model: its sums by bin, its residuals, its limit, and when it is chosen."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from skdp import DPStatisticsSource, DPTransferClassifier, Release, Schema, TabularEncoder
from skdp.source import MODELS, _additive_model
from skdp.source._additive_model import BinnedRows, balanced_residuals, boosting_rate
from skdp.source._integers import WEIGHT_GRID
from skdp.source._private_rows import PrivateRows, PublicColumns

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

    def test_right_probabilities_have_residuals_of_mean_zero(self):
        rng = np.random.default_rng(1)
        scores = rng.normal(0, 2, (40, 3))
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        mean = sum(
            p[:, c, None] * balanced_residuals(scores, np.full(40, c), np.full(40, WEIGHT_GRID))
            for c in range(3)
        )
        assert np.abs(mean).max() < 1e-5 * WEIGHT_GRID
        wrong = sum(  # and others have not: log-odds off by .1
            p[:, c, None]
            * balanced_residuals(
                scores + np.array([0.1, 0, 0]), np.full(40, c), np.full(40, WEIGHT_GRID)
            )
            for c in range(3)
        )
        assert np.abs(wrong).max() > 1e-2 * WEIGHT_GRID

    def test_two_classes_are_weighed_by_the_likelier(self):
        p = np.array([0.1, 0.5, 0.7])
        scores = np.log(np.stack([1 - p, p], axis=1))
        units = np.full(3, WEIGHT_GRID)
        found = balanced_residuals(scores, np.ones(3, int), units)[:, 1] / WEIGHT_GRID
        assert found * np.sqrt(2) == pytest.approx((1 - p) / np.maximum(p, 1 - p), abs=1e-5)

    def test_persons_count_by_their_rows(self):
        weights = np.array([WEIGHT_GRID, WEIGHT_GRID // 3])
        found = balanced_residuals(np.zeros((2, 2)), np.zeros(2, int), weights)
        assert found[1] == pytest.approx(found[0] / 3, abs=1.1)


def binned(frame, labels, groups=None):
    """Return rows on the grid of the model, with scores of a release that knows nothing."""
    columns = PublicColumns.of_schema(SCHEMA)
    grid = MODELS["additive"].grid(columns, None)
    X = np.asarray(TabularEncoder(SCHEMA).fit_transform(frame))
    rows = PrivateRows.of_labels(X, labels, np.array(["no", "yes"]), groups)
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


def test_without_noise_it_is_the_same_boosting_bit_for_bit():
    frame, labels = patients(3000)
    release = source(np.inf).fit(frame, labels).release_
    _, grid, _, _ = binned(frame, labels)
    bins, linear = grid.bins, release.linear
    X = np.asarray(TabularEncoder(SCHEMA).fit_transform(frame))
    scores = np.tile(linear.intercepts, (3000, 1))
    Z = grid.basis.encode(X)
    for j in range(Z.shape[1]):
        scores += Z[:, j : j + 1] * linear.coefficients[:, j]
    codes, y = bins.codes(X).astype(int) + bins.offsets[:-1], (labels == "yes").astype(int)
    values = np.zeros((2, bins.offsets[-1]))
    n = release.statistics.sums.row_counts.sum()
    for _ in range(_additive_model.N_ROUNDS):
        sums = np.zeros(values.shape, dtype=np.int64)
        residuals = balanced_residuals(scores, y, np.full(3000, WEIGHT_GRID)).astype(np.int64)
        for c in (0, 1):
            np.add.at(sums[c], codes.ravel(), np.repeat(residuals[:, c], codes.shape[1]))
        step = sums / (WEIGHT_GRID * n)
        step = boosting_rate(n, 0.0) * bins.smoothed(step - step.mean(axis=0))
        values += step
        added = np.zeros_like(scores)
        for j in range(codes.shape[1]):
            added += step.T[codes[:, j]]
        scores += added
    np.testing.assert_array_equal(release.shapes.values, values)
    assert not release.shapes.deviations.any()
    assert np.abs(values).max() > 0.3


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


def test_shapes_are_those_of_the_risk(release):
    values, deviations = release.shapes.effects(1)  # age, by its 33 places
    X = np.full((33, 10), 0.5)
    X[:, [1, 3, 4, 5, 6, 7, 8]] = 0
    X[:, [3, 6]] = 1
    X[:, 2] = np.linspace(0, 1, 33)
    total = release.score_encoded(X) @ [-1, 1]
    step = total[22:].mean() - total[:18].mean()  # beyond 62, and before
    assert step == pytest.approx(1.5, abs=0.25)
    assert (deviations > 0).all()
    assert deviations.max() < 0.3
    assert values.sum(axis=0) == pytest.approx(0, abs=1e-12)


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (9000, 3))
    y = np.where(3 * X[:, 0] % 1 < 0.3, 2, (X[:, 1] > 0.6).astype(int))
    y = np.where(rng.random(9000) < 0.1, rng.integers(3, size=9000), y)
    scores = {}
    for model in ("linear", "additive"):
        made = DPStatisticsSource(2.0, classes=[0, 1, 2], model=model)
        scores[model] = made.fit(X[:8000], y[:8000]).release_.score(X[8000:], y[8000:])
    # .893 with a standard deviation of .0023, and .670: neither is reached by chance.
    assert scores["additive"] > 0.88
    assert scores["linear"] < 0.69


class TestChoice:
    def test_many_rows_are_additive_and_few_are_linear(self, many):
        assert source(1.0, "auto").fit(*many).release_.shapes is not None
        few = patients(300)
        chosen = source(1.0, "auto").fit(*few).release_
        linear = source(1.0, "linear").fit(*few).release_
        assert chosen.shapes is None
        # Two perturbations with half of the budget each are one with all of it.
        for name in ("count_sd", "total_sd", "second_sd"):
            own, other = (getattr(each.statistics.sums, name) for each in (chosen, linear))
            assert own == pytest.approx(other, rel=0.02), name

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

    def test_rows_that_come_in_parts_are_linear(self):
        frame, labels = patients(4000)
        made = source(2.0, "auto")
        parts = made.accumulator()
        parts.add(frame, labels)
        assert made.fit_accumulated(parts).release_.shapes is None
        with pytest.raises(ValueError, match=r"'model' .* several passes"):
            source(2.0, "additive").accumulator()

    def test_wide_arrays_are_refused(self):
        X = np.random.default_rng(0).random((50, 101))
        with pytest.raises(ValueError, match=r"'additive', .* up to 100 columns, got 101"):
            DPStatisticsSource(1.0, classes=[0, 1], model="additive").fit(X, X[:, 0] > 0.5)


class TestRelease:
    def test_files_say_the_same(self, release, tmp_path):
        release.save(tmp_path / "a.skdp")
        kept = Release.load(tmp_path / "a.skdp")
        X = TabularEncoder(SCHEMA).fit_transform(patients(50, 8)[0])
        np.testing.assert_array_equal(kept.score_encoded(X), release.score_encoded(X))
        assert "shape functions of 5 columns in 80 bins" in kept.summary()

    def test_scores_are_linear_ones_and_those_of_the_columns(self, release):
        X = np.asarray(TabularEncoder(SCHEMA).fit_transform(patients(50, 8)[0]))
        expected = release.linear.scores(X)
        codes = release.shapes.codes(X)
        for j in range(5):
            expected = expected + release.shapes.effects(j)[0].T[codes[:, j]]
        np.testing.assert_allclose(release.scores(X), expected, atol=1e-12)

    def test_columns_that_are_left_out_are_replaced(self, release):
        test, y = patients(4000, 9)
        fewer = release.restrict(["stage", "age"])
        assert len(fewer.shapes.start) == 2
        p = fewer.predict_proba(test[["stage", "age"]])[:, 1]
        assert roc_auc_score(y == "yes", p) > 0.62
        # Calibrated where the others are not known: by the share of each half of ages.
        old = (test["age"] > 62).to_numpy()
        for part in (old, ~old):
            assert p[part].mean() == pytest.approx((y[part] == "yes").mean(), abs=0.04)
        again = release.restrict(list(SCHEMA.names[::-1]))
        flipped = test[list(SCHEMA.names[::-1])]
        np.testing.assert_allclose(
            again.predict_proba(flipped), release.predict_proba(test), atol=1e-6
        )

    def test_merged_scores_lie_between_sums_and_mean(self, many, release):
        frame, labels = patients(5000, 7)
        others = [
            source(4.0).fit(frame, labels).release_,
            source(4.0, "linear").fit(*patients(2000, 8)).release_,
        ]
        merged = Release.merge([release, *others], disjoint=True)
        rows = merged.shapes.representatives(10)[:-1]
        rows = rows + np.eye(10)[[3, 6]].sum(axis=0) * (
            rows[:, 3:9].sum(axis=1, keepdims=True) == 0
        )
        parts = [release, *others]
        weights = np.array([each.statistics.sums.row_counts.sum() for each in parts])
        mean = np.average([each.score_encoded(rows) for each in parts], axis=0, weights=weights)
        linear = merged.linear.scores(rows)
        np.testing.assert_allclose(linear + merged.shapes.scores(rows), mean, atol=1e-9)
        # All but a share of what functions of the basis explain of the difference, by column:
        # half for sources of few rows, of as many as these next to none.
        left_out = 0.5 / (1 + merged.statistics.effective_rows / 3 / 1000)
        assert 0.03 < left_out < 0.1
        bins, basis = merged.shapes, merged.statistics.basis
        values = bins.values.copy()
        corner = bins.representatives(10)
        for j, (start, width) in enumerate(zip(bins.start, bins.width, strict=True)):
            block = slice(bins.offsets[j], bins.offsets[j + 1])
            own = np.isin(basis.column, range(start, start + width))
            Q = np.linalg.svd(
                np.column_stack([np.ones(bins.n_bins[j]), basis.encode(corner)[block, own]]),
                full_matrices=False,
            )
            U = Q[0][:, Q[1] > 1e-8 * Q[1][0]]
            values[:, block] -= left_out * values[:, block] @ U @ U.T
        added = bins.added(bins.codes(rows), values) + (1 - left_out) * bins.intercepts
        np.testing.assert_allclose(merged.score_encoded(rows), linear + added, atol=1e-9)
        in_steps = Release.merge(
            [Release.merge([release, others[0]], disjoint=True), others[1]], disjoint=True
        )
        np.testing.assert_allclose(
            in_steps.score_encoded(rows), merged.score_encoded(rows), atol=1e-4
        )
        test, y = patients(4000, 9)
        areas = [roc_auc_score(y == "yes", each.predict_proba(test)[:, 1]) for each in parts]
        both = roc_auc_score(y == "yes", merged.predict_proba(test)[:, 1])
        assert both > max(areas) - 0.01

    def test_merged_owners_are_better_than_one_on_average(self):
        parts = [source(1.0).fit(*patients(3000, seed)).release_ for seed in range(1, 5)]
        test, y = patients(4000, 9)
        merged = Release.merge(parts, disjoint=True)
        areas = [
            roc_auc_score(y == "yes", each.predict_proba(test)[:, 1]) for each in (merged, *parts)
        ]
        # By .0042, with a standard deviation of .0009 over noise.
        assert areas[0] > np.mean(areas[1:])

    def test_several_are_weighed_by_labels(self, release):
        other = source(4.0).fit(*patients(5000, 7)).release_
        test, y = patients(1500, 9)
        labels = np.where(np.arange(1500) < 60, y, None)
        model = DPTransferClassifier([release, other], random_state=0).fit(test, labels)
        p = model.predict_proba(test[60:])[:, list(model.classes_).index("yes")]
        alone = release.predict_proba(test[60:])[:, 1]
        truth = y[60:] == "yes"
        assert roc_auc_score(truth, p) > roc_auc_score(truth, alone) - 0.02

    def test_targets_without_labels_predict_as_it_does(self, release):
        test, _ = patients(1500, 9)
        model = DPTransferClassifier(release, random_state=0)
        p = model.fit(test, np.full(1500, None)).predict_proba(test)[:, 1]
        assert np.corrcoef(p, release.predict_proba(test)[:, 1])[0, 1] > 0.98

    def test_synthetic_rows_have_its_labels(self, release):
        rows, labels = release.sample(8000, random_state=0, as_frame=True)
        assert np.mean(labels == "yes") == pytest.approx(
            release.predict_proba(rows)[:, 1].mean(), abs=0.02
        )

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

    @pytest.mark.parametrize("order", [[0, 0, 1], [1, 0], [0]])
    def test_a_column_has_one_shape(self, release, order):
        shapes = release.shapes
        columns = np.array([*order, *range(len(shapes.start))[max(order) + 1 :]])
        bins = np.concatenate([np.arange(*shapes.offsets[j : j + 2]) for j in columns])
        public = ("start", "width", "one_hot", "n_bins", "low", "high")
        altered = replace(
            shapes,
            **{key: getattr(shapes, key)[columns] for key in public},
            values=shapes.values[:, bins],
            deviations=shapes.deviations[bins],
        )
        if order == [0]:
            altered = shapes.restrict(np.arange(shapes.width[0]), release)
        with pytest.raises(ValueError, match=r"'shapes.start' .* one function of each column"):
            replace(release, model=replace(release.model, shapes=altered))

"""Sums that no rows have, in a file that is sound otherwise: refused, or usable everywhere."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource

pytestmark = pytest.mark.filterwarnings("ignore:.*release")
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 1, "missing": True},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "sex": {"type": "category", "categories": ["f", "m"]},
}
FIELDS = {"counts": 0, "total": 1, "contrast": 1, "second": 2}
NOISE = {"count_sd": 0, "total_sd": 1, "contrast_sd": 1, "second_sd": 2}
# Largest that the release accepts, in units of the radius.
MOST = 9e14


@pytest.fixture(scope="module")
def table():
    rng = np.random.RandomState(0)
    ward, sex = rng.choice(list("abc"), 200), rng.choice(list("fm"), 200)
    return pd.DataFrame({"age": rng.rand(200), "ward": ward, "sex": sex})


@pytest.fixture(scope="module", params=[["ill", "well"], ["dead", "ill", "well"]])
def release(request, table):
    y = np.array(request.param)[(len(request.param) * table["age"]).astype(int)]
    source = DPStatisticsSource(4.0, encoder=SCHEMA, classes=request.param, model="linear")
    return source.fit(table, y).release_


def with_sums(release, **changes):
    statistics = release.statistics
    sums = replace(statistics.sums, **changes)
    return replace(
        release, model=replace(release.model, statistics=replace(statistics, sums=sums))
    )


def check_use(release, table):
    """Everything that needs no rows works, and scores of rows are numbers."""
    with np.errstate(all="ignore"):
        assert np.isfinite(release.predict_proba(table)).all()
        rows, labels = release.sample(5, random_state=0, as_frame=True)
        assert rows.shape == (5, 3)
        assert set(labels) <= set(release.classes)
        fewer = release.restrict(["sex", "age"])
        assert np.isfinite(fewer.scores(table[["age", "sex"]])).all()
        assert len(fewer.sample(5, random_state=0)[0]) == 5
        assert "What is in the file" in release.summary()
        assert len(release.describe_columns())


def second_moments():
    rng = np.random.RandomState(0)
    eye, ones, any_sign = np.eye(99), np.ones((99, 99)), rng.uniform(-1, 1, (99, 99))
    for size in (0.0, 1e3, 1e9, MOST):
        for kind in (eye, -eye, ones, -ones, any_sign + any_sign.T):
            yield size, kind / np.abs(kind).max()


@pytest.mark.parametrize(("size", "kind"), second_moments())
def test_second_moments_may_be_anything(release, table, size, kind):
    t, radius = len(release.statistics.sums.second), release.statistics.sums.radius
    check_use(with_sums(release, second=size * radius**2 * kind[:t, :t]), table[:20])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_all_sums_may_be_anything(release, table, seed):
    rng = np.random.RandomState(seed)
    sums, changes = release.statistics.sums, {}
    radius = 10 ** rng.uniform(-8, 8) if seed % 2 else sums.radius
    for name, power in (FIELDS | NOISE).items():
        shape = np.shape(getattr(sums, name))
        small = -300 if name in NOISE and rng.rand() < 0.3 else -3
        size = 10 ** rng.uniform(small, np.log10(MOST)) * radius**power
        array = size * rng.uniform(-1, 1, shape) if name in FIELDS else np.full(shape, size)
        changes[name] = array if np.ndim(array) else float(array)
    changes["second"] = (changes["second"] + changes["second"].T) / 2
    check_use(with_sums(release, radius=float(radius), **changes), table[:20])


@pytest.mark.parametrize("name", [*FIELDS, *NOISE])
def test_sums_of_more_rows_than_there_are_are_refused(release, name):
    sums = release.statistics.sums
    array = np.asarray(getattr(sums, name))
    large = 2e15 * sums.radius ** (FIELDS | NOISE)[name] * np.ones(array.shape)
    with pytest.raises(ValueError, match="statistics"):
        with_sums(release, **{name: large if large.ndim else float(large)})

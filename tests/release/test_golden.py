"""Files of every published format must load forever, and say what they said.

    python tests/release/test_golden.py

writes those of the present format anew. Do that only for a format of which no file has left
this repository: an owner cannot make a release again without spending its ε again.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skdp import (
    DPSource,
    DPStatisticsSource,
    OptimalDPNoise,
    RandomizedResponse,
    Release,
)

DATA = Path(__file__).parent / "data"
SCHEMA = {
    "size": {"type": "numeric", "low": 0, "high": 3},
    "kind": {"type": "category", "categories": ["wild", "tame"]},
}
# Log-posteriors of two rows, written down when files came to hold one model: scores of "sums" and
# "gradients" are made of noisy numbers, and may get better.
STATISTICS = {
    "sums": [
        [15.261903387480345, -0.9789036843642369, -14.282999703116104],
        [-0.7839125367641937, 4.583243285120197, -3.7993307483560024],
    ],
    "gradients": [
        [26.773628388740722, -14.949750420141543, -11.823877968599179],
        [-18.402510833228398, 29.189146444689445, -10.786635611461046],
    ],
    "mixtures": [
        [0.709183766932918, -5.576482858228137, -5.577059410601224],
        [-5.993882294821572, 0.29388455987327955, -5.99340873242776],
    ],
}
# Squared errors of two rows in the three classes, written down when they were computed first.
ERRORS = {
    "denoised": [
        [0.08635639999771594, 2.6346948874150162, 5.88806800111535],
        [1.1012176999223933, 0.24057592463346755, 3.3640216644414123],
    ],
    "papers": [
        [0.013551430776715279, 0.3434138000011444, 2.1863856315612793],
        [0.797498345375061, 0.07807868719100952, 1.0842838287353516],
    ],
}
# Predicted sizes of two rows, and their standard deviations, when residuals were measured up to
# the bounds.
NUMBERS = [
    [0.831023075097, 1.8248699505419999],
    [0.8534015271912602, 0.7566254290096183],
]
# Log-hazards of two rows, and the survival of the first, written down when times came.
RISKS = [0.10958023382147362, 0.08012871612124865]
SURVIVAL = [0.6765969006487086, 0.31859362827102694, 0.11060900260509027]
# What is written today.
WRITTEN = [*ERRORS, "mixtures", "sums", "gradients", "number", "time"]


def private_rows():
    rng = np.random.RandomState(0)
    X, y = rng.rand(60, 4), np.arange(60) % 3
    X[:, 0] += y
    return X, np.array(["ant", "bee", "cow"])[y]


def make_statistics(name):
    """A release of the sums of a table, encoded by a schema, or of mixtures in two directions."""
    X, y = private_rows()
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    settings = {"classes": ["cow", "bee", "ant"], "random_state": np.random.RandomState(0)}
    if name == "mixtures":
        return DPStatisticsSource(8.0, bounds=(0, 3), model="mixtures", **settings).fit(X, y)
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0.5, "wild", "tame")})
    model = "gradients" if name == "gradients" else "linear"
    return DPStatisticsSource(8.0, encoder=SCHEMA, model=model, **settings).fit(frame, y)


def make_number():
    """A release about the size of a table, by gradients."""
    X, _ = private_rows()
    X = np.tile(X, (20, 1))
    frame = pd.DataFrame({"age": X[:, 1], "kind": np.where(X[:, 2] > 0.5, "wild", "tame")})
    columns = {"age": {"type": "numeric", "low": 0, "high": 1}, "kind": SCHEMA["kind"]}
    outcome = {"type": "number", "low": 0, "high": 3}
    schema = {"version": 1, "columns": columns, "outcome": outcome}
    source = DPStatisticsSource(
        8.0, encoder=schema, model="gradients", random_state=np.random.RandomState(0)
    )
    return source.fit(frame, X[:, 0])


def make_time():
    """A release about how long a table lasts."""
    X, _ = private_rows()
    X = np.tile(X, (20, 1))
    columns = {"age": {"type": "numeric", "low": 0, "high": 1}}
    outcome = {"type": "event", "horizon": 3}
    schema = {"version": 1, "columns": columns, "outcome": outcome}
    y = np.zeros(len(X), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = X[:, 2] > 0.3, 4 * X[:, 3] * (1 - X[:, 1] / 2)
    source = DPStatisticsSource(8.0, encoder=schema, random_state=np.random.RandomState(0))
    return source.fit(pd.DataFrame({"age": X[:, 1]}), y)


def make_release(name):
    if name == "number":
        return make_number().release_
    if name == "time":
        return make_time().release_
    if name in STATISTICS:
        return make_statistics(name).release_
    X, y = private_rows()
    source = DPSource(
        noise=OptimalDPNoise(8.0, 1e-5, random_state=np.random.RandomState(0)),
        n_components=2,
        n_inducing=4,
        n_layers=1,
        random_state=0,
    )
    if name == "papers":
        return source.set_params(parts="papers").fit(X.astype(np.float32), y).release_
    response = RandomizedResponse(4.0, random_state=np.random.RandomState(0))
    return (
        source.set_params(label_noise=response)
        .fit(pd.DataFrame(X, columns=list("abcd")), y)
        .release_
    )


@pytest.mark.parametrize("name", ERRORS)
def test_golden_files_say_what_they_said(name):
    path = DATA / f"version1_{name}.skdp"
    assert path.stat().st_size < 15_000
    release = Release.load(path)
    rows = private_rows()[0][:2].astype(release.dtype)
    # Kernels in single precision are rounded to some 1e-6 of an error.
    rtol = 1e-6 if release.dtype == np.float64 else 5e-6
    assert_allclose(-release.scores(rows), ERRORS[name], rtol=rtol)
    assert release.classes.tolist() == ["ant", "bee", "cow"]
    assert (release.guarantee.epsilon, release.guarantee.delta) == (8.0, 1e-5)
    denoised = name == "denoised"
    assert release.dtype == (np.float64 if denoised else np.float32)
    assert (release.label_guarantee is not None) == denoised
    assert (release.feature_names is not None) == denoised
    parts = (release.moments, release.subspace, release.mixtures)
    assert all((part is not None) == denoised for part in parts)
    assert (release.row_classifier is None) == denoised


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("name", WRITTEN)
def test_the_present_format_is_still_written(name, tmp_path):
    # Not byte by byte: versions of NumPy write headers of arrays differently.
    make_release(name).save(tmp_path / "release")
    with np.load(tmp_path / "release") as new, np.load(DATA / f"version1_{name}.skdp") as old:
        assert set(new.files) == set(old.files)
        for key in set(old.files) - {"header"}:
            assert (new[key].dtype, new[key].shape) == (old[key].dtype, old[key].shape)
            assert_allclose(new[key], old[key], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", STATISTICS)
def test_golden_files_of_statistics_say_what_they_said(name):
    path = DATA / f"version1_{name}.skdp"
    assert path.stat().st_size < 15_000
    release = Release.load(path)
    X = private_rows()[0][:2]
    rows = X
    if name != "mixtures":
        rows = pd.DataFrame({"kind": ["wild", "tame"], "size": X[:, 0]})
        assert release.encoder.names == ("size", "kind")
    assert_allclose(release.scores(rows), STATISTICS[name], rtol=1e-6)
    assert release.classes.tolist() == ["ant", "bee", "cow"]  # listed in another order
    guarantee = release.guarantee
    assert (guarantee.epsilon, guarantee.delta) == (8.0, 1e-5)
    assert (guarantee.unit, guarantee.relation) == ("labeled record", "add/remove")
    assert (release.linear is not None, release.mixtures is None) == (name != "mixtures",) * 2


def test_a_golden_file_of_a_number_says_what_it_said():
    release = Release.load(DATA / "version1_number.skdp")
    rows = pd.DataFrame({"kind": ["wild", "tame"], "age": [0.1, 0.9]})
    assert_allclose(release.predict(rows, return_std=True), NUMBERS, rtol=1e-6)
    assert (release.outcome.low, release.outcome.high) == (0.0, 3.0)
    assert release.descent.table.counts.shape[1] == release.descent.table.bins[2]


def test_a_golden_file_of_a_time_says_what_it_said():
    release = Release.load(DATA / "version1_time.skdp")
    rows = pd.DataFrame({"age": [0.1, 0.9]})
    assert_allclose(release.predict(rows), RISKS, rtol=1e-6)
    [first, _] = release.predict_survival_function(rows)
    assert_allclose(first([1.0, 2.0, release.unique_times_[-1]]), SURVIVAL, rtol=1e-6)
    assert 2.7 < release.unique_times_[-1] < release.outcome.horizon == 3.0


@pytest.mark.parametrize("name", ["sums", "gradients"])
def test_loading_estimates_nothing(name, monkeypatch):
    def estimate(*_):
        raise AssertionError("estimated")

    monkeypatch.setattr("skdp.release._statistics.linear_scores", estimate)
    monkeypatch.setattr("skdp.release._statistics.measure_moments", estimate)
    release = Release.load(DATA / f"version1_{name}.skdp")
    with pytest.raises(AssertionError, match="estimated"):
        release.linear  # noqa: B018


if __name__ == "__main__":
    for name in WRITTEN:
        make_release(name).save(DATA / f"version1_{name}.skdp")

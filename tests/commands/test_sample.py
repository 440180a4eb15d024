import numpy as np
import pandas as pd
import pytest

from skdp import DPSource, DPStatisticsSource, Release

SCHEMA = {
    "version": 1,
    "classes": ["died", "home"],
    "columns": {
        "age": {"type": "numeric", "low": 0, "high": 100, "step": 1},
        "dose": {"type": "numeric", "low": 0, "high": 1, "missing": True},
    },
}


@pytest.fixture
def rows(folder):
    """Write a release."""
    rng = np.random.default_rng(0)
    dose = np.where(rng.random(400) < 0.3, np.nan, rng.random(400))
    frame = pd.DataFrame({"age": rng.integers(20, 90, 400), "dose": dose})
    labels = np.where(frame["age"] + rng.normal(0, 20, 400) > 60, "died", "home")
    DPStatisticsSource(4.0, encoder=SCHEMA).fit(frame, labels).release_.save("h.skdp")
    return folder


def test_rows_of_the_release(rows, done):
    asked = ("sample", "h.skdp", "-n", 50, "--label", "outcome", "--seed", 3)
    out, _ = done(*asked, "-o", "synthetic.csv")
    assert "Drew 50 synthetic rows" in out
    frame = pd.read_csv("synthetic.csv")
    assert frame["age"].dtype == int
    assert (
        frame["dose"].dropna() == frame["dose"].dropna().map("{:.6g}".format).astype(float)
    ).all()
    expected, labels = Release.load("h.skdp").sample(50, 3, as_frame=True)
    np.testing.assert_array_equal(frame["age"], expected["age"])
    np.testing.assert_allclose(frame["dose"], expected["dose"], rtol=1e-5)
    np.testing.assert_array_equal(frame["outcome"], labels)


@pytest.mark.filterwarnings("ignore")
def test_a_release_without_a_schema_is_for_python(folder, failed):
    X = np.random.default_rng(0).random((40, 3))
    DPSource(8.0, bounds=(0, 1)).fit(X, X[:, 0] > 0.5).release_.save("array.skdp")
    _, err = failed("sample", "array.skdp", "-n", 5, "-o", "synthetic.csv")
    assert "has no schema" in err

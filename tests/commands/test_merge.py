import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Release

SCHEMA = {
    "version": 1,
    "classes": ["died", "home"],
    "columns": {"age": {"type": "numeric", "low": 0, "high": 100}},
}


@pytest.fixture
def releases(folder):
    rng = np.random.default_rng(0)
    for name, epsilon in (("north.skdp", 1.0), ("south.skdp", 2.0)):
        frame = pd.DataFrame({"age": rng.uniform(20, 90, 400)})
        labels = np.where(frame["age"] > 60, "died", "home")
        source = DPStatisticsSource(epsilon, encoder=SCHEMA).fit(frame, labels)
        source.release_.save(folder / name)
    return folder


@pytest.mark.parametrize(("said", "disjoint"), [("--disjoint", True), ("--overlapping", False)])
def test_merged_as_in_python(releases, done, said, disjoint):
    out, _ = done("merge", "north.skdp", "south.skdp", said, "-o", "both.skdp")
    assert f"Wrote 'both.skdp': {Release.load('both.skdp')!r}." in out
    parts = [Release.load(name) for name in ("north.skdp", "south.skdp")]
    merged, found = Release.merge(parts, disjoint=disjoint), Release.load("both.skdp")
    assert found.guarantee == merged.guarantee
    np.testing.assert_array_equal(found.statistics.sums.counts, merged.statistics.sums.counts)

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource

SCHEMA = {
    "dose": {"type": "numeric", "low": 0, "high": 10},
    "sex": {"type": "category", "categories": ["F", "M"]},
    "ward": {"type": "category", "categories": ["A", "B", "C"], "missing": True},
}


@pytest.fixture(scope="package")
def table():
    """Rows of which the dose and the ward count, and their classes."""
    rng = np.random.RandomState(0)
    n = 3000
    frame = pd.DataFrame(
        {
            "dose": rng.uniform(0, 10, n),
            "sex": rng.choice(["F", "M"], n),
            "ward": rng.choice(["A", "B", "C"], n),
        }
    )
    odds = 0.4 * (frame["dose"] - 5) + 1.0 * (frame["ward"] == "B")
    return frame, np.where(rng.rand(n) < 1 / (1 + np.exp(-odds)), "yes", "no")


@pytest.fixture(scope="package")
def release(table):
    source = DPStatisticsSource(8.0, encoder=SCHEMA, classes=["no", "yes"], model="gradients")
    return source.fit(*table).release_

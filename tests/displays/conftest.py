import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource
from skdp.privacy import Mechanism, PrivacyGuarantee, PrivacyLedger

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
    source = DPStatisticsSource(8.0, encoder=SCHEMA, classes=["no", "yes"], model="additive")
    return source.fit(*table).release_


def gaussian(epsilon, unit="labeled record", relation="add/remove"):
    noise = [Mechanism("gaussian", epsilon, 1e-5)]
    what = {"unit": unit, "relation": relation}
    return PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)


@pytest.fixture(scope="package")
def ledger():
    account = PrivacyLedger(epsilon=4.0, delta=1e-3)
    account.spend(gaussian(1.0), "spring")
    account.spend(gaussian(1.0), "autumn")
    return account

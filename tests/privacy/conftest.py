"""What needs dp-accounting says so; all other tests run as if it were not installed."""

import sys
from importlib.util import find_spec

import pytest

from skdp.privacy import Mechanism, PrivacyGuarantee, gaussian_epsilon

needs_accounting = pytest.mark.skipif(
    find_spec("dp_accounting") is None, reason="needs dp-accounting (extra privacy)"
)


def guarantee_of(*mechanisms, **fields):
    """Return a guarantee of labeled records, unless the fields say something else."""
    texts = {"mechanism": "m", "covers": "features and labels", "excludes": "nothing"}
    about = {"unit": "labeled record", "relation": "replace-one", "n_features": 7}
    about |= {"sensitivity": None, "mechanisms": mechanisms}
    return PrivacyGuarantee(**{**texts, **about, **fields})


def gaussian(mu, delta=1e-5):
    return Mechanism("gaussian", gaussian_epsilon(1 / mu, delta), delta, squared_distance=mu * mu)


def statistics_guarantee(mu=1.0, unit="labeled record", **fields):
    """A guarantee as noisy statistics of whole records have it."""
    about = {"mechanism": "noisy statistics", "relation": "add/remove", "unit": unit}
    return guarantee_of(gaussian(mu), **{**about, **fields})


@pytest.fixture(autouse=True)
def no_accounting(request, monkeypatch):
    """Hide dp-accounting, so that a test without the mark fails with it as it would without."""
    if needs_accounting.mark not in request.node.iter_markers("skipif"):
        for name in ("dp_accounting", "dp_accounting.pld"):
            monkeypatch.setitem(sys.modules, name, None)

import numpy as np
import pytest


@pytest.fixture
def small(rng):
    """Rows of three classes that do not differ."""
    return rng.rand(120, 6), np.arange(120) % 3

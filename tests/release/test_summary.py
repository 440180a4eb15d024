"""How often somebody guesses right, as the summary says."""

from math import erf, inf, sqrt

import numpy as np
import pytest

from skdp.privacy import Mechanism, PrivacyGuarantee, gaussian_delta
from skdp.release import success


def stated(epsilon, delta):
    return PrivacyGuarantee("m", [Mechanism("any", epsilon, delta)], 1.0, 1, "c", "e")


@pytest.mark.parametrize(
    ("epsilon", "delta", "share"),
    [(0.0, 0.0, 0.5), (0.0, 0.5, 0.75), (np.log(3), 0.0, 0.75), (inf, 0.0, 1.0), (1.0, 1.0, 1.0)],
)
def test_success_in_closed_form(epsilon, delta, share):
    assert success(stated(epsilon, delta)) == pytest.approx(share)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_success_is_never_below_that_of_the_best_test(mu):
    """Of a Gaussian mechanism the best test is right Φ(μ/2) of the time."""
    best = 0.5 * (1 + erf(mu / 2 / sqrt(2)))
    shares = [success(stated(e, gaussian_delta(1 / mu, e))) for e in np.linspace(0, 3, 31)]
    assert min(shares) >= best - 1e-12
    assert shares[0] == pytest.approx(best)

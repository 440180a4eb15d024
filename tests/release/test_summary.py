"""What a release says of itself: trade-offs in words."""

import re

import numpy as np
import pytest

from skdp import DPStatisticsSource
from skdp.privacy import Mechanism, PrivacyGuarantee
from skdp.release import trade_off


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(200, 2)), rng.integers(0, 2, 200)
    source = DPStatisticsSource(epsilon=2.0, delta=1e-5, bounds=(0, 1), classes=[0, 1])
    return source.fit(X, y).release_


def test_a_release_states_the_trade_off_of_its_mechanism(release):
    """Φ(μ/2) and Φ(μ), rounded upwards, with no more than the sampler's share added."""
    flat = " ".join(release.summary().split())
    how_well = flat.split("How well")[1].split("If it is known")[0]
    known = flat.split("If it is known to be there")[1].split("Labels")[0]
    assert re.findall(r"[\d.]+%", how_well) == ["50%", "59.91%", "1%", "3.34%"]
    assert re.findall(r"[\d.]+%", known) == ["50%", "69.21%", "1%", "8.79%"]


def test_added_and_replaced_have_words_of_their_own(release):
    added = trade_off(release.guarantee)
    replaced = trade_off(release.guarantee.to_replace_one())
    assert "guesses whether the record is in the data, both" in added
    assert "Where the record is in the data in only 1 of 100 cases" in added
    assert "guesses which of two versions of the record is in the data, both" in replaced


def test_nothing_is_certain_of_a_mechanism_that_may_show_the_data():
    shown = PrivacyGuarantee("m", [Mechanism("any", 0.0, 1.0)], 1.0, 1, "c", "e")
    assert re.findall(r"[\d.]+%", trade_off(shown)) == ["50%", "100%", "1%", "100%"]


def test_information_is_stated_once_in_each_section(release):
    flat = " ".join(release.summary().split())
    how_well = flat.split("How well")[1].split("If it is known")[0]
    known = flat.split("If it is known to be there")[1].split("Labels")[0]
    assert "The file says at most 0.044 bits about whether the record is in the data." in how_well
    assert "The file says at most 0.37 bits about the record." in known
    assert flat.count(" bits about ") == 2


def test_no_bound_in_bits_where_the_data_may_be_shown():
    shown = PrivacyGuarantee("m", [Mechanism("laplace", 1.0, 1e-5)], 1.0, 1, "c", "e")
    last = "How many bits it says about the value has no general bound, as delta is above 0."
    assert trade_off(shown).endswith(last)
    open_ = PrivacyGuarantee("m", [Mechanism("pure", np.inf)], 1.0, 1, "c", "e")
    assert trade_off(open_).endswith("no general bound, as epsilon is infinite.")
    hidden = PrivacyGuarantee("m", [Mechanism("laplace", 1.0)], 1.0, 1, "c", "e")
    assert trade_off(hidden).endswith("The file says at most 0.18 bits about the value.")

"""What a release says of itself: trade-offs in words."""

import re
import warnings

import numpy as np
import pytest

from skdp import DPStatisticsSource, Release
from skdp.privacy import Mechanism, PrivacyGuarantee, PrivacyLeakWarning
from skdp.release import trade_off


@pytest.fixture(scope="module")
def release():
    return release_of(0)


def release_of(seed):
    rng = np.random.default_rng(seed)
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
    assert "guesses whether the record is in the data. If both" in added
    assert "If the record is in the data in only 1 of 100 cases" in added
    assert "guesses which of two versions of the record is in the data. If both" in replaced


def test_nothing_is_certain_of_a_mechanism_that_may_show_the_data():
    shown = PrivacyGuarantee("m", [Mechanism("any", 0.0, 1.0)], 1.0, 1, "c", "e")
    assert re.findall(r"[\d.]+%", trade_off(shown)) == ["50%", "100%", "1%", "100%"]


def test_no_bound_in_bits_where_the_data_may_be_shown():
    shown = PrivacyGuarantee("m", [Mechanism("laplace", 1.0, 1e-5)], 1.0, 1, "c", "e")
    last = "have no general bound, as delta is above 0."
    assert trade_off(shown).endswith(last)
    open_ = PrivacyGuarantee("m", [Mechanism("pure", np.inf)], 1.0, 1, "c", "e")
    assert trade_off(open_).endswith("no general bound, as epsilon is infinite.")
    hidden = PrivacyGuarantee("m", [Mechanism("laplace", 1.0)], 1.0, 1, "c", "e")
    assert trade_off(hidden).endswith("The file reveals at most 0.18 bits about the value.")


@pytest.mark.parametrize(
    "outcome",
    [None, {"type": "number", "low": 0, "high": 1}, {"type": "event", "horizon": 2}],
)
@pytest.mark.parametrize("unit", ["rows", "people"])
def test_a_delta_above_one_over_the_noisy_number_is_told(outcome, unit):
    X = np.random.RandomState(0).rand(4000, 2)
    y = (X[:, 0] > 0.5).astype(int)
    if outcome is not None:
        y = X[:, 0]
    if outcome is not None and outcome["type"] == "event":
        y = np.array([(x > 0.3, x) for x in X[:, 0]], dtype=[("event", bool), ("time", float)])
    people = {} if unit == "rows" else {"groups": np.arange(4000) // 2}
    settings = {"outcome": outcome} if outcome else {"classes": [0, 1]}
    settings["privacy_unit"] = "record" if unit == "rows" else "group"
    with pytest.warns(PrivacyLeakWarning, match=rf"above 1/n for about [\d,]+ {unit}") as told:
        release = DPStatisticsSource(8.0, 6e-4, **settings).fit(X, y, **people).release_
    [message] = [str(w.message) for w in told if "1/n" in str(w.message)]
    n = release.moments.class_counts.sum()
    assert f"about {n:,.0f} {unit} (a noisy count)" in message  # and not the exact one
    assert re.search("such as 1e-05", message)
    assert "above 1/n" in " ".join(release.summary().split())
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        release = DPStatisticsSource(8.0, 2e-4, **settings).fit(X, y, **people).release_
    assert "1/n" not in release.summary()


def test_a_joint_epsilon_below_the_sum_of_its_parts_says_why(release):
    both = Release.merge([release, release_of(1)], disjoint=False)
    assert both.guarantee.epsilon < 3
    assert "(less than 2 + 2, because Gaussian losses add up by" in " ".join(
        both.summary().split()
    )

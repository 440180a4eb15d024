import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from skdp import GaussianDPNoise, OptimalDPNoise, RandomizedResponse
from skdp.privacy import (
    Mechanism,
    PrivacyGuarantee,
    gaussian_epsilon,
    joint_guarantee,
    pack_guarantee,
    record_guarantee,
    unpack_guarantee,
)

from .conftest import gaussian, needs_accounting, statistics_guarantee


@pytest.fixture
def X():
    return np.zeros((10, 7))


@pytest.fixture
def guarantee(X):
    return OptimalDPNoise().fit(X).guarantee_


@pytest.mark.parametrize(
    ("perturb", "covered", "excluded"),
    [
        ("always", "every row that transform returns", "labels"),
        ("fit", "training rows", "queries"),
    ],
)
def test_it_says_what_it_covers(X, perturb, covered, excluded):
    guarantee = OptimalDPNoise(perturb=perturb).fit(X).guarantee_
    assert covered in guarantee.covers
    assert excluded in guarantee.excludes
    assert guarantee.unit == "element"
    assert "differ in one element by at most 1" in str(guarantee)


NONSENSE = {
    "sensitivity": [float("nan"), 0.0, -1.0, float("inf"), "1"],
    "n_features": [0, -5, 2.0, float("nan"), True, "7", 2**60],
    "unit": ["foo", "", None, 1, ["element"]],
    "mechanism": [None, 1],
    "covers": [None, 1],
    "excludes": [None, b"labels"],
    "mechanisms": [
        *(None, "laplace", 3, (), [None]),
        *([{"kind": "laplace"}], [{"kind": "pure", "epsilon": 1.0, "what": 1}]),
    ],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in NONSENSE.items() for value in values]
)
def test_what_no_mechanism_guarantees_is_refused(guarantee, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' of PrivacyGuarantee must be"):
        replace(guarantee, **{name: value})
    in_file = (
        f"The '{name}' of PrivacyGuarantee must be|The Mechanism of a file must have the keys"
    )
    with pytest.raises(ValueError, match=in_file):
        unpack_guarantee({**pack_guarantee(guarantee), name: value})


NO_MECHANISM = {
    "kind": ["cauchy", None],
    "epsilon": [float("nan"), -5.0, -1e-300, "1", None, True, 10**400, 1j],
    "delta": [float("nan"), -0.1, 2.0, 1 + 1e-15, "0", None, False],
    "squared_distance": [-1.0, float("nan"), "1"],
    "slack": [-1e-3, float("inf")],
    "cut": [1.5],
    "count": [0, 0.5, 10**400],
    "n_elements": [0, 0.5],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in NO_MECHANISM.items() for value in values]
)
def test_what_is_no_mechanism_is_refused(guarantee, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' of Mechanism must be"):
        replace(guarantee.mechanisms[0], **{name: value})
    stored = pack_guarantee(guarantee)
    stored["mechanisms"][0][name] = value
    with pytest.raises(ValueError, match=f"The '{name}' of Mechanism must be"):
        unpack_guarantee(stored)


def test_numbers_of_any_kind_become_floats(guarantee):
    mechanism = replace(guarantee.mechanisms[0], epsilon=np.float32(1), count=np.int64(1))
    same = replace(guarantee, n_features=np.int64(7), mechanisms=[mechanism])
    assert same == guarantee
    assert {type(same.epsilon), type(same.delta), type(same.sensitivity)} == {float}
    assert type(same.n_features) is int


@pytest.mark.parametrize("k", [0, -1, 2.5, float("nan"), float("inf"), 2.0**60, "3"])
def test_impossible_numbers_of_releases_are_refused(guarantee, k):
    with pytest.raises(ValueError, match="'k' parameter must be a whole number"):
        guarantee.compose(k)
    with pytest.raises(ValueError, match="'n_features' parameter"):
        guarantee.to_record(k)


@pytest.mark.parametrize(
    ("noise", "epsilon", "delta"),
    [
        pytest.param(
            OptimalDPNoise(2.0, 0.0, privacy_unit="record"), 3.0, 0.0, marks=needs_accounting
        ),
        (OptimalDPNoise(0.5, 0.01), 0.5 * 7 + 1, 1 - 0.99**7),
        pytest.param(
            GaussianDPNoise(2.0, 1e-6, privacy_unit="record"), 3.0, 1e-6, marks=needs_accounting
        ),
    ],
)
def test_a_person_with_features_and_a_label_costs_both(X, noise, epsilon, delta):
    features = noise.fit(X).guarantee_
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    joint = record_guarantee(features, labels)
    assert_allclose([joint.epsilon, joint.delta], [epsilon, delta])
    assert (joint.unit, joint.n_features, joint.sensitivity) == ("labeled record", 7, 1.0)
    assert "per labeled record, by the" in str(joint)
    assert "one record, each element by at most 1, and in its label" in str(joint)
    assert features.covers in joint.covers
    assert labels.covers in joint.covers
    assert joint.to_record() is joint
    assert joint.epsilon_at(max(delta, 1e-4)) <= joint.epsilon
    with pytest.raises(ValueError, match="unit='labeled record' and unit='record'"):
        joint + features.to_record()  # of which nothing is said about labels


def test_gaussian_features_are_exact_in_a_record_with_its_label(X):
    features = GaussianDPNoise(0.5, 1e-6).fit(X).guarantee_
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    assert record_guarantee(features, labels).epsilon == features.to_record().epsilon + 1.0
    assert record_guarantee(features, labels).epsilon < 7 * 0.5 + 1.0


def test_what_is_released_as_it_is_leaves_no_joint_guarantee(guarantee):
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    assert record_guarantee(guarantee, None) is None
    assert record_guarantee(None, labels) is None
    with pytest.raises(ValueError, match="'label_guarantee' parameter must be per label"):
        record_guarantee(guarantee, guarantee)
    with pytest.raises(ValueError, match="'guarantee' parameter must be per element or record"):
        record_guarantee(labels, labels)


def stated(epsilon, delta, distance=None):
    """Gaussian noise that states more or less than a distance needs."""
    squared = None if distance is None else distance * distance
    mechanism = Mechanism("gaussian", epsilon, delta, squared_distance=squared)
    return PrivacyGuarantee("x", [mechanism], 1.0, 7, "rows", "labels")


@pytest.mark.parametrize("distance", [0.0, 1e-9, 0.5, 0.9, 1.5])
def test_gaussian_distances_below_the_statement_compose_as_stated(X, distance):
    fake, true = stated(10.0, 1e-6, distance), stated(10.0, 1e-6)
    for k in (2, 7, 100):
        assert fake.compose(k).epsilon >= true.compose(k).epsilon * (1 - 3e-3)
    assert (fake + true).epsilon >= true.compose(2).epsilon * (1 - 3e-3)
    assert fake.epsilon_at(1e-9) >= true.epsilon_at(1e-9) * (1 - 3e-3)
    assert fake.delta_at(5.0) > 1e-3
    honest = GaussianDPNoise(0.5, 1e-6).fit(X).guarantee_
    for together in (fake.to_record(), fake + fake, fake + honest, honest + fake):
        assert together.epsilon >= 10.0
        assert together.delta >= 1e-6
    assert unpack_guarantee(pack_guarantee(fake)) == fake


@pytest.mark.parametrize("delta", [1e-300, 5e-324])
def test_distances_below_a_tiny_delta_are_raised_too(delta):
    assert stated(1.0, delta, 1e-9) == stated(1.0, delta)


@pytest.mark.parametrize("distance", [None, 0.0, 1e-200])
def test_gaussian_noise_without_a_delta_states_nothing(distance):
    with pytest.raises(ValueError, match=r"'delta' of Mechanism must be in \(0, 1\) with"):
        stated(1.0, 0.0, distance)


@pytest.mark.parametrize("p", [1, 7, 784])
def test_a_file_brings_a_raised_distance_of_a_sampler_back(p):
    noises = [GaussianDPNoise(5.0, 1e-9, privacy_unit="record"), GaussianDPNoise(0.01, 1e-3)]
    first, second = (noise.fit(np.zeros((2, p))).guarantee_ for noise in noises)
    # At the larger δ the first needs far less than it states.
    total = first + second.to_record()
    assert total.epsilon == 5.0
    assert unpack_guarantee(pack_guarantee(total)) == total
    assert unpack_guarantee(pack_guarantee(total.compose(10))) == total.compose(10)


@needs_accounting
def test_nothing_that_is_added_lowers_a_sum(X):
    parts = [GaussianDPNoise(e, d).fit(X).guarantee_ for e, d in ((5.0, 1e-9), (0.01, 1e-3))]
    parts += [GaussianDPNoise(0.9, 1e-5, calibration="classical").fit(X).guarantee_]
    parts += [OptimalDPNoise(0.5, 0.01).fit(X).guarantee_]
    for first in parts:
        for second in parts:
            both = first + second
            assert both.epsilon >= max(first.epsilon, second.epsilon)
            assert both.delta >= max(first.delta, second.delta)
            for own in (both, both.compose(100), both.to_record()):
                assert own.delta_at(own.epsilon) <= own.delta


def test_a_loose_calibration_composes_by_its_losses(X):
    classical = GaussianDPNoise(0.9, 1e-5, calibration="classical").fit(X).guarantee_
    assert classical.epsilon_at(1e-5) < 0.75
    expected = gaussian_epsilon(1 / classical.gaussian_distance, 1e-5, np.sqrt(7))
    assert_allclose(classical.to_record().epsilon, expected, rtol=1e-5)


@pytest.mark.parametrize("level", ["1", None, float("nan"), -0.1, True, 1j, [0.1]])
def test_levels_that_are_no_numbers_are_named(guarantee, level):
    with pytest.raises(ValueError, match=r"'delta' parameter must be in \[0, 1\), got"):
        guarantee.epsilon_at(level)
    with pytest.raises(ValueError, match="'epsilon' parameter must be >= 0, got"):
        guarantee.delta_at(level)
    with pytest.raises(ValueError, match=r"'delta' parameter must be in \[0, 1\), got 1.0"):
        guarantee.epsilon_at(1.0)


@pytest.mark.parametrize("name", ["mechanism", "covers", "excludes"])
@pytest.mark.parametrize("text", ["\x1b[2J(0, 0)", "one\nline", "\u202e0.1", "a\x00"])
def test_texts_that_are_not_printable_are_refused(guarantee, name, text):
    with pytest.raises(ValueError, match=f"The '{name}' of PrivacyGuarantee must be") as found:
        replace(guarantee, **{name: text})
    assert str(found.value).isprintable()


@pytest.mark.parametrize("distance", [30.0, 1e200])
def test_extreme_gaussian_distances_above_the_statement_are_refused(distance):
    with pytest.raises(ValueError, match="amounts to more than epsilon=1 and delta=1e-100"):
        stated(1.0, 1e-100, distance)


@pytest.mark.parametrize(
    ("unit", "more"),
    [
        ("labeled record", "one record (with its label)"),
        ("group", "one group of rows (one person)"),
    ],
)
def test_what_is_added_or_removed_is_named(unit, more):
    guarantee = statistics_guarantee(unit=unit)
    assert guarantee.neighbors == f"two data sets, one of which lacks {more} of the other"
    per = guarantee.amount.split(" per ")[1]
    assert f"differential privacy per {per}, by " in guarantee.sentence
    assert f"per {unit}, by noisy statistics\n" in str(guarantee)
    replaced = guarantee.to_replace_one()
    assert f"({replaced.epsilon:g}, 1e-05), {more} in place of another" in str(guarantee)
    assert "two data" in replaced.neighbors
    assert "more" not in replaced.neighbors
    assert guarantee.to_record() is guarantee
    assert replaced.to_record() is replaced
    assert replaced.to_replace_one() is replaced


def test_a_file_brings_a_guarantee_back(X):
    noises = [
        OptimalDPNoise(2.0, 0.1, privacy_unit="record"),
        GaussianDPNoise(privacy_unit="record"),
    ]
    for guarantee in (*(noise.fit(X).guarantee_ for noise in noises), statistics_guarantee()):
        for same in (guarantee, guarantee.compose(3), guarantee + guarantee):
            again = unpack_guarantee(json.loads(json.dumps(pack_guarantee(same))))
            assert again == same
            assert again.epsilon == same.epsilon


def test_the_keys_of_a_file_are_those_of_version_1(X):
    stored = pack_guarantee(OptimalDPNoise(2.0, 0.1, privacy_unit="record").fit(X).guarantee_)
    keys = "mechanism mechanisms sensitivity n_features covers excludes unit relation"
    assert sorted(stored) == sorted(keys.split())
    keys = "kind epsilon delta count n_elements squared_distance slack cut"
    assert sorted(stored["mechanisms"][0]) == sorted(keys.split())


def test_a_file_that_lacks_a_key_or_has_another_one_is_refused(guarantee):
    for owner in ("PrivacyGuarantee", "Mechanism"):
        keys = pack_guarantee(guarantee)
        keys = keys if owner == "PrivacyGuarantee" else keys["mechanisms"][0]
        for key in [*keys, "more"]:
            stored = pack_guarantee(guarantee)
            part = stored if owner == "PrivacyGuarantee" else stored["mechanisms"][0]
            part.pop(key, None) if key != "more" else part.update(more=1)
            with pytest.raises(ValueError, match=f"The {owner} of a file must have the keys"):
                unpack_guarantee(stored)
    for nothing in (None, [], "{}"):
        with pytest.raises(ValueError, match=r"must have the keys .*, got '(NoneType|list|str)'"):
            unpack_guarantee(nothing)


@pytest.mark.parametrize("unit", ["element", "record", "label"])
def test_parts_of_a_record_are_neither_added_nor_removed(unit):
    with pytest.raises(ValueError, match=f"'relation'.*unit='{unit}'.*unit='labeled record'"):
        statistics_guarantee(unit=unit)


def test_what_is_added_or_removed_has_no_distance():
    with pytest.raises(ValueError, match=r"'sensitivity'.*must be None.*got 2"):
        statistics_guarantee(sensitivity=2.0)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_replacing_doubles_the_distance_of_gaussian_noise(mu):
    both = [gaussian(0.6 * mu), gaussian(0.4 * mu).repeat(4)]
    guarantee = statistics_guarantee(mechanisms=both)
    assert_allclose(guarantee.gaussian_distance, mu)
    replaced = guarantee.to_replace_one()
    assert (replaced.relation, replaced.unit, replaced.delta) == (
        *("replace-one", "labeled record"),
        1e-5,
    )
    # By the two normal distributions themselves, 2μ apart.
    at_two = replaced.epsilon / (2 * mu)
    assert_allclose(
        norm.cdf(mu - at_two) - np.exp(replaced.epsilon) * norm.cdf(-mu - at_two), 1e-5
    )
    # Twice as many of both are twice the distance too.
    assert_allclose(replaced.epsilon, guarantee.compose(4).epsilon)


def test_replacing_by_other_mechanisms_is_group_privacy():
    known, unknown = (
        statistics_guarantee(mechanisms=[Mechanism(kind, 0.5, 1e-6)]) for kind in ("pure", "any")
    )
    for guarantee in (known, unknown):
        replaced = guarantee.to_replace_one()
        assert replaced.epsilon == 1.0
        assert_allclose(replaced.delta, 1e-6 * (1 + np.exp(0.5)))
    pure = statistics_guarantee(mechanisms=[Mechanism("any", 0.5)])
    assert (pure.to_replace_one().epsilon, pure.to_replace_one().delta) == (1.0, 0.0)
    nothing = statistics_guarantee(mechanisms=[Mechanism("gaussian", np.inf, 1e-5)])
    assert nothing.to_replace_one().epsilon == np.inf


def test_relations_are_not_mixed(X):
    statistics = statistics_guarantee()
    features = OptimalDPNoise(2.0, 0.0, privacy_unit="record", sensitivity=3.0).fit(X).guarantee_
    rows = record_guarantee(features, RandomizedResponse(1.0).fit([0, 1]).guarantee_)
    for pair in ((statistics, rows), (rows, statistics)):
        with pytest.raises(ValueError, match=r"Convert both with to_replace_one\(\)"):
            pair[0] + pair[1]
    # Statistics hold however far a row moves, so the sum holds where the other one does.
    for total in (statistics.to_replace_one() + rows, rows + statistics.to_replace_one()):
        assert total.epsilon == statistics.to_replace_one().epsilon + 3.0
        assert (total.sensitivity, total.n_features) == (3.0, 7)
    with pytest.raises(ValueError, match="unit='labeled record' and unit='group'"):
        statistics + statistics_guarantee(unit="group")


def test_statistics_of_other_columns_of_the_same_records_add_up():
    total = statistics_guarantee(3.0) + statistics_guarantee(4.0, n_features=30)
    assert_allclose(total.epsilon, gaussian_epsilon(1 / 5.0, 1e-5))
    assert (total.sensitivity, total.n_features, total.relation) == (None, 30, "add/remove")


def test_the_weakest_holds_for_disjoint_data_of_one_relation():
    statistics = [statistics_guarantee(1.0), statistics_guarantee(2.0)]
    assert joint_guarantee(statistics).epsilon == statistics[1].epsilon
    assert joint_guarantee(statistics).relation == "add/remove"
    assert joint_guarantee([statistics[0], statistics[1].to_replace_one()]) is None


def test_statistics_of_labels_too_are_the_guarantee_of_a_labeled_record():
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    for unit in ("labeled record", "group"):
        statistics = statistics_guarantee(unit=unit)
        assert record_guarantee(statistics, None) is statistics
        with pytest.raises(ValueError, match=f"'label_guarantee'.*None.*per {unit}"):
            record_guarantee(statistics, labels)

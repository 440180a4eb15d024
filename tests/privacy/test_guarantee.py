from dataclasses import FrozenInstanceError, asdict, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from skdp import GaussianDPNoise, OptimalDPNoise, RandomizedResponse
from skdp.privacy import (
    PrivacyGuarantee,
    PrivacyLoss,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    joint_guarantee,
    record_guarantee,
)


@pytest.fixture
def X():
    return np.zeros((10, 7))


def test_optimal_record_level(X):
    record = OptimalDPNoise(epsilon=0.5, delta=0.01).fit(X).guarantee_.to_record()
    assert_allclose(record.epsilon, 3.5)
    assert_allclose(record.delta, 1 - 0.99**7)


def test_gaussian_record_level(X):
    noise = GaussianDPNoise(epsilon=0.5, delta=1e-5, sensitivity=2.0).fit(X)
    record = noise.guarantee_.to_record()
    sigma = noise.expected_magnitude_ / np.sqrt(2 / np.pi)
    at_record = gaussian_delta(sigma, record.epsilon, 2.0 * np.sqrt(7))
    assert record.delta == 1e-5
    assert_allclose(at_record, 1e-5, rtol=1e-5)  # the sampler's own 7·2^-30 of ε
    assert 0.5 < record.epsilon < 3.5


def test_it_cannot_be_changed(X):
    guarantee = OptimalDPNoise().fit(X).guarantee_
    with pytest.raises(FrozenInstanceError):
        guarantee.epsilon = 0.1


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


def test_empirical_privacy_loss_stays_below_epsilon():
    # Lower-bound ε from samples of two neighbours: the most telling half-lines, with counts
    # large enough that the ratio is known to a few percent.
    epsilon = 1.0
    zeros, ones = np.zeros((400_000, 1)), np.ones((400_000, 1))
    noise = OptimalDPNoise(epsilon=epsilon, delta=0.0, random_state=np.random.RandomState(0))
    low, high = noise.fit(zeros).transform(zeros), noise.transform(ones)
    losses = [np.log(np.mean(high > t) / np.mean(low > t)) for t in np.linspace(-2, 4, 25)]
    assert epsilon - 0.05 < max(losses) < epsilon + 0.05


NONSENSE = {
    "epsilon": [float("nan"), -5.0, -1e-300, "1", None, True, 10**400, 1j],
    "delta": [float("nan"), -0.1, 2.0, 1 + 1e-15, "0", None, False],
    "sensitivity": [float("nan"), 0.0, -1.0, float("inf"), "1"],
    "n_features": [0, -5, 2.0, float("nan"), True, "7", 2**60],
    "unit": ["foo", "", None, 1, ["element"]],
    "mechanism": [None, 1],
    "covers": [None, 1],
    "excludes": [None, b"labels"],
    "losses": [None, "laplace", 3, [None], [{"kind": "laplace"}], [{"kind": "pure", "what": 1}]],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in NONSENSE.items() for value in values]
)
def test_what_no_mechanism_guarantees_is_refused(X, name, value):
    guarantee = OptimalDPNoise().fit(X).guarantee_
    with pytest.raises(ValueError, match=f"The '{name}' of PrivacyGuarantee must be"):
        replace(guarantee, **{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' of PrivacyGuarantee must be"):
        PrivacyGuarantee(**{**asdict(guarantee), name: value})  # as a file brings it


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", "cauchy"),
        ("kind", None),
        ("parameter", -1.0),
        ("parameter", float("nan")),
        ("atom", 5.0),
        ("atom", float("nan")),
        ("slack", -1e-3),
        ("slack", float("inf")),
        ("cut", 1.5),
        ("count", 0),
        ("count", 0.5),
        ("count", 10**400),
    ],
)
def test_losses_that_no_mechanism_has_are_refused(X, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' of PrivacyLoss must be"):
        PrivacyLoss(**{"kind": "pure", "parameter": 1.0, name: value})


def test_numbers_of_any_kind_become_floats(X):
    guarantee = OptimalDPNoise().fit(X).guarantee_
    same = replace(
        guarantee, epsilon=np.float32(1), n_features=np.int64(7), losses=list(guarantee.losses)
    )
    assert same == guarantee
    assert {type(same.epsilon), type(same.delta), type(same.sensitivity)} == {float}
    assert type(same.n_features) is int


@pytest.mark.parametrize("k", [0, -1, 2.5, float("nan"), float("inf"), 2.0**60, "3"])
def test_impossible_numbers_of_releases_are_refused(X, k):
    with pytest.raises(ValueError, match="'k' parameter must be a whole number"):
        OptimalDPNoise().fit(X).guarantee_.compose(k)


def test_a_guarantee_of_nothing_composes_too(X):
    nothing = replace(OptimalDPNoise().fit(X).guarantee_, delta=1.0, losses=())
    assert nothing.compose(3).delta == 1.0
    assert nothing.delta_at(1.0) == 1.0
    assert nothing.epsilon_at(0.5) == np.inf


@pytest.mark.parametrize(
    ("noise", "epsilon", "delta"),
    [
        (OptimalDPNoise(2.0, 0.0, privacy_unit="record"), 3.0, 0.0),
        (OptimalDPNoise(0.5, 0.01), 0.5 * 7 + 1, 1 - 0.99**7),
        (GaussianDPNoise(2.0, 1e-6, privacy_unit="record"), 3.0, 1e-6),
    ],
)
def test_a_person_with_features_and_a_label_costs_both(X, noise, epsilon, delta):
    features = noise.fit(X).guarantee_
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    joint = record_guarantee(features, labels)
    assert_allclose([joint.epsilon, joint.delta], [epsilon, delta])
    assert (joint.unit, joint.n_features, joint.sensitivity) == ("labelled record", 7, 1.0)
    assert "per labelled record, by the" in str(joint)
    assert "one record, each element by at most 1, and in its label" in str(joint)
    assert features.covers in joint.covers
    assert labels.covers in joint.covers
    assert joint.to_record() is joint
    joint.check_losses()
    assert joint.epsilon_at(max(delta, 1e-4)) <= joint.epsilon
    with pytest.raises(ValueError, match="unit='labelled record' and unit='record'"):
        joint + features.to_record()  # of which nothing is said about labels


def test_gaussian_features_are_exact_in_a_record_with_its_label(X):
    features = GaussianDPNoise(0.5, 1e-6).fit(X).guarantee_
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    assert record_guarantee(features, labels).epsilon == features.to_record().epsilon + 1.0
    assert record_guarantee(features, labels).epsilon < 7 * 0.5 + 1.0


def test_what_is_released_as_it_is_leaves_no_joint_guarantee(X):
    features = OptimalDPNoise().fit(X).guarantee_
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    assert record_guarantee(features, None) is None
    assert record_guarantee(None, labels) is None
    with pytest.raises(ValueError, match="'label_guarantee' parameter must be per label"):
        record_guarantee(features, features)
    with pytest.raises(ValueError, match="'guarantee' parameter must be per element or record"):
        record_guarantee(labels, labels)


UNDERSTATED = [
    (50.0, 1e-6, PrivacyLoss("gaussian", 1e-9), True),
    (50.0, 0.0, PrivacyLoss("pure", 1e-9), True),
    (1.0, 1e-6, PrivacyLoss("laplace", 0.5), False),
    (50.0, 1e-6, PrivacyLoss("pure", 1.0, count=40), False),
]


def stated(epsilon, delta, *losses):
    return PrivacyGuarantee("x", epsilon, delta, 1.0, 7, "rows", "labels", losses=losses)


@pytest.mark.parametrize(("epsilon", "delta", "loss", "refused"), UNDERSTATED)
def test_losses_below_the_statement_are_not_composed(X, epsilon, delta, loss, refused):
    fake = stated(epsilon, delta, loss)
    if refused:
        with pytest.raises(ValueError, match=r"amount to far less than epsilon=.*State what"):
            fake.check_losses()
    else:
        fake.check_losses()
    honest = GaussianDPNoise(0.5, 1e-6).fit(X).guarantee_
    for together in (fake.to_record(), fake.compose(2), fake + fake, fake + honest, honest + fake):
        assert together.epsilon >= epsilon
        assert together.delta >= delta
    assert fake.to_record().epsilon_at(1e-9 if delta == 0 else 1e-4) >= epsilon
    assert fake.delta_at(0.5 * epsilon) > 0.1


@pytest.mark.parametrize("distance", [0.5, 0.9, 1.5, 4.0])
def test_gaussian_losses_below_the_statement_compose_as_stated(distance):
    # Some δ needs that much, so that they may come from an honest sum.
    fake = stated(10.0, 1e-6, PrivacyLoss("gaussian", distance))
    true = stated(10.0, 1e-6, PrivacyLoss("gaussian", 1 / gaussian_sigma(10.0, 1e-6)))
    for k in (2, 7, 100):
        assert fake.compose(k).epsilon >= true.compose(k).epsilon * (1 - 3e-3)
    assert (fake + true).epsilon >= true.compose(2).epsilon * (1 - 3e-3)
    assert fake.epsilon_at(1e-9) >= true.epsilon_at(1e-9) * (1 - 3e-3)


def test_nothing_that_is_added_lowers_a_sum(X):
    parts = [GaussianDPNoise(e, d).fit(X).guarantee_ for e, d in ((5.0, 1e-9), (0.01, 1e-3))]
    parts += [GaussianDPNoise(0.9, 1e-5, calibration="classical").fit(X).guarantee_]
    parts += [OptimalDPNoise(0.5, 0.01).fit(X).guarantee_]
    for first in parts:
        for second in parts:
            both = first + second
            assert both.epsilon >= max(first.epsilon, second.epsilon)
            assert both.delta >= max(first.delta, second.delta)
            both.check_losses()
            both.compose(100).check_losses()
            both.to_record().check_losses()


def test_a_loose_calibration_composes_by_its_losses(X):
    classical = GaussianDPNoise(0.9, 1e-5, calibration="classical").fit(X).guarantee_
    classical.check_losses()
    assert classical.epsilon_at(1e-5) < 0.75
    [loss] = classical.losses
    expected = gaussian_epsilon(1 / loss.parameter, 1e-5, np.sqrt(7))
    assert_allclose(classical.to_record().epsilon, expected, rtol=1e-5)


@pytest.mark.parametrize("level", ["1", None, float("nan"), -0.1, True, 1j, [0.1]])
def test_levels_that_are_no_numbers_are_named(X, level):
    guarantee = OptimalDPNoise().fit(X).guarantee_
    with pytest.raises(ValueError, match=r"'delta' parameter must be in \[0, 1\), got"):
        guarantee.epsilon_at(level)
    with pytest.raises(ValueError, match="'epsilon' parameter must be >= 0, got"):
        guarantee.delta_at(level)


@pytest.mark.parametrize("name", ["mechanism", "covers", "excludes"])
@pytest.mark.parametrize("text", ["\x1b[2J(0, 0)", "one\nline", "\u202e0.1", "a\x00"])
def test_texts_that_are_not_printable_are_refused(X, name, text):
    guarantee = OptimalDPNoise().fit(X).guarantee_
    with pytest.raises(ValueError, match=f"The '{name}' of PrivacyGuarantee must be") as found:
        replace(guarantee, **{name: text})
    assert str(found.value).isprintable()


@pytest.mark.parametrize("distance", [1e-300, 1e-9, 30.0, 1e200])
def test_extreme_gaussian_losses_compose_too(distance):
    extreme = stated(1.0, 1e-100, PrivacyLoss("gaussian", distance))
    assert extreme.compose(2).epsilon >= 1.0
    assert (extreme + extreme).epsilon >= 1.0
    careful = replace(extreme, epsilon=1e-30)
    assert careful.compose(2).epsilon >= 1e-30


def statistics_guarantee(mu=1.0, delta=1e-5, unit="labelled record", **fields):
    """A guarantee as noisy statistics of whole records have it."""
    return PrivacyGuarantee(
        **{
            "mechanism": "noisy statistics",
            "epsilon": gaussian_epsilon(1 / mu, delta),
            "delta": delta,
            "sensitivity": None,
            "n_features": 7,
            "covers": "features and labels",
            "excludes": "the names of the classes",
            "unit": unit,
            "losses": (PrivacyLoss("gaussian", mu),),
            "relation": "add/remove",
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("unit", "more"),
    [
        ("labelled record", "one record (with its label)"),
        ("group", "one group of rows (one person)"),
    ],
)
def test_what_is_added_or_removed_is_named(unit, more):
    guarantee = statistics_guarantee(unit=unit)
    assert guarantee.neighbours == f"two data sets, one of which has {more} more"
    assert f"per {unit}, by noisy statistics\n" in str(guarantee)
    replaced = guarantee.to_replace_one()
    assert f"({replaced.epsilon:g}, 1e-05), {more} in place of another" in str(guarantee)
    assert "two data" in replaced.neighbours
    assert "more" not in replaced.neighbours
    assert guarantee.to_record() is guarantee
    assert replaced.to_record() is replaced
    assert replaced.to_replace_one() is replaced


def test_stored_fields_without_a_relation_mean_replace_one(X):
    fields = asdict(OptimalDPNoise().fit(X).guarantee_)
    del fields["relation"]
    assert PrivacyGuarantee(**fields) == OptimalDPNoise().fit(X).guarantee_
    assert PrivacyGuarantee(**fields).relation == "replace-one"
    fields = asdict(statistics_guarantee())
    assert PrivacyGuarantee(**fields) == statistics_guarantee()


@pytest.mark.parametrize("unit", ["element", "record", "label"])
def test_parts_of_a_record_are_neither_added_nor_removed(unit):
    with pytest.raises(ValueError, match=f"'relation'.*unit='{unit}'.*unit='labelled record'"):
        statistics_guarantee(unit=unit)


def test_what_is_added_or_removed_has_no_distance():
    with pytest.raises(ValueError, match=r"'sensitivity'.*must be None.*got 2"):
        statistics_guarantee(sensitivity=2.0)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_replacing_doubles_the_distance_of_gaussian_noise(mu):
    guarantee = statistics_guarantee(
        mu, losses=(PrivacyLoss("gaussian", 0.6 * mu), PrivacyLoss("gaussian", 0.4 * mu, count=4))
    )
    replaced = guarantee.to_replace_one()
    assert (replaced.relation, replaced.unit, replaced.delta) == (
        *("replace-one", "labelled record"),
        1e-5,
    )
    # By the two normal distributions themselves, 2μ apart.
    at_two = replaced.epsilon / (2 * mu)
    assert_allclose(
        norm.cdf(mu - at_two) - np.exp(replaced.epsilon) * norm.cdf(-mu - at_two), 1e-5
    )
    replaced.check_losses()
    # Twice as many of both are twice the distance too.
    assert_allclose(replaced.epsilon, guarantee.compose(4).epsilon)


def test_replacing_by_other_mechanisms_is_group_privacy():
    known = statistics_guarantee(epsilon=0.5, delta=1e-6, losses=(PrivacyLoss("pure", 0.5, 1e-6),))
    unknown = statistics_guarantee(epsilon=0.5, delta=1e-6, losses=())
    for guarantee in (known, unknown):
        replaced = guarantee.to_replace_one()
        assert replaced.epsilon == 1.0
        assert_allclose(replaced.delta, 1e-6 * (1 + np.exp(0.5)))
        replaced.check_losses()
    pure = replace(unknown, delta=0.0)
    assert (pure.to_replace_one().epsilon, pure.to_replace_one().delta) == (1.0, 0.0)
    nothing = statistics_guarantee(epsilon=np.inf, losses=(PrivacyLoss("gaussian", np.inf),))
    assert nothing.to_replace_one().epsilon == np.inf


def test_relations_are_not_mixed(X):
    statistics = statistics_guarantee()
    features = OptimalDPNoise(2.0, 0.0, privacy_unit="record", sensitivity=3.0).fit(X).guarantee_
    rows = record_guarantee(features, RandomizedResponse(1.0).fit([0, 1]).guarantee_)
    for pair in ((statistics, rows), (rows, statistics)):
        with pytest.raises(ValueError, match=r"Bring both to replace-one by to_replace_one\(\)"):
            pair[0] + pair[1]
    # Statistics hold however far a row moves, so the sum holds where the other one does.
    for total in (statistics.to_replace_one() + rows, rows + statistics.to_replace_one()):
        assert total.epsilon == statistics.to_replace_one().epsilon + 3.0
        assert (total.sensitivity, total.n_features) == (3.0, 7)
    with pytest.raises(ValueError, match="unit='labelled record' and unit='group'"):
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


def test_statistics_of_labels_too_are_the_guarantee_of_a_labelled_record():
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    for unit in ("labelled record", "group"):
        statistics = statistics_guarantee(unit=unit)
        assert record_guarantee(statistics, None) is statistics
        with pytest.raises(ValueError, match=f"'label_guarantee'.*None.*per {unit}"):
            record_guarantee(statistics, labels)

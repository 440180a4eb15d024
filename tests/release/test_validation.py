"""What Release's constructor refuses: one case, or more, for every check."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skdp import (
    DPSource,
    DPTransferClassifier,
    OptimalDPNoise,
    RandomizedResponse,
    SelfTrainingSchedule,
    WideCDMMAClassifier,
)
from skdp.privacy import Mechanism


@pytest.fixture(scope="module")
def sound():
    """A release that has every part: of 6 features, 3 classes and codes of 6 directions."""
    rng = np.random.RandomState(0)
    X, y = rng.rand(120, 6), np.arange(120) % 3
    noise = OptimalDPNoise(4.0, 1e-5, random_state=np.random.RandomState(0))
    response = RandomizedResponse(9.0, random_state=np.random.RandomState(0))
    settings = {"n_components": 2, "n_layers": 1, "random_state": 0, "parts": "all"}
    return DPSource(noise=noise, label_noise=response, **settings).fit(X, y).release_


def part(name, **changes):
    """Change arrays of a part: each by a function of the array, or to a value."""

    def change(release):
        own = getattr(release, name)
        arrays = {k: f(getattr(own, k)) if callable(f) else f for k, f in changes.items()}
        return {name: replace(own, **arrays)}

    return change


def field(**changes):
    """Set fields of the release."""
    return lambda release: changes


def element(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def times(factor):
    return lambda array: factor * array


def without_first_row(array):
    return array[1:]


def without_first_column(array):
    return array[:, 1:]


def fitted(n_features=6, classes=(0, 1, 2)):
    rng = np.random.RandomState(0)
    X, y = rng.rand(60, n_features), np.array(classes)[np.arange(60) % len(classes)]
    return WideCDMMAClassifier(2, n_layers=1, error_scale="shared", random_state=0).fit(X, y)


FRAME = [
    ("classes", field(classes=np.array([[0, 1, 2]]))),
    ("classes", field(classes=np.array([0j, 1, 2]))),
    ("classes' of a release must be finite", field(classes=np.array([0.0, 1.0, np.nan]))),
    ("classes' of a release must not be so long", field(classes=("a", "b" * 2**20, "c"))),
    ("two or more different ones", field(classes=np.array([0]))),
    ("two or more different ones", field(classes=np.array([0, 1, 1]))),
    ("classes' of a release must be sorted", field(classes=np.array([0, 2, 1]))),
    ("n_features", field(n_features=6.0)),
    ("n_features", field(n_features="6")),
    ("n_features", field(n_features=True)),
    ("n_features", field(n_features=0)),
    ("dtype", field(dtype=np.float16)),
    ("dtype", field(dtype=np.int64)),
    ("feature_names", field(feature_names=list("abcdef"))),
    ("feature_names", field(feature_names=np.array(list("abcde"), dtype=object))),
    ("feature_names.*must be text", field(feature_names=np.array([*"abcde", 6], dtype=object))),
]

GUARANTEES = [
    ("guarantee.*PrivacyGuarantee", field(guarantee=None)),
    ("guarantee.*PrivacyGuarantee", field(guarantee={"epsilon": 1.0})),
    ("epsilon > 0", part("guarantee", mechanisms=[Mechanism("laplace", 0.0)])),
    ("delta below 1", part("guarantee", mechanisms=[Mechanism("any", 1.0, 1.0)])),
    ("per element or group or labeled record or record", part("guarantee", unit="label")),
    ("about 6 features", part("guarantee", n_features=5)),
    ("label_guarantee.*PrivacyGuarantee", field(label_guarantee="none")),
    ("label_guarantee.*epsilon > 0", part("label_guarantee", mechanisms=[Mechanism("pure", 0.0)])),
    ("label_guarantee.*per label", part("label_guarantee", unit="element")),
    ("label_guarantee.*about 1 features", part("label_guarantee", n_features=6)),
]

ALIGNMENT = [
    ("alignment.components.*real numbers", part("alignment", components=[[1.0] * 6])),
    ("alignment.components.*real numbers", part("alignment", components=times(1j))),
    ("alignment.components.*real numbers", part("alignment", components=lambda a: a.astype(str))),
    ("alignment.mean.*finite", part("alignment", mean=element(0, np.nan))),
    ("alignment.mean.*finite", part("alignment", mean=element(0, np.inf))),
    ("alignment.mean.*finite", part("alignment", mean=element(0, 1e101))),
    ("alignment.components.*shape", part("alignment", components=lambda a: a[0])),
    ("alignment.components.*empty", part("alignment", components=np.empty((0, 6)))),
    ("alignment.components.*shape", part("alignment", components=without_first_column)),
    ("alignment.class_medians.*shape", part("alignment", class_medians=without_first_row)),
    ("alignment.class_medians.*shape", part("alignment", class_medians=without_first_column)),
    ("alignment.mean.*shape", part("alignment", mean=without_first_row)),
]

MOMENTS = [
    ("moments.means.*real numbers", part("moments", means=None)),
    ("moments.covariances.*finite", part("moments", covariances=element((0, 0), np.nan))),
    ("moments.class_counts.*shape", part("moments", class_counts=without_first_row)),
    ("moments.class_counts.*positive", part("moments", class_counts=element(0, 0))),
    ("moments.effective_sizes.*shape", part("moments", effective_sizes=without_first_row)),
    ("moments.effective_sizes.*positive", part("moments", effective_sizes=element(0, -1))),
    ("moments.means.*shape", part("moments", means=without_first_column)),
    ("moments.covariances.*shape", part("moments", covariances=without_first_column)),
    ("moments.noise.*shape", part("moments", noise=without_first_row)),
    ("moments.noise.*not be negative", part("moments", noise=element(0, -1e-9))),
]

SUBSPACE = [
    ("subspace.mean.*real numbers", part("subspace", mean=None)),
    ("subspace.variances.*finite", part("subspace", variances=element(0, np.inf))),
    ("subspace.variances.*positive", part("subspace", variances=element(0, 0.0))),
    ("subspace.variances.*shape", part("subspace", variances=lambda a: a[:, np.newaxis])),
    ("subspace.variances.*shape", part("subspace", variances=np.empty(0))),
    ("subspace.mean.*shape", part("subspace", mean=without_first_row)),
    ("subspace.variances.*shape", part("subspace", components=without_first_row)),
    ("subspace.components.*shape", part("subspace", components=without_first_column)),
    ("subspace.components.*unit vectors", part("subspace", components=times(1.01))),
    ("subspace' of a release needs moments", field(moments=None)),
]

MIXTURES = [
    ("mixtures.weights.*real numbers", part("mixtures", weights=None)),
    ("mixtures.means.*finite", part("mixtures", means=element((0, 0), np.nan))),
    ("mixtures.class_indices", part("mixtures", class_indices=lambda a: a.astype(float))),
    ("mixtures.class_indices", part("mixtures", class_indices=lambda a: a[:, np.newaxis])),
    ("mixtures.class_indices", part("mixtures", class_indices=lambda a: a + 1)),
    ("mixtures.class_indices", part("mixtures", class_indices=lambda a: a[::-1])),
    ("mixtures.weights.*shape", part("mixtures", class_indices=lambda a: a[:-1])),
    ("mixtures.weights.*shape", part("mixtures", weights=without_first_row)),
    ("mixtures.weights.*positive", part("mixtures", weights=times(-1))),
    ("mixtures.weights.*add up to 1", part("mixtures", weights=times(0.5))),
    ("mixtures.means.*shape", part("mixtures", means=without_first_column)),
    ("mixtures.means.*magnitudes below", part("mixtures", means=lambda a: a + 1e10)),
    ("mixtures.covariances.*shape", part("mixtures", covariances=without_first_column)),
    ("mixtures.covariances.*symmetric", part("mixtures", covariances=lambda a: a + np.tri(6))),
    ("mixtures.covariances.*definite", part("mixtures", covariances=times(-1))),
    ("mixtures.covariances.*definite", part("mixtures", covariances=times(1e-60))),
]

BOTH = ["classifier", "row_classifier"]
CLASSIFIERS = [
    ("classifier'.*fitted WideCDMMAClassifier", field(classifier="of digits")),
    ("classifier'.*fitted WideCDMMAClassifier", field(classifier=WideCDMMAClassifier())),
    ("classifier'.*same classes", field(classifier=fitted(classes=(0, 1)))),
    ("classifier'.*same classes", field(classifier=fitted(classes=(0, 1, 3)))),
    ("classifier'.*read 6 features", field(classifier=fitted(5))),
    ("'row_classifier'.*fitted", field(row_classifier=WideCDMMAClassifier())),
    ("'row_classifier'.*same classes", field(row_classifier=fitted(classes=(1, 2, 3)))),
    ("'row_classifier'.*read 6 features", field(row_classifier=fitted(7))),
    (
        "'mixtures' of a release needs subspace",
        lambda release: {"subspace": None, "classifier": release.row_classifier},
    ),
    (
        "'code_classifier'.*needs subspace",
        lambda release: {"subspace": None, "mixtures": None, "code_classifier": fitted()},
    ),
    (
        "neither statistics, moments nor a classifier",
        field(**dict.fromkeys(["moments", "subspace", "mixtures", *BOTH])),
    ),
]

GROUPS = {
    "frame": FRAME,
    "guarantees": GUARANTEES,
    "alignment": ALIGNMENT,
    "moments": MOMENTS,
    "subspace": SUBSPACE,
    "mixtures": MIXTURES,
    "classifiers": CLASSIFIERS,
}
CASES = [
    pytest.param(change, message, id=f"{group}{i}: {message}")
    for group, cases in GROUPS.items()
    for i, (message, change) in enumerate(cases)
]


@pytest.mark.parametrize(("change", "message"), CASES)
def test_what_does_not_fit_together_is_refused(sound, change, message, altered):
    with pytest.raises(ValueError, match=message) as caught:
        altered(sound, **change(sound))
    assert "Ask its owner for a sound one" in str(caught.value)


@pytest.mark.parametrize(
    "classes", [[None, "a", "b"], [1, "a", 2.5], [("a",), ("b",), ("c",)], [np.nan, "a", "b"]]
)
def test_classes_that_a_file_could_not_hold_are_refused(sound, classes, altered):
    labels = np.empty(3, dtype=object)
    labels[:] = classes
    with pytest.raises(ValueError, match="'classes' of a release"):
        altered(sound, classes=labels, classifier=None, row_classifier=None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dtype", None),
        ("dtype", "nonsense"),
        ("moments", {}),
        ("alignment", "alignment"),
        ("subspace", 3),
        ("mixtures", []),
        ("feature_names", np.array(list("aabcde"), dtype=object)),
    ],
)
def test_what_is_no_such_part_is_refused(sound, name, value, altered):
    with pytest.raises(ValueError, match=f"'{name}' of a release"):
        altered(sound, **{name: value})


SCALED = [
    *[("alignment", "components", factor) for factor in (1e99, 1e30, 1e-30, 1e-99)],
    *[("alignment", "class_medians", 1e30), ("alignment", "mean", 1e30)],
    *[("moments", "means", 1e99), ("moments", "means", 1e30), ("moments", "covariances", 1e37)],
    *[("moments", "noise", 1e40), ("subspace", "mean", 1e30)],
    *[("subspace", "variances", 1e-99), ("subspace", "variances", 1e60)],
]


@pytest.mark.parametrize(("part", "name", "factor"), SCALED)
def test_numbers_out_of_all_proportion_are_refused(sound, part, name, factor, altered):
    whole = getattr(sound, part)
    scaled = replace(whole, **{name: getattr(whole, name) * factor})
    with pytest.raises(ValueError, match=rf"{part}\.{name}"):
        altered(sound, **{part: scaled})


@pytest.mark.parametrize("factor", [1e10, 1e17])
@pytest.mark.parametrize("n_features", [6, 4])
def test_a_target_of_another_scale_is_an_error_that_says_so_or_none(
    sound, factor, n_features, rng, altered
):
    """Numbers that a source may have, and this target has not."""
    moments = replace(sound.moments, means=sound.moments.means * factor)
    other = altered(sound, moments=moments)
    X, marked = rng.rand(30, n_features), np.arange(30) % 3
    marked[15:] = -1
    model = DPTransferClassifier(
        other, self_training=SelfTrainingSchedule(n_components=1), random_state=0
    )
    problem = None
    try:
        model.fit(X, marked)
    except ValueError as error:
        problem = str(error)
    if problem is None:
        assert np.isfinite(model.decision_function(X)).all()
    else:
        assert "Scale it alike" in problem


def test_a_sound_release_and_its_parts_are_accepted(sound, altered):
    copy = replace(sound)
    assert_array_equal(copy.moments.means, sound.moments.means)
    for name in ("alignment", "mixtures", "classifier", "row_classifier", "label_guarantee"):
        assert getattr(altered(sound, **{name: None}), name) is None
    names = np.array(list("abcdef"), dtype=object)
    assert_array_equal(replace(sound, feature_names=names).feature_names, names)
    record = replace(sound, guarantee=sound.guarantee.to_record())
    assert record.guarantee.unit == "record"


def test_a_release_loads_without_tight_accounting(sound, tmp_path, monkeypatch):
    sound.save(tmp_path / "release")
    for name in ("dp_accounting", "dp_accounting.pld"):
        monkeypatch.setitem(sys.modules, name, None)
    assert type(sound).load(tmp_path / "release").guarantee.epsilon == 4.0

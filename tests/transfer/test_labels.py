"""What a target's labels may be, and which rows and labels are refused."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from skdp import (
    DPSource,
    DPStatisticsSource,
    DPTransferClassifier,
    LabeledScorer,
    SelfTrainingSchedule,
)
from skdp.datasets import load_heart_disease
from skdp.transfer._classes import encode_labels
from skdp.transfer._noise_aware import NOISE_AWARE

pytestmark = pytest.mark.usefixtures("few_rounds")
# What a label means is known before the training, so one short round tells it.
SHORT = SelfTrainingSchedule(n_components=4, n_layers=1, n_folds=2)


def test_without_a_source_minus_one_is_a_class_where_there_are_but_two(rng):
    X, y = rng.rand(60, 4), np.where(np.arange(60) % 2, -1, 1)
    model = DPTransferClassifier(random_state=0).fit(X, y)
    assert list(model.classes_) == [-1, 1]
    assert_array_equal(model.transduction_, y)
    assert model.guarantee_ is None
    assert not hasattr(model, "source_scores")


@pytest.fixture(scope="module")
def numbers(other):
    """A model without a source of labels in numbers, which -1 marks."""
    X, _, marked, _, _ = other
    model = DPTransferClassifier(unlabeled=-1, self_training=SHORT, random_state=0)
    return model.fit(X, marked)


def test_marks_that_became_text_are_explained(release, same):
    X, _, marked, _, _ = same
    with pytest.raises(ValueError, match="make y an array of dtype object"):
        DPTransferClassifier(release).fit(X, marked.astype(str))


@pytest.mark.parametrize(
    ("y", "classes", "n_unlabeled"),
    [
        ([-1, 1], [-1, 1], 0),  # the exception: as a mark it would leave one class
        ([-1, 0], [-1, 0], 0),
        ([-1, 1, None], [-1, 1], 1),
        ([-1.0, 1.0, np.nan], [-1, 1], 1),
        ([-1, 0, 1], [0, 1], 1),
        ([-1.0, 0.0, 1.0], [0, 1], 1),
        ([-1, 0, None, 1], [0, 1], 2),
        ([-1, "a", "b", None], ["a", "b"], 2),
        (["-1", "1"], ["-1", "1"], 0),  # text is no mark
        (["-1", "0", "1"], ["-1", "0", "1"], 0),
        ([False, True], [False, True], 0),
    ],
)
def test_what_marks_a_row_without_a_source(y, classes, n_unlabeled):
    dtype = object if None in y or {str, int} <= set(map(type, y)) else None
    y = np.repeat(np.array(y, dtype=dtype), 10)
    found, labels = encode_labels(y, len(y), [], unlabeled="auto", strategy=NOISE_AWARE)
    assert found.tolist() == classes
    assert np.count_nonzero(labels < 0) == 10 * n_unlabeled


def test_what_marks_a_row_can_be_said(rng):
    X, y = rng.rand(30, 3), np.repeat([-1, 0, 1], 10)
    for marker, expected in ((-1, [0, 1]), (None, [-1, 0, 1]), (1, [-1, 0]), (7, [-1, 0, 1])):
        found, _ = encode_labels(y, len(y), [], unlabeled=marker, strategy=NOISE_AWARE)
        assert found.tolist() == expected
    # No exception where the mark was named.
    with pytest.raises(ValueError, match=r"\[1\] and 10 unlabeled rows \(unlabeled=-1\)"):
        DPTransferClassifier(unlabeled=-1).fit(X[10:], np.repeat([-1, 1], 10))


def test_a_failed_fit_leaves_no_model(release, same):
    X, y, _, _, _ = same
    model = DPTransferClassifier(
        release, self_training=SelfTrainingSchedule(n_components=3, n_layers=1)
    ).fit(X, y)
    with pytest.raises(ValueError, match="not among the classes"):
        model.fit(X, np.full(len(X), 33))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_classes_that_the_source_lacks_are_refused(release, same):
    X, _, marked, _, _ = same
    y = np.where(marked == 4, 44, marked)
    with pytest.raises(ValueError, match=r"labels \[44\] in y are not among the classes"):
        DPTransferClassifier(release).fit(X, y)


def test_too_few_classes_are_refused(release, same):
    X, _, marked, _, _ = same
    with pytest.raises(ValueError, match=r"at least two classes, got 1 class \[3\] and"):
        DPTransferClassifier(unlabeled=-1).fit(X, np.where(marked == 3, 3, -1))
    with pytest.raises(ValueError, match=r"60 columns and labels of one class at most"):
        DPTransferClassifier(release).fit(X[:, :60], np.where(marked == 3, 3, -1))
    with pytest.raises(ValueError, match=r"got 0 classes \[\] and 500"):
        DPTransferClassifier(unlabeled=-1).fit(X, np.full(len(X), -1))


def test_an_unfitted_source_is_refused(same):
    with pytest.raises(NotFittedError, match="DPSource"):
        DPTransferClassifier(DPSource()).fit(same[0], same[2])


@pytest.mark.parametrize("source", [DPSource, 3])
def test_what_is_no_source_is_refused(same, source):
    with pytest.raises(ValueError, match=r"'source' parameter.*path of its file"):
        DPTransferClassifier(source).fit(same[0], same[1])


@pytest.mark.parametrize("strategy", ["alignment", "multitask"])
def test_the_papers_strategies_want_a_classifier_of_whole_rows(denoised_release, same, strategy):
    X, _, marked, _, _ = same
    remedy = r"'strategy' parameter.*DPSource\(parts='papers'\) or DPSource\(parts='all'\)"
    with pytest.raises(ValueError, match=remedy):
        DPTransferClassifier(denoised_release, strategy=strategy).fit(X, marked)


def test_marks_that_became_text_are_warned_about(rng):
    X = rng.rand(6, 2)
    with pytest.warns(UserWarning, match=r"labels \['-1'\] in y count as classes.*dtype object"):
        DPTransferClassifier(random_state=0).fit(X, ["a", "b", -1, "a", "b", -1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DPTransferClassifier(random_state=0).fit(X, ["-1", "0", "1"] * 2)


# Spellings

HEART = load_heart_disease()
PATIENTS = np.flatnonzero(HEART.hospital == "Budapest")[::3]  # 98 of them
SPELLINGS = {
    "numbers": [0, 1],
    "fractions": [0.0, 1.0],
    "text": ["0", "1"],
    "digits": ["00", "1.0"],
    "truth": [False, True],
    "words": ["FALSE", "True"],
}


def spelled(name, y):
    return np.array(SPELLINGS[name], dtype=object)[y]


def hospital(classes):
    schema = HEART.schema | {"classes": classes}
    own = HEART.hospital == "Cleveland"
    source = DPStatisticsSource(np.inf, encoder=schema)
    return source.fit(HEART.data[own], np.array(classes)[HEART.target[own]]).release_


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning", "ignore:The columns")
@pytest.mark.parametrize(("shift", "classes"), [(0, "numbers"), (1, "text"), (2, "truth")])
def test_labels_are_compared_in_canonical_form(shift, classes):
    release = hospital(SPELLINGS[classes])
    X, y = HEART.data.iloc[PATIENTS], HEART.target[PATIENTS]
    hidden = np.random.RandomState(0).permutation(len(y))[30:]
    expected = None
    for k, name in enumerate(SPELLINGS):
        known = spelled(name, y)
        # Each spelling meets each mark, at one of the three releases.
        known[hidden] = (None, np.nan, -1)[(k + shift) % 3]
        model = DPTransferClassifier(release, self_training=SHORT, random_state=0)
        model.fit(X, known)
        assert_array_equal(model.classes_, release.classes)
        assert model.transduction_.dtype == release.classes.dtype
        p = model.predict_proba(X)
        expected = p if expected is None else expected
        assert_array_equal(p, expected)
        truth = spelled(name, y)
        accuracy = np.mean(model.predict(X) == release.classes[y])
        assert model.score(X, truth) == pytest.approx(accuracy)
        assert LabeledScorer()(model, X, known) == pytest.approx(
            np.mean(np.delete(model.predict(X) == release.classes[y], hidden))
        )
        assert release.score(X, truth) == np.mean(release.predict(X) == release.classes[y])

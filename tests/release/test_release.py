"""The value that passes from the source's owner to the target's."""

import copy
import pickle
import re
import warnings
from dataclasses import FrozenInstanceError, replace
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from skdp import (
    DPSource,
    DPStatisticsSource,
    DPTransferClassifier,
    GaussianDPNoise,
    OptimalDPNoise,
    RandomizedResponse,
    Release,
    SelfTrainingSchedule,
    WideCDMMAClassifier,
)
from skdp.tabular import ClassOutcome

SETTINGS = {"n_components": 3, "n_inducing": 10, "n_layers": 1, "random_state": 0}
PARTS = ("alignment", "moments", "subspace", "mixtures")


def arrays_of(part):
    """Name and array of each field; optional ones may be None."""
    return {name: array for name, array in vars(part).items() if array is not None}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    y = np.arange(150) % 3
    X = pd.DataFrame(rng.rand(150, 6) + y[:, np.newaxis], columns=list("abcdef"))
    return X, np.array(["ant", "bee", "cow"])[y]


@pytest.fixture(scope="module")
def release(rows):
    # Of Gaussian noise, whose closed forms take no time.
    noise = GaussianDPNoise(20.0, 1e-5, random_state=np.random.RandomState(0))
    return DPSource(noise=noise, parts="all", **SETTINGS).fit(*rows).release_


def test_nothing_in_it_can_be_changed(release):
    with pytest.raises(FrozenInstanceError):
        release.classes = np.array([0, 1])
    arrays = [release.classes, release.feature_names]
    arrays += [array for name in PARTS for array in arrays_of(getattr(release, name)).values()]
    assert len(arrays) == 2 + 3 + 7 + 3 + 4
    for classifier in (release.classifier, release.row_classifier):
        for autoencoder in chain.from_iterable(classifier.autoencoders_by_class()):
            arrays += [autoencoder.components_, autoencoder.training_error_sums_]
            arrays += [layer.coef for layer in autoencoder._layers]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array


def test_what_made_it_keeps_its_own_arrays(release):
    classes = np.array(["ant", "bee", "cow"])
    other = replace(release, outcome=ClassOutcome(classes))
    classes[0] = "cat"  # the caller's array stays writable, and the release as it was
    assert other.classes.tolist() == ["ant", "bee", "cow"]


def test_copies_and_clones_are_the_same_object(release):
    model = DPTransferClassifier(release)
    shared = [copy.copy(release), copy.deepcopy(release), clone(release)]
    shared += [clone(model).source, copy.deepcopy(model).source]
    assert all(other is release for other in shared)


def test_no_generator_leaves_with_it(rows):
    """What drew the noise and the seeds of k-means would give the clean rows away."""
    X, y = rows
    generator = np.random.RandomState(5)
    noise = OptimalDPNoise(0.5, random_state=generator)
    settings = {**SETTINGS, "random_state": generator}
    source = DPSource(noise=noise, parts="all", **settings).fit(X, y)
    marked = y.astype(object)
    marked[30:] = None
    model = DPTransferClassifier(
        source.release_, self_training=SelfTrainingSchedule(n_components=2), random_state=0
    ).fit(X, marked)
    assert b"MT19937" in pickle.dumps(generator)
    for thing in (source, source.release_, model):
        assert b"MT19937" not in pickle.dumps(thing)
    for classifier in (source.release_.classifier, source.release_.row_classifier):
        for autoencoder in chain.from_iterable(classifier.autoencoders_by_class()):
            assert autoencoder.random_state is None


def test_whoever_made_a_classifier_cannot_change_it_any_more(release, rows, altered):
    classifier = WideCDMMAClassifier(2, n_layers=1, error_scale="shared", random_state=0)
    classifier.fit(rows[0].to_numpy(), rows[1])
    plain = altered(release, classifier=classifier, row_classifier=None, subspace=None,
                    mixtures=None)  # fmt: skip
    before = plain.scores(rows[0])
    classifier.autoencoders_[0].autoencoders_[0].components_[...] = 0.0
    classifier.fit(rows[0].to_numpy()[::-1], rows[1])
    assert_array_equal(plain.scores(rows[0]), before)
    assert plain.row_classifier is plain.classifier


def test_pickles_hold_what_it_holds(rows, release):
    again = pickle.loads(pickle.dumps(release))
    assert_array_equal(again.scores(rows[0]), release.scores(rows[0]))
    assert again.guarantee == release.guarantee
    with pytest.raises(FrozenInstanceError):
        again.classes = None
    with pytest.raises(ValueError, match="read-only"):
        again.moments.means[0] = 0.0


def test_a_large_file_can_stay_a_file(release, rows, tmp_path):
    release.save(tmp_path / "release")
    mapped = Release.load(tmp_path / "release", mmap_mode="r")
    for name in PARTS:
        for array in arrays_of(getattr(mapped, name)).values():
            assert isinstance(array, np.memmap)
    release.save(tmp_path / "release")  # a new file; the mapped one lives on
    assert_array_equal(mapped.scores(rows[0]), release.scores(rows[0]))
    assert mapped.summary() == release.summary()
    with pytest.raises(ValueError, match="'mmap_mode' parameter"):
        Release.load(tmp_path / "release", mmap_mode="r+")


def test_the_source_alone_is_its_classifier_of_denoised_rows(rows, release):
    X, y = rows
    codes = release.subspace.encode(X.to_numpy())
    assert_array_equal(release.scores(X), -release.classifier.reconstruction_errors(codes))
    assert_array_equal(release.predict(X), release.classifier.predict(codes))
    assert_array_equal(release.predict_proba(X), release.classifier.predict_proba(codes))
    assert release.score(X, y) == np.mean(release.predict(X) == y) > 0.9


def test_without_noise_the_source_alone_is_the_plain_classifier(rows, open_source):
    X, y = rows[0].to_numpy(), rows[1]
    plain = WideCDMMAClassifier(20, error_scale="shared", random_state=0).fit(X, y)
    release = open_source(X, y).release_
    assert_array_equal(release.scores(X), -plain.reconstruction_errors(X))
    assert_array_equal(release.predict_proba(X), plain.predict_proba(X))


def test_columns_are_matched_by_name(rows, release):
    X, _ = rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(release.scores(X[list("fcabed")]), release.scores(X))
    with pytest.warns(UserWarning, match=r"columns \['more'\] do not belong to this release"):
        assert_array_equal(release.scores(X.assign(more=1.0)), release.scores(X))
    twice = pd.concat([X, X[["b"]]], axis=1)
    with pytest.raises(ValueError, match=r"several columns called \['b'\]"):
        release.scores(twice)
    assert_array_equal(release.scores(X.to_numpy()), release.scores(X))
    with pytest.raises(ValueError, match=r"X lacks the columns \['b'\]"):
        release.predict(X.drop(columns="b"))


def test_rows_of_another_space_are_refused(release):
    with pytest.raises(ValueError, match="X has 5 features, but Release is expecting 6"):
        release.predict(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="contains NaN"):
        release.predict(np.full((2, 6), np.nan))


def test_marks_are_not_scored(release, rows):
    X, y = rows
    for mark in (None, np.nan, -1):
        marked = y.astype(object)
        marked[:7] = mark
        with pytest.raises(ValueError, match=r"Release\.score marks 7 of 150 rows as unlabeled"):
            release.score(X, marked)


def test_summary_says_what_it_is_and_what_it_guarantees(release):
    text = release.summary()
    sections = {
        title: lines for title, *lines in (s.split("\n  ") for s in text.split("\n\n")[1:])
    }
    assert " ".join(text.split()).startswith(repr(release))
    assert "6 columns, and the classes ant, bee, cow." in " ".join(sections["What is in the file"])
    assert sections["Which numbers"] == [
        f"medians of the classes in {len(release.alignment.components)} principal directions",
        "counts, means and covariances of the classes",
        "6 principal directions",
        f"{len(release.mixtures.weights)} normal distributions in 6 principal directions",
        "3 autoencoders (depth 1) of denoised rows",
        "3 autoencoders (depth 1) of noisy rows",
    ]
    assert "(20, 1e-05)-differential privacy per element" in sections["For experts"][0]
    assert sections["How well"][0].startswith("epsilon = 20, delta = 1e-05.")
    assert sections["Labels"] == ["Not protected: the source used them as they are."]
    assert sections["A record with its label"] == [
        "No guarantee, because labels are not protected."
    ]
    assert sections["Columns"] == [f"{name!r}: numeric" for name in "abcdef"]
    counts = [round(n) for n in release.moments.class_counts]
    [line] = sections["What came out"]
    assert line.endswith("ant {}, bee {}, cow {}".format(*counts))
    assert release.record_guarantee is None
    what = r"3 classes, 6 features, epsilon 20, delta 1e-05 per element"
    assert re.fullmatch(rf"Release\([0-9a-f]{{8}}: about [\d,]+ rows, {what}\)", repr(release))


def test_the_repr_tells_releases_apart_and_is_that_of_the_file(tmp_path):
    X, y = np.random.default_rng(0).uniform(size=(300, 2)), np.repeat([0, 1], 150)
    source = DPStatisticsSource(epsilon=1.0, bounds=(0, 1), classes=[0, 1])
    first, second = (source.fit(X, y).release_ for _ in range(2))
    first.save(tmp_path / "first.skdp")
    assert repr(Release.load(tmp_path / "first.skdp")) == repr(first) != repr(second)
    merged = Release.merge([first, second], disjoint=True)
    n_rows = merged.statistics.sums.row_counts.sum()
    assert len({repr(release)[:17] for release in (first, second, merged)}) == 3
    assert f"about {n_rows:,.0f} rows, 2 classes" in repr(merged)


def test_a_record_with_its_label_has_one_guarantee(release):
    labels = RandomizedResponse(1.0).fit(["ant", "bee"]).guarantee_
    features = OptimalDPNoise(2.0, 0.0, privacy_unit="record").fit(np.zeros((1, 6))).guarantee_
    both = replace(release, guarantee=features, label_guarantee=labels)
    joint = both.record_guarantee
    assert (joint.epsilon, joint.delta, joint.unit) == (3.0, 0.0, "labeled record")
    line = "epsilon = 3, delta = 0, for all features of a row and its label."
    assert f"\nA record with its label\n  {line}\n" in both.summary()


def test_html_is_the_summary_with_nothing_that_runs(release, altered):
    html = altered(release, classes=np.array(["<script>", "b", "c"]), classifier=None,
                   row_classifier=None)._repr_html_()  # fmt: skip
    assert "differential privacy per element" in html
    assert "&lt;script&gt;" in html
    assert "<script>" not in html

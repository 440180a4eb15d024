"""The file of a release: what comes back, and what is refused."""

import io
import pickle
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp import DeepFuzzyClassifier, DPSource, OptimalDPNoise, Release
from skdp.utils._storage import load_arrays, save_arrays

PARTS = ["noise_aware", "papers", "all"]


@pytest.mark.slow
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_save_and_load(small, tmp_path, dtype, parts):
    X, y = small
    X = pd.DataFrame(X.astype(dtype), columns=list("abcdef"))
    labels = np.array(["ant", "bee", "cow"], dtype=object)[y]
    settings = {"subset_size": 15, "inference": "empirical", "random_state": 0}
    release = DPSource(4.0, parts=parts, **settings).fit(X, labels).release_
    path = tmp_path / "release.whatever"
    release.save(path)
    loaded = Release.load(path)
    for method in ("scores", "predict_proba", "predict"):
        assert_array_equal(getattr(loaded, method)(X), getattr(release, method)(X))
    if parts != "noise_aware":
        expected = release.row_classifier.decision_function(X.to_numpy())
        assert_array_equal(loaded.row_classifier.decision_function(X.to_numpy()), expected)
    assert (loaded.row_classifier is loaded.classifier) == (parts == "papers")
    assert (loaded.row_classifier is None) == (parts == "noise_aware")
    for name in ("alignment", "moments", "subspace", "mixtures"):
        part, copy = getattr(release, name), getattr(loaded, name)
        assert (copy is None) == (part is None)
        for key, array in vars(part).items() if part is not None else ():
            if array is None:
                assert getattr(copy, key) is None
                continue
            assert_array_equal(getattr(copy, key), array)
            assert getattr(copy, key).dtype == array.dtype
    assert loaded.alignment.components.dtype == loaded.dtype == dtype
    assert_array_equal(loaded.feature_names, release.feature_names)
    assert_array_equal(loaded.classes, release.classes)
    assert loaded.n_features == 6
    assert loaded.guarantee == release.guarantee
    assert loaded.label_guarantee is None
    assert loaded.summary() == release.summary()
    assert {field.name for field in fields(loaded)} == set(vars(release))
    loaded.save(path)
    assert Release.load(path).guarantee == release.guarantee


@pytest.mark.parametrize("parts", PARTS)
def test_neither_files_nor_pickles_give_arrays_that_can_be_written_to(small, tmp_path, parts):
    release = DPSource(4.0, n_layers=1, parts=parts).fit(*small).release_
    release.save(tmp_path / "release")
    for copy in (release, Release.load(tmp_path / "release"), pickle.loads(pickle.dumps(release))):
        assert not copy.classes.flags.writeable
        for name in ("alignment", "moments", "subspace", "mixtures"):
            part = getattr(copy, name)
            arrays = [] if part is None else [a for a in vars(part).values() if a is not None]
            for array in arrays:
                assert not array.flags.writeable
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0


class Fixed(OptimalDPNoise):
    """Answers any data with the same noisy copy."""

    def fit_transform(self, X, y=None):
        super().fit(X)
        return np.random.RandomState(5).laplace(size=X.shape)


@pytest.mark.parametrize("parts", PARTS)
def test_nothing_but_the_noisy_copy_matters(rng, tmp_path, parts):
    # Two different data sets with the same noisy copy give the same release, bit by bit.
    y, columns = np.arange(60) % 3, list("abcd")
    pickles, contents = [], []
    for k in range(2):
        X = pd.DataFrame(rng.rand(60, 4) * (k + 1), columns=columns)
        source = DPSource(noise=Fixed(), n_layers=2, parts=parts, random_state=0).fit(X, y)
        pickles.append((pickle.dumps(source), pickle.dumps(source.release_)))
        source.release_.save(tmp_path / f"{k}")
        contents.append(load_arrays(tmp_path / f"{k}", "Release"))
    assert pickles[0] == pickles[1]
    (first_header, first), (second_header, second) = contents
    assert first_header == second_header
    assert set(first) == set(second)
    for name, array in first.items():
        assert_array_equal(array, second[name])


def test_damaged_and_foreign_files_are_refused(small, tmp_path):
    X, y = small
    path = tmp_path / "release"
    release = DPSource(4.0, n_layers=1, random_state=0).fit(X, y).release_
    release.save(path)
    blob = path.read_bytes()
    altered = bytearray(blob)
    # In an array: half way may be the date of a member, which nobody reads.
    altered[blob.index(release.moments.means.tobytes())] ^= 1
    np.savez(archive := io.BytesIO(), x=np.zeros(3))  # without a header
    foreign = (archive.getvalue(), pickle.dumps({"a": 1}), b"")
    for damaged in (blob[: len(blob) // 2], bytes(altered), *foreign):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="not an intact skdp file"):
            Release.load(path)
    DeepFuzzyClassifier(random_state=0).fit(X, y).save(path)
    with pytest.raises(ValueError, match="holds a DeepFuzzyClassifier, not a Release"):
        Release.load(path)
    with pytest.raises(FileNotFoundError):
        Release.load(tmp_path / "nowhere")


def head(**changes):
    return lambda header, arrays: header.update(changes)


def of_classifier(**changes):
    return lambda header, arrays: header["code_classifier"].update(changes)


def fitted_by(**changes):
    return lambda header, arrays: header["code_classifier"]["parameters"].update(changes)


def no(*names):
    return lambda header, arrays: [arrays.pop(name) for name in names]


def changed(name, change):
    return lambda header, arrays: arrays.update({name: change(arrays[name])})


# Of the arrays a few: test_validation.py has each check of a release.
DAMAGES = {
    "epsilon": lambda header, arrays: header["guarantee"]["mechanisms"][0].update(epsilon=-3.0),
    "no epsilon": lambda header, arrays: header["guarantee"]["mechanisms"][0].pop("epsilon"),
    "no mechanism": lambda header, arrays: header["guarantee"].update(mechanisms=[]),
    "no guarantee": lambda header, arrays: header.pop("guarantee"),
    "guarantee of nobody": head(guarantee=None),
    "label guarantee": head(label_guarantee={"epsilon": 1.0}),
    "autoencoders that are not there": of_classifier(n_parts=[2, 1, 1]),
    "no autoencoders": of_classifier(n_parts=[0, 0, 0]),
    "fewer classes of the classifier": of_classifier(classes=[0, 1]),
    "repeated classes of the classifier": of_classifier(classes=[1, 1, 1]),
    "other classes of the classifier": of_classifier(classes=[0, 1, 3]),
    "objects": of_classifier(dtype="O"),
    "unknown parameter": fitted_by(noise="optimal"),
    "impossible parameter": fitted_by(n_layers="x"),
    "no classes": lambda header, arrays: header.pop("classes"),
    "fewer classes": head(classes=[0, 1]),
    "one class": head(classes=[0]),
    "repeated classes": head(classes=[1, 1, 1]),
    "dtype": head(dtype="O"),
    "no dtype": head(dtype="nonsense"),
    "n_features": head(n_features=7),
    "n_features as text": head(n_features="6"),
    "feature names": head(feature_names=["a"]),
    "no classifier in the header": head(code_classifier=None, row_classifier={}),
    "no components": no("alignment/components"),
    "NaN": changed("alignment/class_medians", lambda a: a * np.nan),
    "coefficients": changed("code_classifier/0/0/coef0", lambda a: a[:, 1:]),
    "no weights": no("mixtures/weights"),
    "no moments": no(*(f"moments/{key}" for key in (
        "class_counts", "effective_sizes", "means", "covariances", "noise_variances"))),
    "no subspace": no("subspace/mean", "subspace/components", "subspace/variances"),
}  # fmt: skip


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "release"
    rng = np.random.RandomState(0)
    X, y = rng.rand(120, 6), np.arange(120) % 3
    DPSource(4.0, n_layers=1, random_state=0).fit(X, y).release_.save(path)
    return path


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_well_formed_file_that_is_no_release_is_refused(contents, tmp_path, damage):
    path = tmp_path / "release"
    header, arrays = load_arrays(contents, "Release")
    save_arrays(path, "Release", header, arrays)
    Release.load(path)
    damage(header, arrays)
    save_arrays(path, "Release", header, arrays)
    with pytest.raises(ValueError, match="no working Release"):
        Release.load(path)

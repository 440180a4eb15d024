import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from skdp import (
    DeepFuzzyClassifier,
    DPSource,
    DPTransferClassifier,
    OptimalDPNoise,
    PrivacyLeakWarning,
    RandomizedResponse,
    WideCDMMAClassifier,
)
from skdp.noise import perturb_training_rows
from skdp.utils._storage import load_arrays, save_arrays


def small(rng, n=120, p=6):
    return rng.rand(n, p), np.arange(n) % 3


def test_without_noise_it_is_the_plain_classifier(rng):
    X, y = small(rng)
    with pytest.warns(PrivacyLeakWarning, match="epsilon=inf"):
        source = DPSource(np.inf, random_state=0).fit(X, y)
    plain = WideCDMMAClassifier(random_state=0).fit(X, y)
    assert_array_equal(source.classifier_.decision_function(X), plain.decision_function(X))


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("p", [6, 7])
def test_everything_is_computed_from_the_noisy_copy(rng, p):
    X, y = small(rng, p=p)
    noise = OptimalDPNoise(5.0, random_state=3)
    noisy = clone(noise).fit_transform(X)
    source = DPSource(5.0, noise=noise, denoise=False, random_state=0).fit(X, y)
    model = WideCDMMAClassifier(random_state=0).fit(noisy, y)
    assert_array_equal(source.classifier_.decision_function(X), model.decision_function(X))
    values, vectors = np.linalg.eigh(np.cov(noisy.T))
    leading = vectors[:, np.argsort(-values)[: (p + 1) // 2]].T
    assert source.components_.shape == leading.shape
    assert_allclose(np.abs(source.components_ @ leading.T), np.eye(len(leading)), atol=1e-10)
    medians = [np.median([source.components_ @ row for row in noisy[y == c]], 0) for c in range(3)]
    assert_allclose(source.class_medians_, medians)


def test_a_seed_fixes_k_means_but_never_the_noise(rng):
    X, y = small(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        first, second = (DPSource(random_state=0).fit(X, y) for _ in range(2))
    assert not np.allclose(first.class_medians_, second.class_medians_)


def test_a_generator_gives_every_data_set_noise_of_its_own(rng):
    # A clone copies a generator with its state; equal noise on two data sets cancels.
    noise = OptimalDPNoise(1.0, random_state=np.random.RandomState(0))
    X = rng.rand(30, 4)
    first, second = (perturb_training_rows(noise, X)[0] - X for _ in range(2))
    assert not np.isclose(first, second).any()


@pytest.mark.parametrize("name", ["optimal", "gaussian"])
def test_guarantee_travels(rng, name):
    source = DPSource(0.5, 1e-6, 2.0, noise=name, random_state=0).fit(*small(rng))
    guarantee = source.guarantee_
    assert guarantee.mechanism.lower() == name
    assert (guarantee.epsilon, guarantee.delta, guarantee.sensitivity) == (0.5, 1e-6, 2.0)
    assert "queries" in guarantee.excludes
    assert "labels" in guarantee.excludes


def test_noise_and_source_must_not_contradict_each_other(rng):
    X, y = small(rng)
    source = DPSource(4.0, noise=OptimalDPNoise(4.0)).fit(X, y)
    assert source.guarantee_.epsilon == 4.0
    for epsilon in (1.0, 0.5):
        with pytest.raises(ValueError, match=r"'epsilon' parameter of DPSource is .* is 4.0"):
            DPSource(epsilon, noise=OptimalDPNoise(4.0)).fit(X, y)


class Silent(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class Lazy(OptimalDPNoise):
    def fit_transform(self, X, y=None):
        super().fit(X)
        return X


class Dropping(OptimalDPNoise):
    def fit_transform(self, X, y=None):
        return super().fit_transform(X)[:, 1:]


@pytest.mark.parametrize(
    ("noise", "problem"),
    [
        (Silent(), "states no guarantee_"),
        (make_pipeline(MinMaxScaler(), OptimalDPNoise()), "states no guarantee_"),
        (Dropping(), "changes the shape"),
        (Lazy(), "left most elements as they are"),
    ],
)
def test_what_is_no_noise_is_refused(rng, noise, problem):
    with pytest.raises(ValueError, match=problem):
        DPSource(noise=noise).fit(*small(rng))


def arrays_of(thing, seen=None):
    """Every array that can be reached from an object."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from arrays_of(value, seen)
    elif isinstance(thing, list | tuple):
        for value in thing:
            yield from arrays_of(value, seen)
    elif hasattr(thing, "__dict__"):
        yield from arrays_of(vars(thing), seen)


def secretive_data(rng):
    """211 rows: one is a constant, and every row of class 2 is another constant."""
    X, y = rng.rand(211, 8), np.arange(211) % 2
    X[17] = 0.7390851332151607
    X[100:140], y[100:140] = 0.5671432904097838, 2
    return X, y


def test_the_file_and_the_object_do_not_hold_a_planted_secret(rng, tmp_path, open_source):
    X, y = secretive_data(rng)
    secrets = np.array([X[17, 0], X[100, 0], X[y == 2].mean(), *X.mean(axis=0)])

    def holds_secrets(source):
        # By value: in any array, or as the known median of class 2.
        values = np.concatenate([a.ravel() for a in arrays_of(source) if a.dtype.kind == "f"])
        median = source.components_ @ X[100]
        by_value = np.isin(secrets, values).any()
        return by_value or np.abs(source.class_medians_[2] - median).max() < 1e-6

    def spelled_in(blob):
        spellings = [f(s).tobytes() for s in secrets for f in (np.float64, np.float32)]
        return any(spelling in blob for spelling in spellings)

    source = DPSource(8.0, random_state=0).fit(X, y)
    source.save(tmp_path / "release")
    assert not holds_secrets(source)
    assert not spelled_in((tmp_path / "release").read_bytes())
    assert not spelled_in(pickle.dumps(source))
    assert holds_secrets(open_source(X, y))  # the test would see one


class Fixed(OptimalDPNoise):
    """Answers any data with the same noisy copy."""

    def fit_transform(self, X, y=None):
        super().fit(X)
        return np.random.RandomState(5).laplace(size=X.shape)


def test_nothing_but_the_noisy_copy_matters(rng, tmp_path):
    # Two different data sets with the same noisy copy give the same release, bit by bit.
    y, columns = np.arange(60) % 3, list("abcd")
    pickles, contents = [], []
    for k in range(2):
        X = pd.DataFrame(rng.rand(60, 4) * (k + 1), columns=columns)
        source = DPSource(noise=Fixed(), n_layers=2, random_state=0).fit(X, y)
        pickles.append(pickle.dumps(source))
        source.save(tmp_path / f"{k}")
        contents.append(load_arrays(tmp_path / f"{k}", "DPSource"))
    assert pickles[0] == pickles[1]
    (first_header, first), (second_header, second) = contents
    assert first_header == second_header
    assert set(first) == set(second)
    for name, array in first.items():
        assert_array_equal(array, second[name])


def test_float32_that_drowns_the_noise_is_refused(rng):
    X, y = small(rng)
    with pytest.raises(ValueError, match="is the noise too small for it"):
        DPSource().fit((1e9 * X).astype(np.float32), y)


def test_what_made_the_noise_stays_with_the_owner(rng):
    noise = OptimalDPNoise(2.0, random_state=np.random.RandomState(0))
    source = DPSource(2.0, noise=noise).fit(*small(rng))
    assert source.noise is noise
    assert pickle.loads(pickle.dumps(source)).noise is None
    assert pickle.loads(pickle.dumps(DPSource(2.0, noise=noise))).noise is not None


def test_a_failed_fit_leaves_no_release(rng, tmp_path):
    X, y = small(rng)
    source = DPSource(2.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        source.fit(X[:, :4], np.zeros(len(y)))
    with pytest.raises(NotFittedError):
        source.save(tmp_path / "release")


def test_no_row_is_kept_clean_or_noisy(rng):
    X, y = secretive_data(rng)
    source = DPSource(8.0, random_state=0).fit(X, y)
    assert all(len(X) not in array.shape for array in arrays_of(source))


def test_clone_hands_on_a_release_and_copies_a_plan(rng):
    X, y = small(rng)
    plan = DPSource(2.0, noise=OptimalDPNoise(2.0))
    assert clone(plan).noise is not plan.noise
    release = plan.fit(X, y)
    copy = clone(DPTransferClassifier(release)).source
    assert copy.classifier_ is release.classifier_
    copy.set_params(epsilon=50.0, noise="optimal").fit(X, y)
    assert copy.guarantee_.epsilon == 50.0
    assert release.guarantee_.epsilon == 2.0  # a refit of the copy is not one of the release
    assert release.classifier_ is not copy.classifier_


def test_clones_share_a_generator_and_so_never_repeat_its_noise(rng):
    X, y = small(rng)
    plan = DPSource(noise=OptimalDPNoise(random_state=np.random.RandomState(0)), random_state=0)
    first, second = (clone(plan).fit(X, y).class_medians_ for _ in range(2))
    assert not np.isclose(first, second).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_save_and_load(rng, tmp_path, dtype):
    X, y = small(rng)
    X = pd.DataFrame(X.astype(dtype), columns=list("abcdef"))
    labels = np.array(["ant", "bee", "cow"], dtype=object)[y]
    source = DPSource(4.0, subset_size=15, inference="empirical", random_state=0).fit(X, labels)
    path = tmp_path / "release.whatever"
    source.save(path)
    loaded = DPSource.load(path)
    rows = X.to_numpy()
    for method in ("decision_function", "predict_proba", "predict"):
        expected = getattr(source.classifier_, method)(rows)
        assert_array_equal(getattr(loaded.classifier_, method)(rows), expected)
    assert_array_equal(loaded.components_, source.components_)
    assert_array_equal(loaded.class_medians_, source.class_medians_)
    assert loaded.components_.dtype == dtype
    assert_array_equal(loaded.feature_names_in_, source.feature_names_in_)
    assert loaded.guarantee_ == source.guarantee_
    assert loaded.get_params() == {**source.get_params(), "noise": None, "random_state": None}
    assert loaded.summary() == source.summary()
    loaded.save(path)
    assert DPSource.load(path).guarantee_ == source.guarantee_
    with pytest.raises(ValueError, match="'noise' parameter"):
        loaded.fit(X, labels)


def test_damaged_and_foreign_files_are_refused(rng, tmp_path):
    X, y = small(rng)
    path = tmp_path / "release"
    DPSource(4.0, n_layers=1, random_state=0).fit(X, y).save(path)
    blob = path.read_bytes()
    altered = bytearray(blob)
    altered[len(blob) // 2] ^= 1
    for damaged in (blob[: len(blob) // 2], bytes(altered), pickle.dumps({"a": 1}), b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="not an intact skdp file"):
            DPSource.load(path)
    DeepFuzzyClassifier(random_state=0).fit(X, y).save(path)
    with pytest.raises(ValueError, match="holds a DeepFuzzyClassifier, not a DPSource"):
        DPSource.load(path)
    with pytest.raises(NotFittedError):
        DPSource().save(path)


def scaled(name, factor):
    return lambda header, arrays: arrays.update({name: factor * arrays[name]})


@pytest.mark.parametrize(
    "damage",
    [
        lambda header, arrays: header["guarantee"].update(epsilon=-3.0),
        lambda header, arrays: header["guarantee"].pop("delta"),
        lambda header, arrays: header.pop("guarantee"),
        lambda header, arrays: header["classifier"].update(n_parts=[2, 1, 1]),
        lambda header, arrays: header["classifier"].update(n_parts=[0, 0, 0]),
        lambda header, arrays: header["classifier"].update(classes=[0, 1]),
        lambda header, arrays: header["classifier"].update(classes=[1, 1, 1]),
        lambda header, arrays: header["classifier"].update(dtype="O"),
        lambda header, arrays: header["classifier"]["parameters"].update(noise="optimal"),
        lambda header, arrays: header["classifier"]["parameters"].update(n_layers="x"),
        lambda header, arrays: header.update(feature_names=["a"]),
        lambda header, arrays: arrays.pop("components"),
        lambda header, arrays: arrays.update(components=arrays["components"][:, 1:]),
        lambda header, arrays: arrays.update(class_medians=arrays["class_medians"] * np.nan),
        lambda header, arrays: arrays.update({"0/0/coef0": arrays["0/0/coef0"][:, 1:]}),
        lambda header, arrays: arrays.pop("mixtures/weights"),
        scaled("mixtures/weights", -1),
        scaled("mixtures/weights", 0.5),
        lambda header, arrays: arrays.update(
            {"mixtures/classes": arrays["mixtures/classes"].astype(float)}
        ),
        lambda header, arrays: arrays.update(
            {"mixtures/classes": arrays["mixtures/classes"][:, np.newaxis]}
        ),
        lambda header, arrays: arrays.update(
            {"mixtures/covariances": arrays["mixtures/covariances"] + np.tri(6)}
        ),
        scaled("mixtures/covariances", 1e-60),
        lambda header, arrays: arrays.update({"mixtures/classes": arrays["mixtures/classes"] + 1}),
        lambda header, arrays: arrays.update({"mixtures/means": arrays["mixtures/means"][:, 1:]}),
        scaled("mixtures/covariances", -1),
        lambda header, arrays: arrays.update({"mixtures/means": arrays["mixtures/means"] + 1e10}),
        scaled("subspace/components", 1e60),
        lambda header, arrays: [arrays.pop(k) for k in list(arrays) if "mixtures" in k],
    ],
)
def test_a_well_formed_file_that_is_no_release_is_refused(rng, tmp_path, damage):
    path = tmp_path / "release"
    DPSource(4.0, n_layers=1, random_state=0).fit(*small(rng)).save(path)
    header, arrays = load_arrays(path, "DPSource")
    damage(header, arrays)
    save_arrays(path, "DPSource", header, arrays)
    with pytest.raises(ValueError, match="no working DPSource"):
        DPSource.load(path)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_randomised_labels_do_not_make_mixtures_of_other_classes(rng, epsilon):
    centres = 0.5 + 0.12 * rng.randn(5, 10)
    y, y_test = rng.randint(0, 5, 6000), rng.randint(0, 5, 1000)
    X, X_test = (centres[labels] + 0.1 * rng.randn(len(labels), 10) for labels in (y, y_test))
    noise = OptimalDPNoise(20.0, random_state=1)
    settings = {"n_layers": 1, "n_inducing": 20, "n_components": 4, "random_state": 0}
    response = RandomizedResponse(epsilon, random_state=1)
    source = DPSource(20.0, noise=noise, label_noise=response, **settings).fit(X, y)
    assert len(source._mixtures.classes) == 5
    guesses = source._mixtures.log_likelihood(source._subspace.encode(X_test), np.zeros(10))
    assert np.mean(guesses.argmax(axis=1) == y_test) > 0.7
    assert len(DPSource(20.0, noise=noise, **settings).fit(X, y)._mixtures.classes) >= 5


def test_numpy_numbers_can_be_saved(rng, tmp_path):
    source = DPSource(4.0, n_components=np.int64(3), n_inducing=np.float64(0.5), random_state=0)
    source.fit(*small(rng)).save(tmp_path / "release")
    assert DPSource.load(tmp_path / "release").n_components == 3


def test_summary_says_what_is_guaranteed(noisy_release):
    text = noisy_release.summary()
    assert "10 classes (0, 1, 2, 3, 4, 5, 6, 7, 8, 9), 64 features" in text
    assert "(8, 1e-05)-differential privacy per element" in text
    assert "labels" in text


_TARGET_SIDE = """
import sys
import numpy as np
import sklearn.datasets

def gone(*args, **kwargs):
    raise RuntimeError("the source data does not exist here")

sklearn.datasets.load_digits = gone
from skdp import DPSource, DPTransferClassifier

folder = sys.argv[1]
with np.load(f"{folder}/target.npz") as arrays:
    X, y, X_test = arrays["X"], arrays["y"], arrays["X_test"]
model = DPTransferClassifier(DPSource.load(f"{folder}/release"), random_state=0).fit(X, y)
np.save(f"{folder}/predictions.npy", model.predict(X_test))
"""


def test_target_side_runs_in_a_process_without_source_data(tmp_path, noisy_release, other):
    X, _, marked, X_test, _ = other
    noisy_release.save(tmp_path / "release")
    np.savez(tmp_path / "target.npz", X=X, y=marked, X_test=X_test)
    subprocess.run([sys.executable, "-c", _TARGET_SIDE, tmp_path], check=True, cwd=tmp_path)
    here = DPTransferClassifier(noisy_release, random_state=0).fit(X, marked)
    assert_array_equal(np.load(tmp_path / "predictions.npy"), here.predict(X_test))

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skdp import (
    DPSource,
    DPTransferClassifier,
    OptimalDPNoise,
    RandomizedResponse,
    WideCDMMAClassifier,
)
from skdp.privacy import PrivacyLedger
from skdp.release import Moments


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("parts", ["papers", "all"])
@pytest.mark.parametrize("p", [6, 7])
def test_everything_is_computed_from_the_noisy_copy(rng, p, parts):
    X, y = rng.rand(120, p), np.arange(120) % 3
    noise = OptimalDPNoise(5.0, random_state=3)
    noisy = clone(noise).fit_transform(X)
    release = DPSource(noise=noise, parts=parts, random_state=0).fit(X, y).release_
    model = WideCDMMAClassifier(20, error_scale="shared", random_state=0).fit(noisy, y)
    assert_array_equal(release.row_classifier.decision_function(X), model.decision_function(X))
    components, medians = release.alignment.components, release.alignment.class_medians
    values, vectors = np.linalg.eigh(np.cov(noisy.T))
    leading = vectors[:, np.argsort(-values)[: (p + 1) // 2]].T
    assert components.shape == leading.shape
    assert_allclose(np.abs(components @ leading.T), np.eye(len(leading)), atol=1e-10)
    expected = [np.median([components @ row for row in noisy[y == c]], 0) for c in range(3)]
    assert_allclose(medians, expected)
    assert_allclose(release.alignment.mean, noisy.mean(axis=0))


def test_nothing_reads_clean_rows(rng, monkeypatch):
    rows, labels = rng.randn(400, 5), rng.randint(0, 3, 400)
    seen = []
    measure = Moments.measure.__func__
    monkeypatch.setattr(
        Moments,
        "measure",
        classmethod(lambda cls, noisy, *rest: seen.append(noisy) or measure(cls, noisy, *rest)),
    )
    source = DPSource(1.0, n_components=1, n_layers=1, random_state=0).fit(rows, labels)
    # Others hold projections of its rows, or public ones.
    noisy = next(each for each in seen if each.shape == rows.shape)
    assert not np.any(noisy == rows)
    assert np.std(noisy - rows) > 1
    assert_allclose(source.release_.moments.means[0], noisy[labels == 0].mean(axis=0))


@pytest.mark.parametrize("name", ["optimal", "gaussian"])
def test_guarantee_travels(small, name):
    source = DPSource(0.5, 1e-6, 2.0, noise=name, random_state=0).fit(*small)
    guarantee = source.guarantee_
    assert guarantee.mechanism.lower() == name
    assert (guarantee.epsilon, guarantee.delta, guarantee.sensitivity) == (0.5, 1e-6, 2.0)
    assert "queries" in guarantee.excludes
    assert "labels" in guarantee.excludes
    assert source.release_.guarantee is guarantee
    assert source.label_guarantee_ is source.release_.label_guarantee is None
    assert_array_equal(source.classes_, source.release_.classes)


@pytest.mark.parametrize("parts", ["noise_aware", "papers", "all"])
def test_parts_are_what_was_asked_for(small, parts):
    release = DPSource(8.0, n_layers=1, parts=parts, random_state=0).fit(*small).release_
    denoised, whole = parts != "papers", parts != "noise_aware"
    for name in ("moments", "subspace", "mixtures"):
        assert (getattr(release, name) is not None) == denoised
    assert (release.row_classifier is not None) == whole
    assert (release.row_classifier is release.classifier) == (not denoised)
    assert release.classifier.n_features_in_ == 6
    assert release.alignment is not None


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


@pytest.mark.parametrize("parts", ["noise_aware", "all"])
def test_neither_file_nor_object_holds_a_planted_secret(rng, tmp_path, open_source, parts):
    X, y = secretive_data(rng)
    secrets = np.array([X[17, 0], X[100, 0], X[y == 2].mean(), *X.mean(axis=0)])

    def holds_secrets(source):
        # By value: in any array, or as the known median of class 2.
        values = np.concatenate([a.ravel() for a in arrays_of(source) if a.dtype.kind == "f"])
        alignment = source.release_.alignment
        median = alignment.components @ X[100]
        by_value = np.isin(secrets, values).any()
        return by_value or np.abs(alignment.class_medians[2] - median).max() < 1e-6

    def spelled_in(blob):
        spellings = [f(s).tobytes() for s in secrets for f in (np.float64, np.float32)]
        return any(spelling in blob for spelling in spellings)

    source = DPSource(8.0, parts=parts, random_state=0).fit(X, y)
    source.release_.save(tmp_path / "release")
    assert not holds_secrets(source)
    assert not spelled_in((tmp_path / "release").read_bytes())
    assert not spelled_in(pickle.dumps(source))
    assert not spelled_in(pickle.dumps(source.release_))
    assert holds_secrets(open_source(X, y))  # the test would see one


@pytest.mark.parametrize("parts", ["noise_aware", "papers", "all"])
def test_no_row_is_kept_clean_or_noisy(rng, parts):
    X, y = secretive_data(rng)
    source = DPSource(8.0, parts=parts, random_state=0).fit(X, y)
    assert all(len(X) not in array.shape for array in arrays_of(source))


def test_what_made_the_noise_stays_with_the_owner(small):
    noise = OptimalDPNoise(2.0, random_state=np.random.RandomState(0))
    response = RandomizedResponse(9.0, random_state=np.random.RandomState(0))
    source = DPSource(noise=noise, label_noise=response).fit(*small)
    assert source.noise is noise
    copy = pickle.loads(pickle.dumps(source))
    assert copy.noise is None
    assert copy.label_noise.epsilon == 9.0
    assert copy.label_noise.random_state is None
    assert copy.release_.guarantee == source.guarantee_
    plan = pickle.loads(pickle.dumps(DPSource(noise=noise, label_noise=response)))
    assert plan.noise is not None
    assert plan.label_noise is not None
    with pytest.raises(ValueError, match="'noise' parameter"):
        copy.fit(*small)


def test_a_pickle_that_is_fitted_again_protects_labels_too(small):
    source = DPSource(2.0, bounds=(0, 1), label_noise=RandomizedResponse(3.0)).fit(*small)
    again = pickle.loads(pickle.dumps(source)).fit(*small)
    assert again.label_guarantee_ == source.label_guarantee_


def test_a_failed_fit_leaves_no_release(small):
    X, y = small
    source = DPSource(2.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        source.fit(X[:, :4], np.zeros(len(y)))
    with pytest.raises(NotFittedError):
        check_is_fitted(source)
    assert not hasattr(source, "release_")
    assert not hasattr(source, "guarantee_")
    with pytest.raises(NotFittedError, match="pass its release_"):
        DPTransferClassifier(source).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("parts", ["noise_aware", "papers"])
@pytest.mark.parametrize("n", [2, 4])
def test_randomized_labels_of_few_rows_always_give_a_release(rng, parts, n):
    # Half of the time or one time in eight, all get one label.
    X, y, ledger = rng.rand(n, 2), np.arange(n) % 2, PrivacyLedger()
    noise = RandomizedResponse(0.01, classes=[0, 1])
    settings = {"label_noise": noise, "parts": parts, "n_layers": 1, "ledger": ledger}
    for _ in range(10):
        release = DPSource(2.0, bounds=(0, 1), **settings).fit(X, y).release_
        assert release.predict(X).shape == (n,)
    assert len(ledger.entries) == 10
    with pytest.raises(ValueError, match="two rows or more"):
        DPSource(2.0, bounds=(0, 1), **settings).fit(X[:1], y[:1])
    assert len(ledger.entries) == 10

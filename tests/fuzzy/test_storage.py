import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DeepFuzzyClassifier, OptimalDPNoise, PrivacyLeakWarning
from skdp.privacy import pack_guarantee
from skdp.utils._storage import load_arrays, save_arrays


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_save_and_load(split, tmp_path, dtype):
    X, X_test, y, _, groups = split
    frame = pd.DataFrame(X.astype(dtype), columns=[f"pixel {i}" for i in range(64)])
    model = DeepFuzzyClassifier(noise=OptimalDPNoise(4.0), n_components=8, random_state=0)
    model.fit(frame, y.astype(str), groups=groups)
    model.save(tmp_path / "model.skdp")
    loaded = DeepFuzzyClassifier.load(tmp_path / "model.skdp")
    test = pd.DataFrame(X_test.astype(dtype), columns=frame.columns)
    assert_array_equal(loaded.decision_function(test), model.decision_function(test))
    assert_array_equal(loaded.predict_proba(test), model.predict_proba(test))
    assert loaded.rules_ == model.rules_
    assert loaded.guarantees_ == model.guarantees_
    assert loaded.get_params()["n_components"] == 8
    assert_array_equal(loaded.classes_, model.classes_)
    assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    merged = DeepFuzzyClassifier.merge([loaded])
    assert_array_equal(merged.predict(test), model.predict(test))


def test_a_saved_private_model_does_not_hold_a_planted_secret(split, tmp_path):
    # A row of a distinctive constant: no array of the file holds the value, nor its mean.
    X, _, y, _, _ = split
    X = X.copy()
    secret = 0.7306195428173409
    X[0] = secret
    y = np.where(np.arange(len(y)) == 0, 11, y)  # a class of its own: its mean is the secret
    model = DeepFuzzyClassifier(noise=OptimalDPNoise(1.0), max_layers=1).fit(X, y)
    model.save(tmp_path / "model.skdp")
    with np.load(tmp_path / "model.skdp", allow_pickle=False) as arrays:
        for name in arrays.files:
            values = np.asarray(arrays[name], dtype=float)
            assert not np.isclose(values, secret, rtol=1e-9).any(), name
    [exact] = DeepFuzzyClassifier(max_layers=1).fit(X, y).autoencoders_[-1]
    assert_allclose(exact.reconstruct(X[:1]), secret, rtol=1e-4)  # without noise it would


@pytest.mark.parametrize(
    "damage",
    [
        lambda header, arrays: header.pop("rules"),
        lambda header, arrays: header["rules"].pop(),
        lambda header, arrays: header["n_parts"].pop(),
        lambda header, arrays: header.update(n_parts=[], rules=[]),
        lambda header, arrays: header["parameters"].update(noise="optimal", color="red"),
        lambda header, arrays: header.update(dtype="no such type"),
        lambda header, arrays: header.update(dtype=None),
        lambda header, arrays: header.update(dtype="<f4"),
        lambda header, arrays: header["parameters"].pop("n_voters"),
        lambda header, arrays: header["parameters"].update(n_voters=0),
        lambda header, arrays: header["n_parts"].__setitem__(0, 0),
        lambda header, arrays: header["rules"].__setitem__(0, header["rules"][1]),
        lambda header, arrays: header["rules"].__setitem__(0, [None, "zero"]),
        lambda header, arrays: header["rules"].__setitem__(0, ["nobody", 0]),
        lambda header, arrays: header.update(guarantees=[]),
        lambda header, arrays: header.update(feature_names=["one"]),
        lambda header, arrays: arrays.update({"0/0/weights": -arrays["0/0/weights"]}),
        lambda header, arrays: arrays.update({"0/0/weights": arrays["0/0/weights"][:-1]}),
        lambda header, arrays: arrays.update({"0/0/centers": arrays["0/0/centers"][:-1]}),
        lambda header, arrays: arrays.update({"0/0/centers": arrays["0/0/centers"][:, :-1]}),
        lambda header, arrays: arrays.update({"0/0/precisions": np.zeros(1)}),
        lambda header, arrays: arrays.update({"0/0/precisions": np.zeros(0)}),
        lambda header, arrays: arrays.update({"0/0/error_sums": np.array([3.0, -1.0, 1.0])}),
        lambda header, arrays: arrays.update({"0/0/error_sums": np.zeros(2)}),
        lambda header, arrays: arrays.update({"0/0/coef0": arrays["0/0/coef0"].astype(complex)}),
        lambda header, arrays: arrays.pop("0/0/centers"),
        lambda header, arrays: arrays.update({"0/0/components": np.eye(3)}),
        lambda header, arrays: arrays.update({"0/0/coef0": arrays["0/0/coef0"] * np.nan}),
    ],
)
def test_a_well_formed_file_that_is_no_model_is_refused(split, tmp_path, damage):
    X, _, y, *_ = split
    path = tmp_path / "model"
    DeepFuzzyClassifier(random_state=0).fit(X[:200], y[:200]).save(path)
    header, arrays = load_arrays(path, "DeepFuzzyClassifier")
    damage(header, arrays)
    save_arrays(path, "DeepFuzzyClassifier", header, arrays)
    with pytest.raises(ValueError, match="no working DeepFuzzyClassifier"):
        DeepFuzzyClassifier.load(path)


def test_a_callable_is_not_saved(split, tmp_path):
    X, _, y, _, _ = split
    model = DeepFuzzyClassifier(membership_function=np.negative, max_layers=1).fit(X, y)
    with pytest.raises(ValueError, match=r"'membership_function'.*no code"):
        model.save(tmp_path / "model.skdp")


def test_a_pickle_of_a_fitted_model_does_not_hold_its_noise(split):
    X, _, y, *_ = split
    noise = OptimalDPNoise(random_state=98765)
    with pytest.warns(PrivacyLeakWarning):
        model = DeepFuzzyClassifier(noise=noise, random_state=0).fit(X[:200], y[:200])
    again = pickle.loads(pickle.dumps(model))
    assert again.noise is None
    assert model.noise is noise
    assert again.guarantee_ == model.guarantee_
    assert pickle.loads(pickle.dumps(DeepFuzzyClassifier(noise=noise))).noise is not None


NO_NOISE = {"mechanisms": pack_guarantee(OptimalDPNoise().fit([[0.0]]).guarantee_)["mechanisms"]}
NO_NOISE["mechanisms"][0]["epsilon"] = 0.0
LABELS = {"unit": "label"}


@pytest.mark.parametrize("changes", [NO_NOISE, {"n_features": 7}, LABELS])
def test_guarantees_of_something_else_are_refused(split, tmp_path, changes):
    X, _, y, *_ = split
    path = tmp_path / "model"
    DeepFuzzyClassifier(noise=OptimalDPNoise(), random_state=0).fit(X[:200], y[:200]).save(path)
    header, arrays = load_arrays(path, "DeepFuzzyClassifier")
    header["guarantees"][0][1].update(changes)
    save_arrays(path, "DeepFuzzyClassifier", header, arrays)
    with pytest.raises(ValueError, match="no working DeepFuzzyClassifier"):
        DeepFuzzyClassifier.load(path)

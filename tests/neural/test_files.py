"""Networks as files of joblib: all of a fit comes back, and nothing of single rows is in them."""

import pickle

import joblib
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")


from skdp.neural import AdaptiveLaplaceClassifier

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


def stored(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mechanism": "identical", "noise_per": "batch", "normalization": "batch"},
        {"mechanism": "dpsgd"},
        {"image_shape": (8, 8), "hidden_layer_sizes": (2, 3, 4), "kernel_size": (3, 4)},
        {"image_shape": (8, 8), "hidden_layer_sizes": (2, 4), "normalization": "batch"},
        {"hidden_layer_sizes": (4,), "epsilon": np.inf},
    ],
    ids=str,
)
def test_round_trip(settings, some_digits, small, tmp_path):
    X, y = some_digits
    labels = np.array(list("abcdefghij"))[y]
    model = AdaptiveLaplaceClassifier(**{**small, **settings}).fit(X, labels)
    copy = stored(model, tmp_path / "network.joblib")
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert copy.guarantee_ == model.guarantee_
    assert copy.accounts().equals(model.accounts())
    assert copy.get_params() == model.get_params()
    # Nothing that was computed of single rows: Opacus leaves their gradients on parameters.
    for parameter in model.network_.parameters():
        assert not vars(parameter)
        assert parameter.grad is None
    assert len(pickle.dumps(model)) < 20_000


def test_a_loaded_network_goes_on(fitted, some_digits, tmp_path):
    copy, other = (stored(fitted, tmp_path / "network.joblib") for _ in range(2))
    copy.set_params(warm_start=True, hidden_layer_sizes=(6, 4), n_epochs=1).fit(*some_digits)
    assert copy.guarantee_.epsilon > fitted.guarantee_.epsilon
    with pytest.raises(ValueError, match="continues a network with"):
        other.set_params(warm_start=True, normalization="batch").fit(*some_digits)

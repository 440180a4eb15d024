"""Networks as files: what comes back, and what is refused."""

import pickle
import resource
from dataclasses import replace

import joblib
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from skdp import DeepFuzzyClassifier
from skdp.neural import AdaptiveLaplaceClassifier, PrivateCDBNClassifier
from skdp.privacy import Mechanism, pack_guarantee
from skdp.utils._storage import load_arrays, save_arrays

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")

KIND = "AdaptiveLaplaceClassifier"
MIB = 2**20


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
    model.save(tmp_path / "network")
    copy = AdaptiveLaplaceClassifier.load(tmp_path / "network")
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert copy.guarantee_ == model.guarantee_
    assert copy.accounts_ == model.accounts_
    assert copy.accounts().equals(model.accounts())
    for name in AdaptiveLaplaceClassifier._saved:
        found, saved = getattr(copy, name), getattr(model, name)
        assert found == (list(saved) if isinstance(saved, tuple) else saved)
    copy.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "network").read_bytes()


def test_names_of_columns_come_back(small, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = AdaptiveLaplaceClassifier(bounds=(0, 8), **small).fit(X, y)
    model.save(tmp_path / "network")
    copy = AdaptiveLaplaceClassifier.load(tmp_path / "network")
    assert copy.feature_names_in_.tolist() == list(X.columns)
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_a_loaded_network_goes_on(fitted, some_digits, tmp_path):
    fitted.save(tmp_path / "network")
    copy = AdaptiveLaplaceClassifier.load(tmp_path / "network")
    copy.set_params(warm_start=True, hidden_layer_sizes=(6, 4), n_epochs=1).fit(*some_digits)
    assert copy.guarantee_.epsilon > fitted.guarantee_.epsilon
    other = AdaptiveLaplaceClassifier.load(tmp_path / "network")
    with pytest.raises(ValueError, match="continues with a network of"):
        other.set_params(warm_start=True, normalization="batch").fit(*some_digits)


def test_an_unfitted_network_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        AdaptiveLaplaceClassifier().save(tmp_path / "network")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part", [0.2, 0.5, 0.99])
def test_truncated_and_altered_files_are_refused(part, fitted, tmp_path):
    path = tmp_path / "network"
    fitted.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    with pytest.raises(ValueError, match="not an intact skdp file"):
        AdaptiveLaplaceClassifier.load(path)
    at = content.index(b"network/below") + 400  # among the weights
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(ValueError, match="not an intact skdp file"):
        AdaptiveLaplaceClassifier.load(path)


def test_files_of_other_models_are_refused(tmp_path, rng):
    DeepFuzzyClassifier(random_state=0).fit(rng.rand(60, 3), np.arange(60) % 2).save(
        tmp_path / "rules"
    )
    with pytest.raises(ValueError, match=f"holds a DeepFuzzyClassifier, not a {KIND}"):
        AdaptiveLaplaceClassifier.load(tmp_path / "rules")


def rewritten(fitted, path, edit):
    """Save a network whose header and arrays were changed by somebody who knows the format."""
    fitted.save(path)
    header, arrays = load_arrays(path, KIND)
    edit(header, arrays)
    save_arrays(path, KIND, header, arrays)
    return path


EDITS = {
    "another layer": lambda h, a: h["parameters"].update(hidden_layer_sizes=[6, 6, 4]),
    "no layer": lambda h, a: h["parameters"].update(hidden_layer_sizes=[]),
    "an unknown parameter": lambda h, a: h["parameters"].update(more=1),
    "a missing parameter": lambda h, a: h["parameters"].pop("epsilon"),
    "a negative epsilon": lambda h, a: h["parameters"].update(epsilon=-1.0),
    "an unknown mechanism": lambda h, a: h["parameters"].update(mechanism="none"),
    "other columns": lambda h, a: h.update(n_features=63),
    "no columns": lambda h, a: h.update(n_features=0),
    "one class": lambda h, a: h.update(classes=[1]),
    "the same class twice": lambda h, a: h.update(classes=[0, 0, *range(2, 10)]),
    "a name too few": lambda h, a: h.update(feature_names=["a"] * 63),
    "a name that is no text": lambda h, a: h.update(feature_names=[*"abc", 4] * 16),
    "a negative guarantee": lambda h, a: h["guarantee"]["mechanisms"][0].update(epsilon=-1.0),
    "no guarantee": lambda h, a: h.pop("guarantee"),
    "bounds reversed": lambda h, a: a.update(bounds=a["bounds"][::-1].copy()),
    "infinite weights": lambda h, a: a.update({"network/scores.bias": np.full(10, np.inf)}),
    "no weights": lambda h, a: a.pop("network/scores.bias"),
}


@pytest.mark.parametrize("name", EDITS)
def test_files_that_hold_no_network_are_refused(name, fitted, tmp_path):
    with pytest.raises(ValueError, match="no working AdaptiveLaplaceClassifier"):
        AdaptiveLaplaceClassifier.load(rewritten(fitted, tmp_path / "network", EDITS[name]))


def forged(field, value):
    return lambda h: h["guarantee"].update({field: value})


def stated_in(header):
    [mechanism] = header["guarantee"]["mechanisms"]
    return mechanism


def multiplied(factor):
    return lambda h: stated_in(h).update(epsilon=stated_in(h)["epsilon"] * factor)


def shrink(header):
    """Halve the guarantee and the account behind it, of the paper too."""
    for stated in (stated_in(header), *header["accounts"]):
        stated["epsilon"] /= 2


CONTRADICTIONS = {
    "half the epsilon": multiplied(1 / 2),
    "twice the epsilon": multiplied(2),
    "another delta": lambda h: stated_in(h).update(delta=1e-3),
    "another kind": lambda h: stated_in(h).update(kind="laplace"),
    "more than one mechanism": lambda h: h["guarantee"]["mechanisms"].append(stated_in(h)),
    "another unit": forged("unit", "record"),
    "other neighbors": forged("relation", "add/remove"),
    "a step": forged("sensitivity", 1.0),
    "other columns": forged("n_features", 32),
    "other coverage": forged("covers", "the trained network, its rows and labels"),
    "nothing excluded": forged("excludes", "nothing"),
    "another mechanism": forged("mechanism", "the identical Laplace mechanism per row"),
    "half the accounts' epsilon too": shrink,
    "no accounts": lambda h: h["accounts"].clear(),
    "an account too few": lambda h: h["accounts"].pop(0),
    "an account that does not hold": lambda h: h["accounts"][-1].update(holds=False),
    "an account of no kind": lambda h: h["accounts"][-1].update(holds="yes"),
    "noise per batch": lambda h: (
        h["parameters"].update(noise_per="batch"),
        h["guarantee"].update(mechanism=h["guarantee"]["mechanism"].replace("row", "batch")),
    ),
    "another epsilon": lambda h: h["parameters"].update(epsilon=0.5),
    "no noise": lambda h: (h["parameters"].update(epsilon=np.inf), paper_of(h, np.inf)),
    "another fit": lambda h: h["accounts"].extend(h["accounts"]),
}


def paper_of(header, epsilon):
    header["accounts"][0].update(epsilon=epsilon)


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_guarantees_that_contradict_accounts_or_parameters_are_refused(name, fitted, tmp_path):
    path = rewritten(fitted, tmp_path / "network", lambda h, a: CONTRADICTIONS[name](h))
    with pytest.raises(ValueError, match=r"accounts|A PrivacyAccount|positional"):
        AdaptiveLaplaceClassifier.load(path)


@pytest.mark.parametrize(
    "settings", [{"noise_per": "batch"}, {"epsilon": np.inf}, {"pretrained": "private"}], ids=str
)
def test_a_file_cannot_turn_no_guarantee_into_one(settings, some_digits, small, tmp_path):
    network = AdaptiveLaplaceClassifier(**{**small, **settings}).fit(*some_digits)

    def claim(header, arrays):
        stated = replace(network.guarantee_, mechanisms=[Mechanism("any", 1.0)])
        header["guarantee"] = pack_guarantee(stated)
        header["accounts"][-1].update(epsilon=1.0)

    path = rewritten(network, tmp_path / "network", claim)
    with pytest.raises(ValueError, match="accounts and mechanisms of the guarantee do not fit"):
        AdaptiveLaplaceClassifier.load(path)


def test_a_belief_network_s_guarantee_is_checked_too(some_digits, small, tmp_path):
    network = PrivateCDBNClassifier(noise_per="batch", **small).fit(*some_digits)
    network.save(tmp_path / "network")
    header, arrays = load_arrays(tmp_path / "network", "PrivateCDBNClassifier")
    stated_in(header).update(epsilon=0.5)
    save_arrays(tmp_path / "network", "PrivateCDBNClassifier", header, arrays)
    with pytest.raises(ValueError, match="accounts and mechanisms of the guarantee do not fit"):
        PrivateCDBNClassifier.load(tmp_path / "network")
    header["accounts"][-1].update(epsilon=0.5, holds=True)
    save_arrays(tmp_path / "network", "PrivateCDBNClassifier", header, arrays)
    with pytest.raises(ValueError, match="accounts and parameters do not fit"):
        PrivateCDBNClassifier.load(tmp_path / "network")


@pytest.mark.parametrize(
    ("stated", "what"),
    [({"epsilon": 9.0}, "accounts and parameters"), ({"delta": 1e-9}, "accounts and parameters"),
     ({"relation": "replace-one"}, "accounts and relation of the guarantee")],
    ids=str,
)  # fmt: skip
def test_the_guarantee_of_dpsgd_is_that_of_its_account(stated, what, some_digits, small, tmp_path):
    network = AdaptiveLaplaceClassifier(mechanism="dpsgd", **small).fit(*some_digits)

    def forge(header, arrays):
        numbers = {name: value for name, value in stated.items() if name != "relation"}
        header["guarantee"].update({k: v for k, v in stated.items() if k not in numbers})
        stated_in(header).update(numbers)
        header["accounts"][-1].update(numbers)

    path = rewritten(network, tmp_path / "network", forge)
    with pytest.raises(ValueError, match=f"{what} do not fit"):
        AdaptiveLaplaceClassifier.load(path)


@pytest.mark.parametrize(
    "second", [{"epsilon": 2.0}, {"noise_per": "batch"}, {"mechanism": "dpsgd"}], ids=str
)
def test_several_fits_come_back_with_what_all_of_them_spent(second, some_digits, small, tmp_path):
    first = {"mechanism": second.get("mechanism", "adaptive")}
    network = AdaptiveLaplaceClassifier(warm_start=True, **first, **small).fit(*some_digits)
    network.set_params(**second).fit(*some_digits)
    network.save(tmp_path / "network")
    copy = AdaptiveLaplaceClassifier.load(tmp_path / "network")
    assert copy.guarantee_ == network.guarantee_
    assert copy.accounts_ == network.accounts_


@pytest.mark.parametrize(
    ("sizes", "settings"),
    [((12_000, 12_000, 4), {}), ((12_000, 4), {"image_shape": [8, 8], "kernel_size": 101})],
)
def test_a_claim_of_a_huge_network_takes_no_memory(sizes, settings, fitted, tmp_path):
    def edit(header, arrays):
        header["parameters"].update(hidden_layer_sizes=list(sizes), **settings)
        arrays["padding"] = np.zeros(12_000)

    path = rewritten(fitted, tmp_path / "network", edit)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="no working AdaptiveLaplaceClassifier"):
        AdaptiveLaplaceClassifier.load(path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert peak * 1024 < 100 * MIB  # 550 or 470 MiB as weights


@pytest.mark.parametrize("mechanism", ["adaptive", "dpsgd"])
def test_pickles(mechanism, some_digits, small, tmp_path):
    X, y = some_digits
    model = AdaptiveLaplaceClassifier(mechanism=mechanism, **small).fit(X, y)
    joblib.dump(model, tmp_path / "pickle")
    copy = joblib.load(tmp_path / "pickle")
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert copy.guarantee_ == model.guarantee_
    # Nothing that was computed of single rows: Opacus leaves their gradients on parameters.
    for parameter in model.network_.parameters():
        assert not vars(parameter)
        assert parameter.grad is None
    assert len(pickle.dumps(model)) < 20_000

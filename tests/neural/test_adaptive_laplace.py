"""The classifier: long training, seeds, errors, what it learns, and what it spends."""

import re
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from sklearn.base import clone
from sklearn.utils import check_random_state

from skdp import PrivacyLeakWarning
from skdp.neural import AdaptiveLaplaceClassifier, PrivateCDBNClassifier, _adaptive_laplace
from skdp.neural._training import Perturbation

quiet = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
PAPER, COMPOSED, ROW = "as the paper counts", "composed over epochs", "one row"


def counted(model):
    return model.accounts().set_index("counting")


def row_epsilon_by_hand(epsilon, shares, n_rows, n_classes=10, first=6, last=4):
    """ε of ε₂ and ε₃ for one labeled record, dense layers of 64 columns, from the paper's Δ."""
    input_scales = 2 * 64 * first / (n_rows * shares * epsilon[0])
    label_scale = n_classes * (last + last**2 / 4) / (n_rows * epsilon[1])
    rounding = (64 + 2) * 2.0**-24  # to the grid of the noise
    return (1 / input_scales).sum() + 2 / label_scale + rounding


@quiet
def test_warm_start_goes_on_and_adds_guarantees(some_digits, small):
    X, y = some_digits
    model = AdaptiveLaplaceClassifier(warm_start=True, **small).fit(X, y)
    first, shares, scores = model.guarantee_, model.budget_shares_, model.predict_proba(X)
    weights = next(model.network_.parameters()).detach().clone()
    model.set_params(epsilon=2.0, n_epochs=1, learning_rate=1e-6).fit(X, y)
    # One epoch of tiny steps: a network that goes on, not a new one.
    moved = (next(model.network_.parameters()) - weights).abs().max()
    assert 0 < moved < 1e-4
    assert np.abs(model.predict_proba(X) - scores).max() > 0
    assert model.budget_shares_ is shares
    [*_, second] = model.accounts_
    assert len(model.accounts()) == 6
    assert model.guarantee_.epsilon == pytest.approx(first.epsilon + second.epsilon)
    # Shares that are kept cost nothing again.
    scales = model._perturbation(model.network_.architecture, shares, 300, (0.5, 1.0))
    assert second.epsilon == pytest.approx(scales.row_epsilon)


@quiet
@pytest.mark.parametrize(
    "changes",
    [
        {"mechanism": "dpsgd"},
        {"normalization": "batch"},
        {"hidden_layer_sizes": (5, 4)},
        {"image_shape": (8, 8)},
        {"kernel_size": 3},
    ],
    ids=str,
)
def test_a_network_that_goes_on_keeps_its_layers(changes, some_digits, small):
    X, y = some_digits
    model = AdaptiveLaplaceClassifier(warm_start=True, **small).fit(X, y)
    before, scores = model.guarantee_, model.predict_proba(X)
    [name] = changes
    with pytest.raises(ValueError, match=f"continues a network with {name}="):
        model.set_params(**changes).fit(X, y)
    model.set_params(**{name: getattr(AdaptiveLaplaceClassifier(**small), name)})
    assert model.guarantee_ == before
    np.testing.assert_array_equal(model.predict_proba(X), scores)


@quiet
def test_a_fit_that_fails_changes_no_network(some_digits, small, monkeypatch):
    X, y = some_digits
    model = AdaptiveLaplaceClassifier(warm_start=True, **small).fit(X, y)
    scores = model.predict_proba(X)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(_adaptive_laplace, "calibrate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    # Trained further than guarantee_ says, it would claim too little.
    np.testing.assert_array_equal(model.predict_proba(X), scores)


@quiet
def test_a_public_list_of_classes(some_digits, small):
    X, y = some_digits
    model = AdaptiveLaplaceClassifier(classes=range(12), **small).fit(X, y)
    assert model.classes_.tolist() == list(range(12))
    assert model.predict_proba(X).shape == (300, 12)
    with pytest.raises(ValueError, match="labels that are not in the 'classes'"):
        AdaptiveLaplaceClassifier(classes=range(9), **small).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes, got 1"):
        AdaptiveLaplaceClassifier(classes=[0], **small).fit(X[y == 0], y[y == 0])


ENDS = [(1, 0), (0, 0), (0, np.inf), (0,), ("a", "b"), ([0, 0], [1, 1]), (0, 1, 2)]
SHARES = [(0.5, 0.5), (0.5, 0.6, 0.1), (0.5, 0.5, 0), (-1, 1, 1)]
SIDES = [(-8, -8), ("a", 8), (None, 8), (8.5, 8), ()]
SUM = "'budget_split' .* three positive numbers that sum to 1"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({"bounds": b}, "The 'bounds' parameter of AdaptiveLaplaceClassifier") for b in ENDS),
        *(({"budget_split": shares}, SUM) for shares in SHARES),
        *(({"image_shape": sides}, "'image_shape' parameter") for sides in SIDES),
        ({"budget_split": ("a", 1, 2)}, "'budget_split' parameter"),
        ({"epsilon": 1e-40}, "'epsilon' parameter is so small"),
    ],
    ids=str,
)
def test_parameters_that_do_not_fit_are_refused(settings, message, some_digits, small):
    with pytest.raises(ValueError, match=message):
        AdaptiveLaplaceClassifier(**settings, **small).fit(*some_digits)


@quiet
def test_rows_are_clipped_to_bounds_and_scaled(some_digits, small):
    X, y = some_digits
    model = AdaptiveLaplaceClassifier(**small).fit(X, y)
    low, high = np.full(64, -3.0), np.linspace(1, 5, 64)
    far = np.where(X == 0, -1e6, np.where(X == 1, 1e6, low + (high - low) * X))
    other = AdaptiveLaplaceClassifier(bounds=(low, high), **small).fit(far, y)
    np.testing.assert_allclose(other.predict_proba(far), model.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(other.bounds_, [low, high])


@quiet
def test_a_pretrained_network_is_of_the_same_columns(some_digits, small, fitted):
    X, y = some_digits
    model = AdaptiveLaplaceClassifier(pretrained=fitted, **small)
    with pytest.raises(ValueError, match="fitted on 64 columns, X has 60"):
        model.fit(X[:, :60], y)
    with pytest.raises(ValueError, match="not fitted"):
        model.set_params(pretrained=clone(fitted)).fit(X, y)
    before = fitted.predict_proba(X)
    model.set_params(pretrained=fitted).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


@quiet
@pytest.mark.parametrize("mechanism", ["adaptive", "dpsgd"])
def test_what_is_printed_holds_no_loss(mechanism, some_digits, small, capsys):
    model = AdaptiveLaplaceClassifier(mechanism=mechanism, **small)
    model.set_params(verbose=2).fit(*some_digits)
    labels = ["DP-SGD"] if mechanism == "dpsgd" else ["relevance", "network"]
    expected = [f"[{label}] epoch {k} of 2, " for label in labels for k in (1, 2)]
    lines = capsys.readouterr().out.splitlines()
    assert [line[: len(start)] for line, start in zip(lines, expected, strict=True)] == expected
    # What follows is the time: a number of seconds, and nothing else.
    rest = [line[len(start) :] for line, start in zip(lines, expected, strict=True)]
    assert all(text.removesuffix(" s").isdigit() for text in rest)


@quiet
@pytest.mark.parametrize("estimator", [AdaptiveLaplaceClassifier, PrivateCDBNClassifier])
@pytest.mark.parametrize(
    ("random_state", "problem"),
    [
        (0, "random_state=0): anyone who guesses this seed"),
        (np.int64(0), "random_state=0): anyone who guesses this seed"),
        (check_random_state(None), "random_state=NumPy's global generator): np.random.seed"),
    ],
    ids=["int", "int64", "global"],
)
def test_randomness_that_others_may_know_warns(
    estimator, random_state, problem, some_digits, small
):
    model = estimator(**small | {"random_state": random_state})
    expected = re.escape(f"{estimator.__name__}({problem}")
    with pytest.warns(PrivacyLeakWarning, match=expected):
        model.fit(*some_digits)


@pytest.mark.parametrize("estimator", [AdaptiveLaplaceClassifier, PrivateCDBNClassifier])
@pytest.mark.parametrize("random_state", [None, 0])
def test_noise_of_rows_is_cryptographic_without_a_seed(
    estimator, random_state, some_digits, small, monkeypatch
):
    sources = []

    def spy(rows, scales, source):
        sources.append(source)
        return rows.clone()

    for module in ("_training", "_adaptive_laplace"):
        monkeypatch.setattr(f"skdp.neural.{module}.perturb_rows", spy)
    estimator(**small | {"random_state": random_state}).fit(*some_digits)
    assert len(sources) >= 2
    assert {source is None for source in sources} == {random_state is None}


@quiet
@pytest.mark.parametrize("n_epochs", [1, 3])
def test_a_row_of_the_identical_mechanism(n_epochs, some_digits, small):
    settings = {**small, "n_epochs": n_epochs, "mechanism": "identical"}
    model = AdaptiveLaplaceClassifier(2.0, budget_split=(0.1, 0.3, 0.6), **settings)
    accounts = counted(model.fit(*some_digits))
    expected = row_epsilon_by_hand((0.8, 1.2), np.ones(64), 50)
    assert accounts.loc[ROW, "epsilon"] == pytest.approx(expected, rel=1e-12)
    # The paper's count does not depend on epochs, composition does.
    assert accounts.loc[PAPER, "epsilon"] == 2.0
    assert accounts.loc[COMPOSED, "epsilon"] == pytest.approx(2.0 * n_epochs)
    assert accounts["holds"].to_dict() == {PAPER: False, COMPOSED: False, ROW: True}
    names = ["counting", "protects", "epsilon", "delta", "holds", "reason"]
    assert list(model.accounts()) == names
    assert accounts["reason"].tolist() == [account.reason for account in model.accounts_]
    assert (accounts["delta"] == 0).all()
    assert model.guarantee_.epsilon == accounts.loc[ROW, "epsilon"]
    assert (model.guarantee_.delta, model.guarantee_.relation) == (0, "replace-one")
    assert model.guarantee_.unit == "labeled record"


@quiet
def test_a_row_of_the_adaptive_mechanism(some_digits, small, fitted):
    public = AdaptiveLaplaceClassifier(pretrained=fitted, **small).fit(*some_digits)
    trained = row_epsilon_by_hand((0.25, 0.5), public.budget_shares_, 50)
    relevances = 0.25 / 2 + 64 * 2.0**-24  # half of ε₁, and rounding to the grid of the noise
    expected = relevances + trained
    assert counted(public).loc[ROW, "epsilon"] == pytest.approx(expected, rel=1e-12)
    # Without a public network half of ε₁ trains one, split as ε₂ and ε₃ are.
    own = AdaptiveLaplaceClassifier(**small).fit(*some_digits)
    trained = row_epsilon_by_hand((0.25, 0.5), own.budget_shares_, 50)
    first = row_epsilon_by_hand((0.125 / 3, 0.125 * 2 / 3), np.ones(64), 50)
    expected = 0.125 / 2 + 64 * 2.0**-24 + first + trained
    assert counted(own).loc[ROW, "epsilon"] == pytest.approx(expected, rel=1e-12)
    assert counted(own).loc[COMPOSED, "epsilon"] == pytest.approx(0.25 + 2 * 0.75)


@quiet
def test_fewer_rows_than_a_batch_are_one_batch(some_digits, small):
    settings = {**small, "mechanism": "identical", "batch_size": 1800}
    model = AdaptiveLaplaceClassifier(**settings).fit(*some_digits)
    expected = row_epsilon_by_hand((0.5, 0.5), np.ones(64), 300)
    assert model.guarantee_.epsilon == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("mechanism", ["adaptive", "identical"])
def test_noise_of_a_batch_guarantees_nothing_for_a_row(mechanism, some_digits, small):
    settings = {**small, "random_state": None, "noise_per": "batch"}
    model = AdaptiveLaplaceClassifier(mechanism=mechanism, **settings)
    with pytest.warns(PrivacyLeakWarning, match="guarantees nothing for one row") as caught:
        model.fit(*some_digits)
    assert "share one draw" in str(caught[-1].message)
    assert model.guarantee_.epsilon == np.inf
    accounts = counted(model)
    assert not accounts["holds"].any()
    assert accounts["epsilon"].tolist()[0] == 1.0
    assert accounts.loc[ROW, "epsilon"] == np.inf


def test_a_network_of_the_private_rows_guarantees_nothing(some_digits, small):
    settings = {**small, "random_state": None, "pretrained": "private"}
    with pytest.warns(PrivacyLeakWarning, match="relevances was trained on the rows without"):
        model = AdaptiveLaplaceClassifier(**settings).fit(*some_digits)
    assert model.guarantee_.epsilon == np.inf


def test_a_row_has_another_epsilon_than_the_parameter(some_digits, small):
    settings = {**small, "random_state": None, "mechanism": "identical"}
    expected = row_epsilon_by_hand((0.5, 0.5), np.ones(64), 50)
    message = f"is {expected:.4g}-private for one labeled record, not 1-private"
    with pytest.warns(PrivacyLeakWarning, match=message):
        AdaptiveLaplaceClassifier(1.0, **settings).fit(*some_digits)


@quiet
def test_no_noise_is_no_guarantee(some_digits, small):
    model = AdaptiveLaplaceClassifier(np.inf, **small).fit(*some_digits)
    assert not counted(model)["holds"].any()
    assert counted(model).loc[ROW, "reason"] == "no noise was added"


def test_noise_in_which_everything_disappears_warns_before_training(some_digits, monkeypatch):
    """By public parameters alone, in the unit of the columns."""
    X, y = some_digits
    given = {"epsilon": 1.0, "bounds": (0, 16), "n_epochs": 1, "hidden_layer_sizes": (4, 6)}
    network = AdaptiveLaplaceClassifier(mechanism="identical", **given)
    b = 2 * 4 * X.shape[1] / (len(X) * 0.5)
    said = rf"standard deviation {np.sqrt(2) * b * 16:.3g} on columns of range 16"

    def no_training(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("skdp.neural._adaptive_laplace.train", no_training)
    with pytest.warns(UserWarning, match=said) as found, pytest.raises(KeyboardInterrupt):
        network.fit(X, y)
    assert "Nothing can be learned" in str(found[0].message)
    for other in ({"epsilon": 1e4}, {"noise_per": "batch"}):
        network.set_params(**(given | other))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(KeyboardInterrupt):
                network.fit(X, y)
        assert not [w for w in caught if "Nothing can be learned" in str(w.message)]


def test_the_signal_is_that_of_a_column_which_decides():
    """√(nd) times the covariance 1/4, over the deviation of one product of two noises."""
    rng = np.random.default_rng(0)
    n, b, label_scale = 400, 3.0, 0.7
    noise = rng.laplace(scale=b, size=(4000, n)) * rng.laplace(scale=label_scale, size=(4000, n))
    found = 0.25 / noise.mean(axis=1).std()
    expected = Perturbation(np.full(1, b), label_scale, per_row=True).signal(n)
    assert found == pytest.approx(expected, rel=0.05)
    assert Perturbation(np.full(9, b), label_scale, True).signal(n) == pytest.approx(3 * expected)
    assert Perturbation(np.full(9, b), label_scale, False).signal(n) == np.inf

"""What is counted: by hand, as the paper does, as composition demands, and for one row."""

import numpy as np
import pytest

from skdp.neural import PrivacyAccount
from skdp.neural._accounts import accounts_frame


@pytest.mark.parametrize(
    "changes",
    [
        *[{"counting": 3}, {"protects": None}, {"reason": b"x"}, {"holds": 1}],
        *[{"epsilon": value} for value in (-1.0, np.nan, "1", None)],
        *[{"delta": value} for value in (-1e-9, 1.1, np.nan, "1")],
        {"epsilon": np.inf},
    ],
    ids=str,
)
def test_accounts_that_there_cannot_be(changes):
    sound = {"epsilon": 4.0, "delta": 0.0, "holds": True, "reason": "perturbed once"}
    settings = {"counting": "one row", "protects": "a labelled record", **sound}
    PrivacyAccount(**settings)
    with pytest.raises(ValueError, match="A PrivacyAccount must have texts"):
        PrivacyAccount(**{**settings, **changes})


def test_an_account_that_does_not_hold_guarantees_nothing():
    paper = PrivacyAccount("as the paper counts", "sums", 1.0, 0.0, False, "it is for sums")
    assert paper.guarantee(7, "noise").epsilon == np.inf


torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp import PrivacyLeakWarning
from skdp.neural import AdaptiveLaplaceClassifier

quiet = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
PAPER, COMPOSED, ROW = "as the paper counts", "composed over epochs", "one row"


def counted(model):
    return model.accounts().set_index("counting")


def row_epsilon_by_hand(epsilon, shares, n_rows, n_classes=10, first=6, last=4):
    """ε of ε₂ and ε₃ for one labelled record, dense layers of 64 columns, from the paper's Δ."""
    input_scales = 2 * 64 * first / (n_rows * shares * epsilon[0])
    label_scale = n_classes * (last + last**2 / 4) / (n_rows * epsilon[1])
    rounding = (64 + 2) * 2.0**-24  # to the grid of the noise
    return (1 / input_scales).sum() + 2 / label_scale + rounding


def test_an_account_as_a_guarantee():
    account = PrivacyAccount("one row", "a labelled record", 4.0, 1e-6, True, "perturbed once")
    guarantee = account.guarantee(7, "some noise", relation="add/remove")
    assert (guarantee.epsilon, guarantee.delta, guarantee.n_features) == (4.0, 1e-6, 7)
    assert (guarantee.unit, guarantee.relation) == ("labelled record", "add/remove")
    assert accounts_frame([account] * 2)["reason"].tolist() == ["perturbed once"] * 2
    names = ["counting", "protects", "epsilon", "delta", "holds", "reason"]
    assert list(accounts_frame([])) == names


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
    assert (accounts["delta"] == 0).all()
    assert model.guarantee_.epsilon == accounts.loc[ROW, "epsilon"]
    assert (model.guarantee_.delta, model.guarantee_.relation) == (0, "replace-one")
    assert model.guarantee_.unit == "labelled record"


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
    message = f"is {expected:.4g}-private for one labelled record, not 1-private"
    with pytest.warns(PrivacyLeakWarning, match=message):
        AdaptiveLaplaceClassifier(1.0, **settings).fit(*some_digits)


def test_nothing_warns_where_a_row_has_what_the_parameter_says(some_digits, small, recwarn):
    settings = {**small, "random_state": None, "mechanism": "identical", "batch_size": 10}
    model = AdaptiveLaplaceClassifier(1.0, **settings).fit(*some_digits)
    assert model.guarantee_.epsilon < 1
    assert not [w for w in recwarn if issubclass(w.category, PrivacyLeakWarning)]


@quiet
def test_no_noise_is_no_guarantee(some_digits, small):
    model = AdaptiveLaplaceClassifier(np.inf, **small).fit(*some_digits)
    assert not counted(model)["holds"].any()
    assert counted(model).loc[ROW, "reason"] == "no noise was added"

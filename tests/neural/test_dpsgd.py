"""The baseline by Opacus: its account, recomputed by another accountant, and its noise."""

import sys
from copy import deepcopy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")
opacus = pytest.importorskip("opacus", reason="Opacus (extra neural) is not installed")

from skdp.neural import AdaptiveLaplaceClassifier

SMALL = {"hidden_layer_sizes": (6, 4), "n_epochs": 2, "batch_size": 50, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


@pytest.fixture
def settings(monkeypatch):
    """Record the noise multiplier that Opacus finds, and how many steps it makes."""
    found = {"steps": 0}
    optimizer = opacus.optimizers.DPOptimizer
    made, step = optimizer.__init__, optimizer.pre_step

    def record(self, *args, **settings):
        found.update(multiplier=settings["noise_multiplier"], norm=settings["max_grad_norm"])
        made(self, *args, **settings)

    def count(self, *args):
        done = step(self, *args)
        found["steps"] += bool(done)
        return done

    monkeypatch.setattr(optimizer, "__init__", record)
    monkeypatch.setattr(optimizer, "pre_step", count)
    return found


def test_the_account_is_that_of_other_accountants(settings, some_digits, small):
    dp_accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    X, y, epsilon = *some_digits, 4.0
    model = AdaptiveLaplaceClassifier(
        epsilon, 1e-4, mechanism="dpsgd", max_grad_norm=0.7, **{**small, "n_epochs": 3}
    ).fit(X, y)
    [account] = model.accounts_
    assert epsilon * 0.9 < account.epsilon <= epsilon * 1.02
    assert account.delta == 1e-4
    assert account.holds
    assert settings["norm"] == 0.7
    assert settings["steps"] == 3 * 300 // 50
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(
            50 / 300, dp_accounting.GaussianDpEvent(settings["multiplier"])
        ),
        settings["steps"],
    )
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-3)
    tight = accountant.compose(event).get_epsilon(1e-4)
    assert account.epsilon == pytest.approx(tight, rel=0.1)


@pytest.fixture(scope="module")
def fitted_dpsgd(some_digits):
    """Opacus takes a second to find the noise."""
    return AdaptiveLaplaceClassifier(mechanism="dpsgd", **SMALL).fit(*some_digits)


def test_the_guarantee_is_about_records_that_are_added_or_removed(some_digits, fitted_dpsgd):
    model = deepcopy(fitted_dpsgd)
    guarantee = model.guarantee_
    assert (guarantee.relation, guarantee.unit) == ("add/remove", "labeled record")
    assert guarantee.epsilon == model.accounts_[0].epsilon
    assert guarantee.to_replace_one().epsilon == pytest.approx(2 * guarantee.epsilon)
    assert not hasattr(model, "budget_shares_")
    twice = model.set_params(warm_start=True).fit(*some_digits)
    assert twice.guarantee_.epsilon == pytest.approx(2 * guarantee.epsilon)
    assert twice.guarantee_.delta == pytest.approx(2 * guarantee.delta)


def test_layers_of_dpsgd_treat_each_row_by_itself(some_digits, fitted_dpsgd):
    # Else the gradient of one row would hold what others are, and clipping it bounds nothing.
    X, _ = some_digits
    network, rows = deepcopy(fitted_dpsgd.network_).train(), torch.from_numpy(X[:20])
    alone = torch.cat([network(row[None]) for row in rows])
    torch.testing.assert_close(network(rows), alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("settings", [{"delta": 0.0}, {"epsilon": np.inf}], ids=str)
def test_gaussian_noise_needs_a_finite_epsilon_and_a_delta(settings, some_digits, small):
    model = AdaptiveLaplaceClassifier(mechanism="dpsgd", **settings, **small)
    with pytest.raises(ValueError, match="needs a finite 'epsilon' and a 'delta' above 0, got"):
        model.fit(*some_digits)


def test_without_opacus_an_error_says_what_to_install(some_digits, small, monkeypatch):
    monkeypatch.setitem(sys.modules, "opacus", None)
    with pytest.raises(ImportError, match=r"pip install 'skdp\[neural\]'"):
        AdaptiveLaplaceClassifier(mechanism="dpsgd", **small).fit(*some_digits)


def test_an_epsilon_that_no_noise_reaches_is_refused(some_digits, small):
    with pytest.raises(ValueError, match="use a larger 'epsilon' or fewer 'n_epochs'"):
        AdaptiveLaplaceClassifier(1e-4, 1e-9, mechanism="dpsgd", **small).fit(*some_digits)

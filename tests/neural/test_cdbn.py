"""The private convolutional deep belief network, as an estimator."""

import warnings

import numpy as np
import pytest
from scipy.stats import kstest, laplace
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch = pytest.importorskip("torch")

import skdp.neural._cdbn as module
from skdp.neural import PrivateCDBNClassifier
from skdp.neural._belief_network import EnergyLayer
from skdp.neural._training import Perturbation
from skdp.privacy import PrivacyLeakWarning

pytestmark = pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")

X, Y = load_digits(return_X_y=True)
ROWS, QUERIES, LABELS, TRUTH = train_test_split(X, Y, random_state=0)
SMALL = {
    "image_shape": (8, 8),
    "hidden_layer_sizes": (8, 12),
    "kernel_size": 3,
    "batch_size": 300,
    "bounds": (0, 16),
    "random_state": 0,
}


def small(**parameters):
    return PrivateCDBNClassifier(**{**SMALL, **parameters})


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_digits_without_noise_and_with_little():
    exact = small(epsilon=np.inf, n_epochs=40).fit(ROWS, LABELS)
    assert exact.score(QUERIES, TRUTH) > 0.93
    some = small(epsilon=30.0, n_epochs=40).fit(ROWS, LABELS)
    assert some.score(QUERIES, TRUTH) > 0.8
    probabilities = some.predict_proba(QUERIES)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("approximation", ["chebyshev", "taylor", "piecewise"])
def test_no_noise_is_the_truncated_network_in_either_reading(approximation):
    by_row, by_batch = (
        small(epsilon=np.inf, noise_per=how, n_epochs=3, approximation=approximation).fit(
            ROWS, LABELS
        )
        for how in ("row", "batch")
    )
    for mine, other in zip(
        by_row.network_.state_dict().values(), by_batch.network_.state_dict().values(), strict=True
    ):
        assert torch.equal(mine, other)
    assert by_row.guarantee_.epsilon == by_batch.guarantee_.epsilon == np.inf


def recorded(monkeypatch, **parameters):
    """Fit; return the estimator, and rows and label coefficients that training was given."""
    seen = {}

    class Recording(Perturbation):
        def perturb(self, rows, coefficients, random_state):
            take = super().perturb(rows, coefficients, random_state)
            seen["exact"], seen["take"] = (rows, coefficients), take
            return take

    monkeypatch.setattr(module, "Perturbation", Recording)
    estimator = small(n_epochs=1, pretrain_epochs=0, **parameters).fit(ROWS, LABELS)
    return estimator, seen["exact"], seen["take"]


def check_laplace(noise, scale):
    """Accept Laplace noise of this scale, and reject one that is 10 % off."""
    assert kstest(noise, laplace(scale=scale).cdf).pvalue > 1e-4
    for factor in (0.9, 1.1):
        assert kstest(noise, laplace(scale=factor * scale).cdf).pvalue < 1e-4


def test_rows_and_labels_get_the_noise_that_is_counted(monkeypatch):
    estimator, exact, take = recorded(monkeypatch, epsilon=6.0, budget_split=(1, 2))
    noisy = take(slice(None))
    delta, delta_c = estimator.sensitivities_
    row_scale, label_scale = delta / (2.0 * 300), delta_c / (4.0 * 300)
    for values, clean, scale in zip(noisy, exact, (row_scale, label_scale), strict=True):
        check_laplace((values - clean).double().numpy().ravel()[:60_000], scale)
    columns = (noisy[0] - exact[0]).numpy()
    assert abs(np.corrcoef(columns[:, 20], columns[:, 21])[0, 1]) < 0.1
    assert estimator.guarantee_.epsilon == pytest.approx(64 / row_scale + 2 / label_scale)


def test_a_batch_shares_one_draw_of_label_noise(monkeypatch):
    estimator, exact, take = recorded(monkeypatch, epsilon=6.0, noise_per="batch")
    draws = []
    for _ in range(1000):
        values, coefficients = take(torch.arange(3))
        assert torch.equal(values, exact[0][:3])  # what layers read is exact
        noise = coefficients - exact[1][:3]
        torch.testing.assert_close(noise[0], noise[2])
        draws.append(noise[0].numpy())
    check_laplace(np.ravel(draws).astype(float), estimator.sensitivities_[-1] / (3.0 * 300))


def test_energies_of_a_batch_share_one_draw_of_each_layer_s_scale(monkeypatch):
    drawn = []

    def contrastive_divergence(self, visible, coefficients, generator):
        drawn.append((coefficients - self.coefficients).numpy())
        self.weight.grad = torch.zeros_like(self.weight)
        return 0.0

    monkeypatch.setattr(EnergyLayer, "contrastive_divergence", contrastive_divergence)
    estimator = small(
        epsilon=6.0, noise_per="batch", batch_size=20, pretrain_epochs=30, n_epochs=1, degree=9
    ).fit(ROWS, LABELS)
    check_laplace(np.ravel(drawn).astype(float), estimator.sensitivities_[0] / (3.0 * 20))


def test_the_guarantee_is_that_of_a_row_and_not_the_parameter():
    by_row = small(n_epochs=1, epsilon=0.5).fit(ROWS, LABELS)
    assert by_row.guarantee_.unit == "labeled record"
    assert 0.5 < by_row.guarantee_.epsilon < np.inf
    more = small(n_epochs=5, pretrain_epochs=2, epsilon=0.5).fit(ROWS, LABELS)
    assert more.guarantee_.epsilon == by_row.guarantee_.epsilon  # epochs read what is private
    table = by_row.accounts()
    assert table["epsilon"].iloc[0] == 0.5
    assert table["holds"].tolist() == [False, True, True]


def test_composition_counts_epochs_groups_and_classes():
    estimator = small(n_epochs=4, pretrain_epochs=2, epsilon=0.5, noise_per="batch")
    table = estimator.fit(ROWS, LABELS).accounts()
    assert table["epsilon"].tolist() == [0.5, 0.25 * 8 * 2 + 0.25 * 10 * 4, np.inf]
    assert not table["holds"].any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"noise_per": "batch"}, "guarantees nothing for one row: layers read exact rows"),
        ({"epsilon": np.inf}, "guarantees nothing for one row: no noise is added"),
        ({}, "-private for one labeled record, not 0.5-private"),
    ],
)
def test_what_a_row_has_is_said_and_nothing_else_is_wrong(parameters, message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyLeakWarning)
        small(n_epochs=1, **{**parameters, "random_state": None}).fit(ROWS, LABELS)
    # That nothing can be learned is said too, where rows have noise of their own.
    noise = [w for w in caught if "Nothing can be learned" in str(w.message)]
    assert len(noise) == (parameters == {})
    [leak] = [w for w in caught if w not in noise]
    assert message in str(leak.message)


def test_warm_start_goes_on_and_adds_up():
    estimator = small(epsilon=200.0, n_epochs=5, warm_start=True).fit(ROWS, LABELS)
    once, score = estimator.guarantee_.epsilon, estimator.score(QUERIES, TRUTH)
    for _ in range(4):
        estimator.fit(ROWS, LABELS)
    assert estimator.guarantee_.epsilon == pytest.approx(5 * once)
    assert estimator.score(QUERIES, TRUTH) > score


@pytest.mark.parametrize("other", [{"approximation": "taylor"}, {"degree": 3}])
def test_a_network_that_goes_on_keeps_its_polynomial(other):
    estimator = small(epsilon=200.0, n_epochs=1, warm_start=True).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=next(iter(other))):
        estimator.set_params(**other).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden_layer_sizes": (8,)}, "at least one energy layer"),
        ({"budget_split": (1, 1, 1)}, "None or 2 positive numbers"),
        ({"budget_split": (1, -1)}, "None or 2 positive numbers"),
        ({"budget_split": ("a", 1, 2)}, "'budget_split' parameter"),
        ({"epsilon": 1e-40}, "'epsilon' parameter is so small"),
        ({"image_shape": (8, 9)}, "image_shape"),
        ({"noise_per": "epoch"}, "noise_per"),
        ({"approximation": "fourier"}, "approximation"),
    ],
)
def test_what_does_not_fit_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(ROWS, LABELS)


def test_filters_of_each_layer_and_what_they_matter_for_the_noise():
    health = {"image_shape": (8, 8), "hidden_layer_sizes": (4, 6, 5), "n_epochs": 1}
    estimator = small(**health, kernel_size=[[4, 12], (2, 6)], warm_start=True)
    layers = estimator.fit(ROWS, LABELS).network_.layers
    assert [layer.weight.shape[2:] for layer in layers] == [(4, 12), (2, 6)]
    assert [layer.out_shape for layer in layers] == [(4, 4, 4), (6, 2, 2)]
    expected = [layer.sensitivity() for layer in layers]
    np.testing.assert_allclose(estimator.sensitivities_[:2], expected, rtol=1e-12)
    scale = expected[0] / (0.5 / 3 * 300)
    label_scale = estimator.sensitivities_[2] / (0.5 / 3 * 300)
    assert estimator.guarantee_.epsilon == pytest.approx(64 / scale + 2 / label_scale)
    estimator.set_params(warm_start=True, n_epochs=1, bounds=(0, 16)).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="continues a network with kernel_size"):
        estimator.set_params(kernel_size=(4, 2)).fit(ROWS, LABELS)

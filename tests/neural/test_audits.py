"""What is claimed, attacked: where the paper's count fails, and where that of one row holds."""

import numpy as np
import pytest
from scipy.stats import laplace

torch = pytest.importorskip("torch", reason="PyTorch (extra neural) is not installed")

from skdp import PrivacyGuarantee
from skdp.neural import AdaptiveLaplaceClassifier
from skdp.neural._training import Perturbation
from skdp.privacy import Mechanism
from skdp.privacy.audit import audit_membership, epsilon_lower_bound

pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")

OVERFITTED = {
    "mechanism": "identical",
    "normalization": "batch",
    "hidden_layer_sizes": (128, 64),
    "n_epochs": 150,
    "batch_size": 200,
    "learning_rate": 5e-3,
    "random_state": 0,
}


def claim_of(epsilon):
    claim = (None, 64, "the network", "nothing")
    stated = [Mechanism("any", epsilon)]
    what = "the paper's count, for one row"
    return PrivacyGuarantee(what, stated, *claim, unit="labeled record")


def attacked(model, digits, guarantee):
    X, y = digits
    rows = np.random.RandomState(0).permutation(len(X))
    members, others = rows[:400], rows[400:1200]
    model.fit(X[members], y[members])
    return audit_membership(
        model,
        (X[members], y[members]),
        (X[others], y[others]),
        attacks=("loss", "canary"),
        guarantee=guarantee,
        random_state=0,
    )


def test_noise_that_a_batch_shares_does_not_protect_rows(digits):
    model = AdaptiveLaplaceClassifier(0.5, noise_per="batch", **OVERFITTED)
    report = attacked(model, digits, claim_of(0.5))
    assert not report.passed
    assert report.evidence.epsilon_lower > 2  # of 0.5 that the paper counts
    assert model.guarantee_.epsilon == np.inf


def test_noise_of_each_row_survives_the_same_attack(digits):
    model = AdaptiveLaplaceClassifier(0.5, noise_per="row", **OVERFITTED)
    report = attacked(model, digits, "auto")
    assert report.guarantee.epsilon == model.guarantee_.epsilon < 0.5
    assert report.evidence.detectable < 1  # so many canaries would tell a greater leak
    assert report.passed


def log_likelihood_ratio(outputs, scales, labels):
    """Of rows of zeros of the one label against rows of ones of the other one."""
    one, other = (np.append(np.full(len(scales[:-3]), x), y) for x, y in enumerate(labels))
    by_column = laplace.logpdf(outputs, one, scales) - laplace.logpdf(outputs, other, scales)
    return by_column.sum(axis=1)


def test_the_epsilon_of_a_row_is_neither_too_small_nor_much_too_large():
    n, scales = 60_000, np.array([4.0, 2.0, 4.0, 4.0, 4.0])
    perturbation = Perturbation(scales[:2], 4.0, per_row=True)
    labels = 0.5 - np.eye(3)[[0, 1]]
    ratios = []
    for value, label in zip((0.0, 1.0), labels, strict=True):
        coefficients = torch.from_numpy(np.tile(label, (n, 1)))
        rows = torch.full((n, 2), value, dtype=torch.float64)
        take = perturbation.perturb(rows, coefficients, np.random.RandomState(int(value)))
        outputs = torch.cat(take(torch.arange(n)), dim=1).numpy()
        ratios.append(log_likelihood_ratio(outputs, scales, labels))
    threshold = 0.8 * perturbation.row_epsilon
    hits = [int((ratio >= threshold).sum()) for ratio in ratios]
    found = epsilon_lower_bound(hits[0], n, hits[1], n)
    assert perturbation.row_epsilon == pytest.approx(1.25, abs=1e-5)
    assert 0.75 * perturbation.row_epsilon < found <= perturbation.row_epsilon


# One column and one unit: Δ = 2, of which one row moves the sum by 1.
EPSILON, SENSITIVITY = 0.25, 2.0


@pytest.mark.parametrize("per_row", [True, False])
def test_the_claim_about_sums_fails_for_noise_of_rows_alone(per_row):
    size, n, state = 400, 4000, np.random.RandomState(7)
    perturbation = Perturbation(np.array([SENSITIVITY / (size * EPSILON)]), 1.0, per_row)
    sums = []
    for value in (0.0, 1.0):  # of one row; the others are zero
        rows = torch.zeros(size * n if per_row else size, 1, dtype=torch.float64)
        rows[::size] = value
        take = perturbation.perturb(rows, torch.zeros(len(rows), 1), state)
        if per_row:
            sums.append(take(slice(None))[0].reshape(n, size).sum(dim=1).numpy())
        else:
            sums.append(np.array([take(slice(None))[0].sum().item() for _ in range(n)]))
    threshold = 0.5 + SENSITIVITY / EPSILON / np.sqrt(size)
    hits = [int((s > threshold).sum()) for s in sums]
    found = epsilon_lower_bound(hits[1], n, hits[0], n)
    assert (found > EPSILON) == per_row

"""What a target learns about classes: without labels nothing, and predictions by own formulas."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

from skdp import DPStatisticsSource, DPTransferClassifier
from skdp.transfer._class_model import ClassModel, class_beliefs
from skdp.transfer._density_candidates import trained_source
from skdp.transfer._likelihoods import SoftmaxLikelihood
from skdp.transfer._target_model import Source, Terms

N_COLUMNS = 4


@pytest.mark.parametrize("n_classes", [2, 5])
def test_without_labels_no_coefficients_are_learned(n_classes, rng, monkeypatch, at_another_site):
    y = rng.randint(n_classes, size=2000)
    # So little apart that no densities are adapted.
    X = 0.8 * rng.rand(2000, 8) + 0.2 * rng.rand(n_classes, 8)[y]
    source = DPStatisticsSource(8.0, bounds=(0, 1), classes=range(n_classes), model="linear")
    release = source.fit(X[:1500], y[:1500]).release_
    sizes, derivatives = [], SoftmaxLikelihood.derivatives

    def counted(self, coefficients):
        sizes.append(len(coefficients))
        return derivatives(self, coefficients)

    monkeypatch.setattr(SoftmaxLikelihood, "derivatives", counted)
    rows = X[1500:]
    model = DPTransferClassifier(release, random_state=0).fit(rows)
    assert [candidate.name for candidate in model.model_.candidates] == ["source"]
    # A slope and intercepts at most.
    assert max(sizes) == n_classes
    expected = softmax(release.scores(rows), axis=1)
    if n_classes == 2:
        expected = at_another_site(release, rows)
    assert_allclose(model.predict_proba(rows), expected, atol=2e-2 if n_classes == 2 else 1e-9)
    assert_array_equal(model.predict(rows), release.predict(rows))


def target(rng, n_classes, make_task, n_labels=40):
    """A task, terms, log-posteriors of a source that is too sure, and their scorer."""
    X = rng.randn(150, N_COLUMNS)
    W = 2 * rng.randn(N_COLUMNS, n_classes)

    def predict(rows):
        return log_softmax(rows @ W + np.arange(n_classes), axis=1)

    true = (predict(X) / 2 + 0.7 * X[:, :1] ** 2 + rng.gumbel(size=(150, n_classes))).argmax(
        axis=1
    )
    labels = np.where(np.arange(150) < n_labels, true, -1)
    task = make_task(X, labels, class_indices=range(n_classes))
    task = replace(task, label_sampling="random")
    terms = Terms.of_columns(X, np.full(N_COLUMNS, np.nan))
    return task, terms, predict


def model_of(rng, n_classes, make_task):
    task, terms, predict = target(rng, n_classes, make_task)
    source = Source("source", 1.0, predict, terms, class_beliefs(task))
    return task, ClassModel(task, [(source, predict(task.X))], terms), predict


def contrast(n_classes):
    """Return orthonormal columns that sum to 0: those of Helmert."""
    H = np.array([[-1.0] * k + [k] + [0] * (n_classes - k - 1) for k in range(1, n_classes)]).T
    return H / np.linalg.norm(H, axis=0)


def center_of(name, n_classes, logs):
    frequencies = np.log(np.exp(logs).mean(axis=0) + 1e-6)
    return np.zeros(n_classes) if name.startswith("source") and n_classes > 2 else frequencies


@pytest.mark.parametrize("n_classes", [2, 3])
def test_modes_are_about_frequencies_of_two_classes_and_about_0_of_more(n_classes, rng, make_task):
    task, model, predict = model_of(rng, n_classes, make_task)
    known, logs, C = task.labels >= 0, predict(task.X), contrast(n_classes)
    changed = [c for c in model.candidates if c.name.endswith("own coefficients")][-1]
    center, k = center_of("source", n_classes, logs), n_classes - 1
    beliefs = class_beliefs(task)
    design = np.column_stack([np.ones(150), (task.X - task.X.mean(axis=0)) / task.X.std(axis=0)])
    # Of the sum of four independent columns.
    deviations = np.array([beliefs.levels[-1], *[beliefs.strengths[-1] / 2] * N_COLUMNS])

    def loss(coefficients):
        slope, W = coefficients[0], coefficients[1:].reshape(N_COLUMNS + 1, k)
        scores = center + slope * (logs[known] - center) + design[known] @ W @ C.T
        penalty = ((slope - 1) / (0.3 if n_classes == 2 else 1.0)) ** 2 / 2
        penalty += np.sum((W / deviations[:, np.newaxis]) ** 2)  # log-odds are √2 times contrasts
        own = log_softmax(scores, axis=1)[np.arange(known.sum()), task.labels[known]]
        return penalty - own.sum()

    mode = changed.posterior.coefficients
    assert abs(mode[0] - 1) > 0.05
    for step in 1e-4 * np.eye(len(mode)):
        assert abs(loss(mode + step) - loss(mode - step)) / 2e-4 < 1e-3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_moderated_of_two_classes_alone(n_classes, rng, make_task):
    task, model, predict = model_of(rng, n_classes, make_task)
    rows, C = rng.randn(60, N_COLUMNS), contrast(n_classes)
    logs = predict(rows)
    design = np.column_stack([np.ones(60), (rows - task.X.mean(axis=0)) / task.X.std(axis=0)])
    moderated, modes, k = 0.0, 0.0, n_classes - 1
    for candidate, weight in zip(model.candidates, model.weights, strict=True):
        center = center_of(candidate.name, n_classes, predict(task.X))
        slope, *others = candidate.posterior.coefficients
        scores = 0 if candidate.name == "target alone" else slope * (logs - center)
        logits = center + scores + design @ np.reshape(others, (-1, k)) @ C.T
        modes = modes + weight * softmax(logits, axis=1)
        factor = candidate.posterior.factor[:, 1:]
        covariance = (factor.T @ factor).reshape(N_COLUMNS + 1, k, N_COLUMNS + 1, k)
        variance = 2 * np.einsum("np,pkqk,nq->n", design, covariance, design) / k
        narrower = logits / np.sqrt(1 + np.pi * variance / 8)[:, np.newaxis]
        moderated = moderated + weight * softmax(narrower, axis=1)
    assert np.abs(moderated - modes).max() > 0.01
    expected = moderated if n_classes == 2 else modes
    assert_allclose(model.probabilities(rows), expected, atol=1e-5)


@pytest.mark.parametrize(("agrees", "calibrated"), [(True, True), (False, True), (False, False)])
def test_self_training_enters_as_it_is(agrees, calibrated, rng, make_task):
    task, terms, predict = target(rng, 3, make_task)
    logs = log_softmax(9 * np.eye(3)[predict(task.X).argmax(axis=1)], axis=1)
    if not agrees:
        logs = logs[:, [1, 2, 0]]
    own = SimpleNamespace(
        log_posteriors=lambda rows: log_softmax(7 * predict(rows), axis=1), source_weight=0.4
    )
    trained = SimpleNamespace(model=own, log_posteriors=logs)
    source = Source("source", 1.0, predict, terms, class_beliefs(task))
    entered = trained_source(trained, np.exp(predict(task.X)), calibrated)
    model = ClassModel(task, [(source, predict(task.X)), entered], terms)
    [first, *_] = model.candidates
    [candidate] = [c for c in model.candidates if "self-training" in c.name]
    # No slope, no level: likelihoods of the labels by what has not seen them.
    assert_array_equal(candidate.posterior.coefficients, [1.0, 0.0, 0.0])
    assert_array_equal(candidate.posterior.factor, 0.0)
    known = np.flatnonzero(task.labels >= 0)
    likely = [of[known, task.labels[known]].sum() for of in (logs, predict(task.X))]
    odds = (-6.0 if calibrated and not agrees else 3.0) + likely[0] - np.log(1 / 3) - likely[1]
    assert candidate.log_odds - first.log_odds == pytest.approx(odds, abs=1e-6)
    rows = rng.randn(20, N_COLUMNS)
    [held] = [s for s in model.sources if s.name == "self-training"]
    assert held.source_weight == 0.4
    assert_allclose(held.predict(rows), log_softmax(7 * predict(rows), axis=1))

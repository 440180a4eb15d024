import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DPSource, DPTransferClassifier, SelfTrainingSchedule


def slow_errors(release, V_sr, V_tg, X, medians):
    errors = np.empty((len(X), len(medians)))
    for c, m_tg in enumerate(medians):
        m_sr = release.alignment.class_medians[c][: len(V_sr)]
        moved = np.array([V_sr.T @ (V_tg @ y - m_tg + m_sr) for y in X])
        output = release.row_classifier.autoencoders_[c].reconstruct(moved)
        errors[:, c] = [np.sum((a - b) ** 2) for a, b in zip(moved, output, strict=True)]
    return errors


def slow_medians(V_tg, X, labels):
    return [np.median([V_tg @ y for y in X[labels == c]], axis=0) for c in range(10)]


@pytest.mark.parametrize("domain", ["same", "other"])
def test_alignment_is_algorithm_7(release, domain, slow, request):
    X, _, marked, X_test, _ = request.getfixturevalue(domain)
    X, marked, X_test = *slow.fewer(X, marked), X_test[:20]
    fast = DPTransferClassifier(
        release,
        strategy="alignment",
        self_training=SelfTrainingSchedule(tol=0.0, **slow.schedule),
        random_state=0,
    ).fit(X, marked)

    seeds = np.random.RandomState(0)
    hidden = marked < 0
    V_sr, V_tg = slow.subspaces(release, X, marked)
    labels = slow.initial_labels(X, marked, seeds, "gamma")
    shares = [0.0]
    for model in slow.models(seeds, "gamma"):
        medians = slow_medians(V_tg, X, labels)
        target = model.fit(X, labels).reconstruction_errors(X[hidden])
        source = slow_errors(release, V_sr, V_tg, X[hidden], medians)
        labels[hidden] = np.minimum(target, source).argmin(axis=1)
        shares.append(np.mean(source.min(axis=1) < target.min(axis=1)))
    assert_array_equal(fast.transduction_, labels)
    assert_allclose(fast.history_["source_share"], shares)

    source = slow_errors(release, V_sr, V_tg, X_test, slow_medians(V_tg, X, labels))
    target = model.reconstruction_errors(X_test)
    assert_allclose(fast.source_scores(X_test), -source, rtol=1e-7)
    assert_allclose(fast.target_scores(X_test), -target, rtol=1e-7)
    assert_allclose(fast.decision_function(X_test), -np.minimum(source, target), rtol=1e-7)
    assert_array_equal(fast.predict(X_test), np.minimum(source, target).argmin(axis=1))


def test_a_clean_source_of_the_same_domain_helps(release, same):
    X, y, marked, X_test, y_test = same
    settings = {"self_training": SelfTrainingSchedule((4, 6, 8, 10)), "random_state": 0}
    settings |= {"strategy": "alignment", "unlabeled": -1}
    transfer = DPTransferClassifier(release, **settings).fit(X, marked)
    alone = DPTransferClassifier(**settings).fit(X, marked)
    assert transfer.score(X_test, y_test) > 0.95
    assert transfer.score(X_test, y_test) > alone.score(X_test, y_test) + 0.1
    assert np.mean(transfer.transduction_ == y) > 0.95
    assert min(transfer.history_["source_share"][1:]) > 0


def test_a_hopeless_source_does_no_harm(domains, same):
    X, _, marked, X_test, _ = same
    source = DPSource(0.05, parts="papers", n_layers=1, random_state=0).fit(
        domains.source, domains.source_target
    )
    transfer = DPTransferClassifier(source, strategy="alignment", random_state=0).fit(X, marked)
    alone = DPTransferClassifier(strategy="alignment", unlabeled=-1, random_state=0).fit(X, marked)
    assert_array_equal(transfer.predict(X_test), alone.predict(X_test))
    assert max(transfer.history_["source_share"]) == 0

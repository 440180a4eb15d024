import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DPTransferClassifier, MembershipMapping, SelfTrainingSchedule


@pytest.mark.slow
@pytest.mark.parametrize("n_layers", [(1, 1, 2), 2])  # (1.82) has one L for all rounds
@pytest.mark.parametrize("domain", ["same", "other"])
def test_multitask_is_the_report_s_rule(release, domain, n_layers, slow, request):
    X, _, marked, X_test, _ = request.getfixturevalue(domain)
    X, marked, X_test = *slow.fewer(X, marked), X_test[:20]
    schedule = SelfTrainingSchedule(tol=0.0, **{**slow.schedule, "n_layers": n_layers})
    settings = {"strategy": "multitask", "self_training": schedule, "random_state": 0}
    fast = DPTransferClassifier(release, **settings).fit(X, marked)
    source_scores, scores = fast.source_scores(X_test), fast.decision_function(X_test)

    if domain == "other":
        V_sr, V_tg = slow.subspaces(release, X, marked)
        X, X_test = (np.array([V_sr.T @ V_tg @ y for y in rows]) for rows in (X, X_test))
    seeds = np.random.RandomState(0)
    hidden = marked < 0
    labels = slow.initial_labels(X, marked, seeds, "empirical")
    for model in slow.models(seeds, "empirical", np.broadcast_to(n_layers, 3).tolist()):
        labels[hidden] = model.fit(X, labels).predict(X[hidden])
    assert_array_equal(fast.transduction_, labels)

    autoencoders = release.row_classifier.autoencoders_
    order = np.argsort(labels, kind="stable")
    pairs = [(autoencoders[labels[i]].reconstruct(X[i : i + 1])[0], X[i]) for i in order]
    paper = {"inference": "empirical", "length_scale": 1.0, "standardize": False}
    mapping = MembershipMapping(-(-len(X) // 2), **paper, random_state=seeds)
    mapping.fit(*map(np.array, zip(*pairs, strict=True)))
    source = np.empty((len(X_test), 10))
    for i, y in enumerate(X_test):
        for c in range(10):
            output = autoencoders[c].reconstruct(y.reshape(1, -1))
            carried = mapping.predict(output)
            source[i, c] = min(np.sum((y - output) ** 2), np.sum((y - carried) ** 2))
    target = model.reconstruction_errors(X_test)
    assert_allclose(source_scores, -source, rtol=1e-6)
    assert_allclose(scores, -np.minimum(source, target), rtol=1e-6)


def test_queries_far_away_have_finite_scores(release, same):
    X, y, _, X_test, _ = same
    model = DPTransferClassifier(
        release,
        strategy="multitask",
        self_training=SelfTrainingSchedule(n_components=3),
        random_state=0,
    )
    assert np.isfinite(model.fit(X, y).source_scores(1e200 * X_test[:3])).all()

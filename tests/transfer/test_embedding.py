import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DPTransferClassifier, SelfTrainingSchedule
from skdp.release import Subspace


def test_subspaces_of_equal_dimension_are_shared(release, same, make_task):
    V_sr, V_tg = make_task(same[0], same[2], release).pairs[0].paired_directions()
    assert V_sr is V_tg is release.alignment.components


def test_subspaces_never_exceed_the_rank_of_the_target(release, other, make_task):
    X, _, marked, _, _ = other
    flat = np.hstack([X[:, :5], np.zeros((len(X), 3))])
    V_sr, V_tg = make_task(flat, marked, release).pairs[0].paired_directions()
    assert V_sr.shape == (5, 64)
    assert V_tg.shape == (5, 8)
    assert_allclose(V_tg @ V_tg.T, np.eye(5), atol=1e-12)


@pytest.mark.parametrize("domain", ["same", "other"])
@pytest.mark.parametrize("class_indices", [list(range(10)), [7, 2]])
def test_means_meet(denoised_release, noisy_release, domain, class_indices, make_task, request):
    X, y, _, _, _ = request.getfixturevalue(domain)
    kept = np.isin(y, class_indices)
    X, labels = X[kept], np.array([class_indices.index(c) for c in y[kept]])
    subspace = Subspace.of_rows(X, 60)
    for release in (denoised_release, noisy_release):
        task = make_task(X, labels, release, class_indices)
        rows = task.pairs[0].embedding()(X)
        moments = release.moments
        if moments is None:  # then only the mean of all classes is known
            expected = release.alignment.mean
        else:
            expected = np.average(
                moments.means[class_indices], axis=0, weights=moments.class_counts[class_indices]
            )
        assert_allclose(rows.mean(axis=0), expected, atol=1e-12)
        if domain == "other" and moments is not None:
            spread = np.trace(moments.total_covariance())
            scale = task.pairs[0].embedding().args[2]
            assert_allclose(scale**2 * subspace.variances.sum(), spread)


@pytest.mark.parametrize("domain", ["same", "other"])
@pytest.mark.parametrize("missing", [["alignment"], ["alignment", "moments"]])
def test_a_release_without_an_alignment_serves_where_none_is_needed(
    release, domain, missing, request, altered
):
    X, _, marked, X_test, _ = request.getfixturevalue(domain)
    bare = altered(release, **dict.fromkeys(missing))
    settings = {"self_training": SelfTrainingSchedule(2, n_layers=1, n_folds=2), "random_state": 0}
    model = DPTransferClassifier(bare, **settings)
    if domain == "same" and "moments" not in missing:
        expected = DPTransferClassifier(release, **settings).fit(X, marked)
        assert_array_equal(model.fit(X, marked).predict(X_test), expected.predict(X_test))
    else:
        with pytest.raises(ValueError, match=r"alignment.*DPSource"):
            model.fit(X, marked)

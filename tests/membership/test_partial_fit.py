import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from skdp import WideCDMMA, WideCDMMAClassifier

_SETTINGS = {"n_components": 4, "n_layers": 2, "subset_size": 60, "random_state": 0}


@pytest.fixture
def halves(digits):
    X, y = digits
    return (X[:900], y[:900]), (X[900:], y[900:])


def test_new_rows_of_an_autoencoder_only_add(halves):
    (X, _), (new, _) = halves
    wide = WideCDMMA(**_SETTINGS).fit(X)
    first, errors = list(wide.autoencoders_), wide.reconstruction_error(X)
    wide.partial_fit(new)
    assert wide.autoencoders_[: len(first)] == first
    apart = WideCDMMA(**_SETTINGS).fit(new)
    assert len(wide.autoencoders_) == len(first) + len(apart.autoencoders_)
    expected = np.minimum(errors, apart.reconstruction_error(X))
    assert_array_equal(wide.reconstruction_error(X), expected)


def test_a_first_partial_fit_is_a_fit(halves):
    (X, y), _ = halves
    for first, other in (
        (WideCDMMA(**_SETTINGS).partial_fit(X), WideCDMMA(**_SETTINGS).fit(X)),
        (
            WideCDMMAClassifier(**_SETTINGS).partial_fit(X, y),
            WideCDMMAClassifier(**_SETTINGS).fit(X, y),
        ),
    ):
        assert_array_equal(getattr(first, "classes_", 0), getattr(other, "classes_", 0))
        error = "reconstruction_errors" if hasattr(first, "classes_") else "reconstruction_error"
        assert_array_equal(getattr(first, error)(X), getattr(other, error)(X))


def test_errors_of_a_class_are_the_least_of_old_and_new(halves):
    (X, y), (new, labels) = halves
    model = WideCDMMAClassifier(**_SETTINGS).fit(X, y)
    old = model.reconstruction_errors(X)
    apart = WideCDMMAClassifier(**_SETTINGS).fit(new, labels)
    model.partial_fit(new, labels)
    assert_array_equal(
        model.reconstruction_errors(X), np.minimum(old, apart.reconstruction_errors(X))
    )
    sums = [a.training_error_sums_[0] for g in model.autoencoders_by_class() for a in g]
    assert sum(sums) == len(X) + len(new)


def test_classes_may_come_one_by_one(halves):
    (X, y), _ = halves
    model = WideCDMMAClassifier(**_SETTINGS)
    for label in (5, 1, 8):
        model.partial_fit(X[y == label], y[y == label])
    assert_array_equal(model.classes_, [1, 5, 8])
    chosen = np.isin(y, [1, 5, 8])
    whole = WideCDMMAClassifier(**_SETTINGS).fit(X[chosen], y[chosen])
    assert model.score(X[chosen], y[chosen]) > 0.97
    assert whole.score(X[chosen], y[chosen]) > 0.97
    of_five = model.reconstruction_errors(X)[:, 1]
    model.partial_fit(X[y == 0], y[y == 0])
    assert_array_equal(model.classes_, [0, 1, 5, 8])
    assert_array_equal(model.reconstruction_errors(X)[:, 2], of_five)
    assert_array_equal(model.predict_proba(X).shape, (len(X), 4))


def test_what_does_not_fit_is_refused(halves):
    (X, y), (new, labels) = halves
    model = WideCDMMAClassifier(**_SETTINGS).fit(X, y)
    with pytest.raises(ValueError, match="63 features"):
        model.partial_fit(new[:, :63], labels)
    with pytest.raises(ValueError, match="63 features"):
        WideCDMMA(**_SETTINGS).fit(X).partial_fit(new[:, :63])
    with pytest.raises(ValueError, match=r"'y' parameter .* text"):
        model.partial_fit(new, labels.astype(str))
    assert_array_equal(model.classes_, np.arange(10))
    with pytest.raises(ValueError, match=r"'error_scale' parameter .* partial_fit"):
        clone(model).set_params(error_scale="own").partial_fit(X, y)

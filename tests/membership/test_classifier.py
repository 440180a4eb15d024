"""Classifiers by nearest reconstruction."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from skdp import CDMMA, CDMMAClassifier, WideCDMMAClassifier
from skdp.membership import validate_training

CLASSIFIERS = [CDMMAClassifier, WideCDMMAClassifier]


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["gamma", "empirical"])
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_digits_accuracy(cls, inference, split):
    X, X_test, y, y_test = split
    classifier = cls(inference=inference, random_state=0).fit(X, y)
    assert classifier.score(X_test, y_test) >= 0.97


def test_scores_are_reconstruction_errors_of_single_class_models(split):
    X, X_test, y, _ = split
    classifier = CDMMAClassifier(8, n_layers=2, error_scale="shared", random_state=0).fit(X, y)
    for k, autoencoder in enumerate(classifier.autoencoders_):
        alone = CDMMA(8, n_layers=2, random_state=autoencoder.random_state).fit(X[y == k])
        errors = alone.reconstruction_error(X_test)
        assert_allclose(classifier.decision_function(X_test)[:, k], -errors, rtol=1e-9)
    best = classifier.decision_function(X_test).argmax(axis=1)
    assert_array_equal(classifier.predict(X_test), classifier.classes_[best])


def test_results_do_not_depend_on_n_jobs_or_backend(split):
    X, X_test, y, _ = split
    settings = {"subset_size": 60, "n_layers": 2, "random_state": 0}
    expected = WideCDMMAClassifier(**settings).fit(X, y).decision_function(X_test)
    threads = WideCDMMAClassifier(n_jobs=2, **settings).fit(X, y).decision_function(X_test)
    assert_array_equal(threads, expected)
    with joblib.parallel_config("loky", n_jobs=2):
        processes = WideCDMMAClassifier(**settings).fit(X, y).decision_function(X_test)
    assert_array_equal(processes, expected)


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize(
    "X",
    [
        np.eye(3),
        np.array([[0.0], [0.5], [1.0]]),
        np.c_[np.ones(6), np.repeat([0.0, 0.5, 1.0], 2)],
        np.vstack([np.zeros((2, 50)), np.ones((2, 50)), np.tile([0.0, 1.0], (2, 25))]),
    ],
    ids=["one row a class", "p = 1", "constant column", "duplicate rows"],
)
def test_tiny_classes_work(cls, X, inference):
    y = np.repeat(["a", "b", "c"], len(X) // 3)
    classifier = cls(inference=inference, n_inducing=1.0, random_state=0).fit(X, y)
    probabilities = classifier.predict_proba(X)
    assert np.isfinite(classifier.decision_function(X)).all()
    assert np.isfinite(probabilities).all()
    assert_allclose(probabilities.sum(axis=1), 1)
    # Rows that the model has seen are told apart by it, up to the shrinkage towards zero.
    assert classifier.score(X, y) >= 2 / 3


def test_two_classes_give_one_column(split):
    X, X_test, y, _ = split
    two = y < 2
    classifier = CDMMAClassifier(error_scale="shared", random_state=0)
    classifier.fit(X[two], np.array(["a", "b"])[y[two]])
    errors = classifier.reconstruction_errors(X_test)
    assert_allclose(classifier.decision_function(X_test), errors[:, 0] - errors[:, 1])
    second = classifier.decision_function(X_test) > 0
    assert_array_equal(classifier.predict(X_test) == "b", second)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_probabilities(cls, split):
    X, X_test, y, y_test = split
    classifier = cls(20, error_scale="shared", random_state=0).fit(X, y)
    probabilities = classifier.predict_proba(X_test)
    errors = classifier.reconstruction_errors(X_test)
    assert_allclose(probabilities.sum(axis=1), 1)
    ratios = np.log(probabilities[:, 0] / probabilities[:, 1])
    assert_allclose(ratios, (errors[:, 1] - errors[:, 0]) / classifier.temperature_, rtol=1e-6)
    assert_array_equal(
        classifier.classes_[probabilities.argmax(axis=1)], classifier.predict(X_test)
    )
    assert log_loss(y_test, probabilities) < 0.3
    odds = probabilities / probabilities.max(axis=1, keepdims=True)
    assert_allclose(np.exp(classifier.log_odds(X_test)), odds)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_one_class_is_not_enough(cls):
    name = cls.__name__
    with pytest.raises(ValueError, match=rf"'y' parameter of {name}.*got one class: .*Add rows"):
        cls().fit(np.zeros((4, 2)), np.ones(4))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_queries_stay_finite(split, dtype):
    X, X_test, y, _ = split
    classifier = CDMMAClassifier(4, n_layers=1, random_state=0).fit(X.astype(dtype), y)
    far = X_test[:5].astype(dtype) * dtype(1e30 if dtype == np.float32 else 1e250)
    assert np.isfinite(classifier.decision_function(far)).all()
    assert_allclose(classifier.predict_proba(far).sum(axis=1), 1)


def test_the_number_of_classes_that_must_be_there_can_be_set():
    X, y = np.zeros((2, 1)), ["a", "a"]
    assert_array_equal(validate_training(CDMMAClassifier(), X, y, min_classes=1)[1], [0, 0])
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        validate_training(CDMMAClassifier(), X, y)

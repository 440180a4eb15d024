import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp import CDMMA, CDMMAClassifier, OptimalDPNoise, WideCDMMAClassifier

CLASSIFIERS = [CDMMAClassifier, WideCDMMAClassifier]


@pytest.mark.parametrize("inference", ["gamma", "empirical"])
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_digits_accuracy(cls, inference, split):
    X, X_test, y, y_test = split
    classifier = cls(inference=inference, random_state=0).fit(X, y)
    assert classifier.score(X_test, y_test) >= 0.97


def test_scores_are_reconstruction_errors_of_single_class_models(split):
    X, X_test, y, _ = split
    classifier = CDMMAClassifier(8, n_layers=2, random_state=0).fit(X, y)
    for k, autoencoder in enumerate(classifier.autoencoders_):
        alone = CDMMA(8, n_layers=2, random_state=autoencoder.random_state).fit(X[y == k])
        errors = alone.reconstruction_error(X_test)
        assert_allclose(classifier.decision_function(X_test)[:, k], -errors, rtol=1e-9)
    best = classifier.decision_function(X_test).argmax(axis=1)
    assert_array_equal(classifier.predict(X_test), classifier.classes_[best])


def test_wide_splits_each_class(split):
    X, X_test, y, y_test = split
    classifier = WideCDMMAClassifier(subset_size=50, random_state=0).fit(X, y)
    expected = [-(-np.sum(y == k) // 50) for k in range(10)]
    assert [len(a.autoencoders_) for a in classifier.autoencoders_] == expected
    assert classifier.score(X_test, y_test) >= 0.96


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_infinite_epsilon_is_exactly_the_non_private_model(cls, split):
    X, X_test, y, _ = split
    model = cls(8, n_layers=2, random_state=0)
    noise = OptimalDPNoise(epsilon=np.inf, perturb="fit")
    private = make_pipeline(noise, model).fit(X, y).decision_function(X_test)
    assert_array_equal(private, model.fit(X, y).decision_function(X_test))


def test_private_accuracy_falls_with_epsilon(split):
    X, X_test, y, y_test = split
    scores = [
        make_pipeline(
            OptimalDPNoise(epsilon, perturb="fit", random_state=np.random.RandomState(0)),
            CDMMAClassifier(n_layers=1, random_state=0),
        )
        .fit(X, y)
        .score(X_test, y_test)
        for epsilon in (0.5, 2.0, 16.0)
    ]
    assert scores[0] + 0.1 < scores[1] + 0.05 < scores[2]


def test_results_do_not_depend_on_n_jobs_or_backend(split):
    X, X_test, y, _ = split
    settings = {"subset_size": 60, "n_layers": 2, "random_state": 0}
    expected = WideCDMMAClassifier(**settings).fit(X, y).decision_function(X_test)
    threads = WideCDMMAClassifier(n_jobs=2, **settings).fit(X, y).decision_function(X_test)
    assert_array_equal(threads, expected)
    with joblib.parallel_config("loky", n_jobs=2):
        processes = WideCDMMAClassifier(**settings).fit(X, y).decision_function(X_test)
    assert_array_equal(processes, expected)


def test_verbose_reports_progress(split, capsys):
    X, _, y, _ = split
    CDMMAClassifier(4, n_layers=1, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("[CDMMAClassifier] 10/10 autoencoders")
    CDMMAClassifier(4, n_layers=1).fit(X, y)
    assert capsys.readouterr().out == ""


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


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_inducing", 0),
        ("n_inducing", 1.5),
        ("n_inducing", 0.0),
        ("n_components", 0),
        ("n_layers", 0),
        ("inference", "exact"),
    ],
)
def test_bad_parameters_are_named(cls, name, value, split):
    X, _, y, _ = split
    expected = rf"'{name}' parameter of {cls.__name__} must be .*Got .*{value}"
    with pytest.raises(ValueError, match=expected):
        cls(**{name: value}).fit(X, y)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_data_frames_pipeline_grid_search_and_joblib(cls, split, tmp_path):
    X, X_test, y, _ = split
    names = [f"pixel {i}" for i in range(64)]
    frame, frame_test = pd.DataFrame(X, columns=names), pd.DataFrame(X_test, columns=names)
    pipeline = make_pipeline(
        OptimalDPNoise(epsilon=8.0, perturb="fit"), cls(n_layers=1, random_state=0)
    )
    search = GridSearchCV(
        pipeline,
        {f"{cls.__name__.lower()}__n_components": [1, 15]},
        cv=3,
        error_score="raise",
    ).fit(frame, y)
    assert search.best_params_ == {f"{cls.__name__.lower()}__n_components": 15}
    joblib.dump(search.best_estimator_, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    assert_array_equal(loaded.predict(frame_test), search.predict(frame_test))
    assert_array_equal(loaded[0].feature_names_in_, names)
    assert loaded[0].guarantee_.epsilon == 8.0


def test_small_integer_types(split):
    X, X_test, y, _ = split
    settings = {"n_layers": 1, "random_state": 0}
    expected = WideCDMMAClassifier(subset_size=60, **settings).fit(X, y).predict(X_test)
    model = WideCDMMAClassifier(subset_size=np.uint8(60), **settings).fit(X, y)
    assert_array_equal(model.predict(X_test), expected)

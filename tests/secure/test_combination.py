import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skdp import CDMMAClassifier, DeepFuzzyClassifier
from skdp.secure import ScoreScale, SecureCombination, combine_scores

from .conftest import needs_concrete


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X / 16, y.astype(str)


@pytest.mark.parametrize(
    ("model", "method", "scale"),
    [
        (CDMMAClassifier(n_layers=1, random_state=0), "decision_function", (-25.0, 0.0)),
        (DeepFuzzyClassifier(max_layers=1, random_state=0), "predict_proba", (0.0, 1.0)),
    ],
    ids=["cdmma", "fuzzy"],
)
def test_local_models_of_digits(digits, model, method, scale):
    X, y = digits
    models = [type(model)(**model.get_params()).fit(X[i:240:3], y[i:240:3]) for i in range(3)]
    combination = SecureCombination(models, scale=scale, method=method).fit()
    found = combination.predict(X[400:])
    scores = [ScoreScale(*scale).dissimilarities(getattr(m, method)(X[400:])) for m in models]
    assert found.tolist() == combination.classes_[combine_scores(scores)].tolist()
    assert combination.score(X[400:], y[400:]) > 0.9
    assert combination.n_features_in_ == 64


def test_clones_of_frozen_estimators_are_fitted(digits):
    X, y = digits
    models = [FrozenEstimator(LogisticRegression().fit(X[i::2], y[i::2])) for i in range(2)]
    first = SecureCombination(models).fit()
    again = clone(first).fit()
    assert again.predict(X[:50]).tolist() == first.predict(X[:50]).tolist()
    assert again.session_.digest != first.session_.digest


@needs_concrete
def test_encrypted_combination_equals_plain(digits):
    X, y = digits
    keep = np.isin(y, ["1", "2"])
    X, y = X[keep], y[keep]
    models = [LogisticRegression().fit(X[i::2], y[i::2]) for i in range(2)]
    plain, secret = (SecureCombination(models, backend=b).fit() for b in ("plain", "fhe"))
    assert plain.predict(X[:5]).tolist() == secret.predict(X[:5]).tolist()


def test_estimators_are_fitted_on_the_same_classes(digits):
    X, y = digits
    model, other = LogisticRegression().fit(X, y), LogisticRegression().fit(X[y < "3"], y[y < "3"])
    with pytest.raises(ValueError, match=r"estimators\[1\] and estimators\[0\] have different"):
        SecureCombination([model, other]).fit()
    with pytest.raises(ValueError, match="at least two fitted classifiers, got 1"):
        SecureCombination([model]).fit()
    with pytest.raises(NotFittedError):
        SecureCombination([model, LogisticRegression()]).fit()
    with pytest.raises(NotFittedError):
        SecureCombination([model, model]).predict(X)


def test_without_the_library_there_is_a_remedy():
    code = (
        "import sys; sys.modules['concrete'] = None\n"
        "from skdp.secure import Identity, ScoreScale, Session\n"
        "parties = [Identity.generate(name).public for name in 'abcd']\n"
        "try: Session.create([0, 1], ScoreScale(0, 1), *parties[:2], parties[2:])\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'skdp[secure]'" in run.stdout
    assert "Python 3.11" in run.stdout


def test_the_library_is_imported_where_it_is_used():
    code = "import sys, skdp.secure; print('concrete' in sys.modules, 'torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]

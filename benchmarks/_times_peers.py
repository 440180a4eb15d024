"""Other models of times, each as one function of encoded rows, private and not.

A method is a function ``(X, y, X_test, epsilon, seed)`` that returns risks of the test rows and,
where it has them, a function from times to their survival, (n_test, n_times).

Cox, penalized Cox and boosting (scikit-survival) are not private: what is lost to privacy.

DP logistic: the release of two classes, event before half of the horizon or not, by this package;
rows that leave before without the event are left out. (epsilon, 1e-5) for a whole record.

DP-SGD: a linear model by the gradients of Breslow's partial likelihood within each batch, clipped
row by row, with the noise that Opacus finds for (epsilon, 1e-5). This favors it: the gradient of a
row depends on the others in its batch, so that clipping bounds less than the proof needs.
"""

import numpy as np
from _tables_peers import DELTA, noise_multiplier

# Sampling rate, epochs, step and clipping norm, the best of some in mean concordance over the
# tables, with test rows of further draws: in favor of the peer.
SGD = {
    "small": {4.0: (0.25, 30, 3.0, 0.3), 1.0: (0.25, 10, 1.0, 1.0), 0.5: (0.25, 10, 0.3, 1.0)},
    "large": {4.0: (0.1, 30, 3.0, 1.0), 1.0: (0.1, 10, 3.0, 1.0), 0.5: (0.1, 30, 1.0, 1.0)},
}
SMALL = 1000  # rows


def cox(X, y, X_test, epsilon, seed, alpha=1e-2):
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    return _of_sksurv(CoxPHSurvivalAnalysis(alpha=alpha), X, y, X_test)


def penalized(X, y, X_test, epsilon, seed):
    """Ridge with the strength of the best cross-validated concordance."""
    from sklearn.model_selection import GridSearchCV
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    search = GridSearchCV(CoxPHSurvivalAnalysis(), {"alpha": np.logspace(-1, 3, 5)}, cv=5)
    return _of_sksurv(search.fit(X, y).best_estimator_, X, y, X_test)


def boosting(X, y, X_test, epsilon, seed):
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis

    model = GradientBoostingSurvivalAnalysis(max_depth=2, subsample=0.5, random_state=seed)
    return _of_sksurv(model, X, y, X_test)


def _of_sksurv(model, X, y, X_test):
    model.fit(X, y)
    curves = model.predict_survival_function(X_test)

    def survival(times):
        low, high = curves[0].domain
        return np.array([curve(np.clip(times, low, high)) for curve in curves])

    return model.predict(X_test), survival


def logistic(X, y, X_test, epsilon, seed):
    from skdp import DPStatisticsSource

    half = y["time"].max() / 2
    before = y["event"] & (y["time"] <= half)
    known = before | (y["time"] > half)
    source = DPStatisticsSource(epsilon, DELTA, classes=[0, 1], model="linear")
    release = source.fit(X[known], before[known].astype(int)).release_
    return release.scores(X_test) @ [-1, 1], None


def sgd(X, y, X_test, epsilon, seed):
    rate, epochs, step, clip = SGD["small" if len(X) < SMALL else "large"][epsilon]
    noise = noise_multiplier(epsilon, rate, epochs, accountant="rdp")
    rng = np.random.default_rng(seed)
    Z, beta = X - 0.5, np.zeros(X.shape[1])
    for _ in range(int(epochs / rate)):
        batch = rng.random(len(Z)) < rate
        gradients = partial_gradients(Z[batch], y[batch], beta)
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))).sum(axis=0)
        total += noise * clip * rng.standard_normal(len(beta))
        beta += step * total / (rate * len(Z) * clip)
    return (X_test - 0.5) @ beta, None


def partial_gradients(Z, y, beta):
    """Return what each row adds to the gradient of the log partial likelihood of a batch."""
    order = np.argsort(-y["time"], kind="stable")
    weights = np.exp(Z[order] @ beta)
    # The hazard at each event, added up until a row leaves: its residual is that of a martingale.
    hazards = np.where(y["event"][order], 1 / np.maximum(np.cumsum(weights), 1e-12), 0.0)
    until = np.cumsum(hazards[::-1])[::-1]
    gradients = np.empty_like(Z)
    gradients[order] = Z[order] * (y["event"][order] - weights * until)[:, np.newaxis]
    return gradients


# By name: the function, and whether it is private.
METHODS = {
    "DP logistic": (logistic, True),
    "DP-SGD, Cox loss": (sgd, True),
    "Cox": (cox, False),
    "penalized Cox": (penalized, False),
    "boosting": (boosting, False),
}

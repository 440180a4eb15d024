"""A wide CDMMA classifier as one would first write it: the baseline of the speed figures.

Same model, same defaults, float64, one core; Φ by its factorised form, an eigenbasis for
the precision, k-means++ with one start, no batching of queries beyond blocks of 1,000.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import digamma
from sklearn.cluster import KMeans


def kernel(x, a, w):
    d = (x**2 * w).sum(1)[:, None] + (a**2 * w).sum(1) - 2 * (x * w) @ a.T
    return np.exp(-0.5 * np.maximum(d, 0))


def fit_mapping(x, Y, M, nu, s=0.01):
    w = 1 / np.ptp(x, axis=0) ** 2
    a = KMeans(M, n_init=1, random_state=0).fit(x).cluster_centers_
    K = kernel(a, a, w) + 1e-10 * np.eye(M)
    w1, w2 = w / (1 + w * s), w / (1 + 2 * w * s)
    psi = kernel(x, a, w1) * np.prod(1 + w * s) ** -0.5
    E = kernel(x, a, w2)
    Phi = np.prod(1 + 2 * w * s) ** -0.5 * kernel(a, a, 0.5 * (w - w2)) * (E.T @ E)
    L = np.linalg.cholesky(K)
    B = solve_triangular(L, solve_triangular(L, Phi, lower=True).T, lower=True)
    lam, Q = np.linalg.eigh(0.5 * (B + B.T))
    R = Q.T @ solve_triangular(L, psi.T @ Y, lower=True)
    r, energy, half = (R**2).sum(1), (Y**2).sum(), 0.5 * Y.size
    tau = 0.0 if np.isinf(nu) else (len(x) - lam.sum()) / (nu + M - 2)
    beta = et = ez = er = 1.0
    as_, bs = 2.0, 2.0
    for _ in range(100):
        c = tau + 1 / beta
        O = energy - 2 * (r / (lam + c)).sum() + (r * (lam + tau) / (lam + c) ** 2).sum()
        et = (1 + half) / (1 + ez * O / 2)
        az, bz = 1 + half + er, er * as_ / bs + et * O / 2
        ez = az / bz
        er = 1 / (as_ / bs * ez - digamma(as_) + np.log(bs) - digamma(az) + np.log(bz))
        as_, bs = 1 + er, 1 + er * ez
        old, beta = beta, et * ez
        if abs(beta - old) < 1e-4 * beta:
            break
    alpha = solve_triangular(L.T, Q @ (R / (lam + tau + 1 / beta)[:, None]), lower=False)
    return a, w1, np.prod(1 + w * s) ** -0.5, alpha


def predict_mapping(layer, x):
    a, w1, scale, alpha = layer
    return scale * kernel(x, a, w1) @ alpha


def fit_cdmma(Y, n, L):
    P = np.linalg.svd(Y - Y.mean(0), full_matrices=False)[2][:n]
    layers, out = [], Y
    for depth in range(L):
        x = out @ P[: max(n - depth, 1)].T
        layers.append(fit_mapping(x, Y, (len(Y) + 1) // 2, np.inf if depth else 2.1))
        out = predict_mapping(layers[-1], x)
    return P, layers


def error_cdmma(model, Y):
    P, layers = model
    best, out = np.inf, Y
    for depth, layer in enumerate(layers):
        out = predict_mapping(layer, out @ P[: max(len(P) - depth, 1)].T)
        best = np.minimum(best, ((Y - out) ** 2).sum(1))
    return best


def fit(X, y, n=20, L=5):
    models = []
    for c in np.unique(y):
        Y = X[y == c]
        S = -(-len(Y) // 1000)
        labels = KMeans(S, n_init=1, random_state=0).fit(Y).labels_
        models.append([fit_cdmma(Y[labels == s], n, L) for s in range(S)])
    return models


def predict(models, X):
    errors = [
        [np.min([error_cdmma(m, X[i : i + 1000]) for m in subsets], axis=0) for subsets in models]
        for i in range(0, len(X), 1000)
    ]
    return np.concatenate([np.argmin(e, axis=0) for e in errors])

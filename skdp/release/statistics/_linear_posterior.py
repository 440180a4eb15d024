"""stub"""

import numpy as np

from skdp.release.estimation import LinearScores


def linear_scores(statistics, terms):
    """Stub"""
    n = np.maximum(statistics.counts, 1)
    N = n.sum()
    s = statistics.contrast + np.outer(statistics.frequencies, statistics.total)
    m = s / n[:, None]
    W = statistics.second / N - (m.T * n / N) @ m
    W = W + np.eye(len(W)) * (0.05 + statistics.second_sd / N * np.sqrt(2 * len(W)))
    B = np.linalg.solve(W, m.T).T
    return LinearScores(B, np.log(n / N) - 0.5 * (B * m).sum(1), terms)

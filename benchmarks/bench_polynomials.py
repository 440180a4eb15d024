"""Polynomials in place of the sigmoid function in pCDBN: Figures 4 and 6 of Phan, Wu and Dou.

MNIST, the first 10,000 digits to train on and the first 5,000 test digits, by the private
convolutional deep belief network of Phan, Wu and Dou (2017), with batches of 1,000 and 15 epochs,
noise per batch or none. Each row has the largest error of the polynomial on [-1, 1] as well. Two
processes may fill the file together.
"""

import functools

import _bench
import numpy as np
import torch
from _tasks import mnist
from scipy.special import expit

from skdp.neural import PrivateCDBNClassifier
from skdp.neural._polynomials import sigmoid_coefficients

DRAWS, N_ROWS, N_TEST = 3, 10_000, 5_000
POLYNOMIALS = {"chebyshev": (1, 3, 5, 7), "taylor": (1, 5), "piecewise": (1,)}
LEVELS = {"inf": "no noise", "2": "ε = 2"}
SETTINGS = {"image_shape": (28, 28), "batch_size": 1000, "n_epochs": 15, "noise_per": "batch"}


digits = functools.cache(mnist)


def measure(cells):
    """Return a cell with the error of its polynomial, the sensitivity, accuracy and seconds."""
    X, y, X_test, y_test = digits()
    [cell] = cells
    polynomial = {"approximation": cell["model"], "degree": cell["variant"]}
    settings = {**SETTINGS, **polynomial, "random_state": cell["draw"]}
    model = PrivateCDBNClassifier(float(cell["level"]), **settings)
    with _bench.Timer() as fit:
        model.fit(X[:N_ROWS], y[:N_ROWS])
    x = np.linspace(-1, 1, 10_001)
    curve = np.polynomial.polynomial.polyval(x, sigmoid_coefficients(**polynomial))
    row = {
        **cell,
        "noise": LEVELS[cell["level"]],
        "error": np.abs(curve - expit(x)).max(),
        "sensitivity": model.sensitivities_[0],
        "accuracy": 100 * model.score(X_test[:N_TEST], y_test[:N_TEST]),
        "fit_seconds": fit.seconds,
        "settings": settings,
    }
    return [row]


def groups(draws):
    for draw in range(draws):
        for level in LEVELS:
            for model, degrees in POLYNOMIALS.items():
                for degree in degrees:
                    cell = {"case": "mnist", "level": level, "model": model, "variant": degree}
                    yield [{**cell, "draw": draw}]


if __name__ == "__main__":
    options = _bench.options_of(__doc__, draws=DRAWS)
    torch.set_num_threads(1)
    _bench.complete("polynomials", groups(options.draws), measure)

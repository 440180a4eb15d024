"""
Private classifiers of handwritten digits
=========================================

A source owner who may not show its digits trains a classifier on a noisy copy instead.
How much accuracy does a privacy level ε cost, and how much of it depends on the noise?

The example runs on MNIST where it is at hand (the environment variable ``SKDP_DATA`` names
a folder with ``mnist.npz``), and otherwise on the 8 × 8 digits that scikit-learn ships. It
prints a table and writes the picture ``private_digits.png``.

ε is *per pixel*: two data sets that differ in one pixel by at most 1 (the whole range of
grey) give hard-to-distinguish noisy copies. Labels are not protected. A whole image is
covered only by the sum over its pixels, which the fitted ``guarantee_`` states; the
figures below must be read with that in mind.
"""

# %%
# Data: pixels in [0, 1], so that a sensitivity of 1 covers any change of a pixel.

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skdp import GaussianDPNoise, OptimalDPNoise, WideCDMMAClassifier
from skdp.datasets import fetch_mnist


def load():
    """MNIST from the local folder (a tenth of it, for time's sake), or the small digits."""
    folder = os.environ.get("SKDP_DATA")
    if folder and (Path(folder) / "mnist.npz").is_file():
        X, y = fetch_mnist(subset="test", return_X_y=True)
        return "MNIST, 9,000 training and 1,000 test digits", 28, X, y, 1000
    X, y = load_digits(return_X_y=True)
    return "scikit-learn's digits, 1,347 training and 450 test", 8, X / 16, y, 450


title, side, X, y, n_test = load()
X, X_test, y, y_test = train_test_split(X, y, test_size=n_test, random_state=0, stratify=y)
print(title)

# %%
# The model without privacy is the baseline. Noise goes in front of it in a pipeline, with
# ``perturb="fit"``: training rows are perturbed, queries are not. The noise itself has no
# seed, because a seed that others can guess would undo the guarantee; the table changes a
# little from run to run.

classifier = WideCDMMAClassifier(n_layers=1, n_jobs=-1, random_state=0)
clean = classifier.fit(X, y).score(X_test, y_test)

epsilons = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
noises = {
    "optimal": OptimalDPNoise(perturb="fit"),
    "Gaussian": GaussianDPNoise(perturb="fit"),
}
accuracy = {name: [] for name in noises}
magnitude = {name: [] for name in noises}

print(f"\nnot private: {clean:.1%}\n")
print(f"{'':>8}{'accuracy':>20}{'expected |noise|':>24}{'':>6}one record")
print(
    f"{'epsilon':>8}{'optimal':>10}{'Gaussian':>10}{'optimal':>14}{'Gaussian':>10}{'epsilon':>16}"
)
for epsilon in epsilons:
    for name, noise in noises.items():
        private = make_pipeline(noise.set_params(epsilon=epsilon), classifier).fit(X, y)
        accuracy[name].append(private.score(X_test, y_test))
        magnitude[name].append(noise.expected_magnitude_)
    record = noises["optimal"].guarantee_.to_record().epsilon
    print(
        f"{epsilon:>8g}"
        + "".join(f"{accuracy[name][-1]:>10.1%}" for name in noises)
        + f"{'':>4}"
        + "".join(f"{magnitude[name][-1]:>10.3f}" for name in noises)
        + f"{record:>16g}"
    )

print(f"\nWhat the last optimal model guarantees:\n{noises['optimal'].guarantee_}")

# %%
# Accuracy against ε, and one digit as the classifier saw it at each level.

figure = plt.figure(figsize=(8, 6), layout="constrained")
upper, lower = figure.subfigures(2, 1, height_ratios=[3, 1])

axes = upper.subplots()
axes.axhline(clean, color="0.5", linestyle="--", label="not private")
for name, marker in zip(noises, "os", strict=True):
    label = f"{name} noise, δ = {noises[name].delta:g}"
    axes.plot(epsilons, accuracy[name], marker=marker, label=label)
axes.set_xscale("log", base=2)
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.set_xlabel("ε for one pixel; further left is more private")
axes.set_ylabel("accuracy on clean test digits")
axes.set_title(title)
axes.legend()

pictures = lower.subplots(1, len(epsilons) + 1)
pictures[0].imshow(X[0].reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
pictures[0].set_title("the original", fontsize="small")
for picture, epsilon in zip(pictures[1:], epsilons, strict=True):
    noisy = OptimalDPNoise(epsilon).fit_transform(X[:1])
    picture.imshow(np.reshape(noisy, (side, side)), cmap="gray_r", vmin=0, vmax=1)
    picture.set_title(f"ε = {epsilon:g}", fontsize="small")
for picture in pictures:
    picture.set_axis_off()

figure.savefig("private_digits.png", dpi=120)
print("\nwrote private_digits.png")

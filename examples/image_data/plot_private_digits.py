"""
How much accuracy does noise on every pixel cost?
=================================================

The owner of digits that nobody may see trains a classifier on a noisy copy. How accurate is it on
digits without noise, for three noises of the package and several ε?

ε is *per pixel*: two data sets that differ in one pixel by at most 1, the whole range of gray,
give noisy copies that are hard to tell apart. Labels are not protected. A whole image is covered
only by the sum over its pixels, 64 times ε, which the fitted ``guarantee_`` states; for whole
images see :ref:`sphx_glr_auto_examples_image_data_plot_image_release.py`.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise, WideCDMMAClassifier

parser = argparse.ArgumentParser(description="Noise on every pixel.")
parser.add_argument("--draws", type=int, default=4, help="noisy copies for each noise and ε")
options = parser.parse_args()

# %%
# Pixels are in [0, 1], so that a sensitivity of 1 covers any change of a pixel. There are two
# baselines without noise: the same classifier, and a tuned support-vector machine.

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, test_size=450, random_state=0, stratify=y)
papers = {"n_components": 20, "error_scale": "shared"}
classifier = WideCDMMAClassifier(n_layers=1, random_state=0, **papers)
same = classifier.fit(X, y).score(X_test, y_test)
tuned = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": ["scale", 0.03, 0.3]}).fit(X, y)
best = tuned.score(X_test, y_test)
print(f"not private: {same:.1%}; support vectors, not private: {best:.1%}")

# %%
# Noise goes in front of the classifier in a pipeline, with ``perturb="fit"``: training rows are
# perturbed, queries are not. The noise has no seed, because a seed that others can guess would
# undo the guarantee, so results vary from run to run.

epsilons = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
noises = {
    "optimal": OptimalDPNoise(bounds=(0, 1), perturb="fit"),
    "staircase": StaircaseDPNoise(bounds=(0, 1), perturb="fit"),
    "Gaussian": GaussianDPNoise(bounds=(0, 1), perturb="fit"),
}
accuracy: dict = {name: [] for name in noises}
magnitude: dict = {name: [] for name in noises}
for name, noise in noises.items():
    for epsilon in epsilons:
        private = make_pipeline(noise.set_params(epsilon=epsilon), classifier)
        found = [private.fit(X, y).score(X_test, y_test) for _ in range(options.draws)]
        accuracy[name].append(found)
        magnitude[name].append(noise.expected_magnitude_)

print(f"\n{'epsilon':>8}" + "".join(f"{name:>15}{'E|noise|':>10}" for name in noises))
for k, epsilon in enumerate(epsilons):
    cells = (
        f"{np.mean(accuracy[name][k]):>8.1%} ± {np.std(accuracy[name][k]):.1%}"
        f"{magnitude[name][k]:>9.3f}"
        for name in noises
    )
    print(f"{epsilon:>8g}" + " ".join(cells))

print(f"\nWhat the last optimal model guarantees:\n{noises['optimal'].guarantee_}")

# %%
# Accuracy over ε, and one digit as the classifier saw it at each level. The staircase is the
# smallest noise at every ε. Gaussian noise needs δ > 0 and is the largest.

figure = plt.figure(figsize=(6, 5.6), layout="constrained")
upper, lower = figure.subfigures(2, 1, height_ratios=[3, 1])
axes = upper.subplots()
axes.axhline(100 * best, color="0.3", linestyle="--", label="support vectors, not private")
axes.axhline(100 * same, color="0.3", linestyle=":", label="this classifier, not private")
styles = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "D"))  # colors of Okabe and Ito
for (name, found), (color, marker) in zip(accuracy.items(), styles, strict=True):
    mean, deviation = 100 * np.mean(found, axis=1), 100 * np.std(found, axis=1)
    label = f"{name} noise, δ = {noises[name].delta:g}"
    axes.errorbar(epsilons, mean, deviation, color=color, marker=marker, capsize=4, label=label)
axes.set_xscale("log", base=2)
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.set(xlabel="ε of one pixel (log scale)", ylabel="accuracy, %", ylim=(0, 103))
axes.set_title(f"Digits; mean and std of {options.draws} noisy copies")
axes.legend(loc="lower right")

images = lower.subplots(1, len(epsilons) + 1)
for image, epsilon in zip(images, [*epsilons, None], strict=True):
    noisy = (
        X[:1] if epsilon is None else OptimalDPNoise(epsilon, bounds=(0, 1)).fit_transform(X[:1])
    )
    image.imshow(np.reshape(noisy, (8, 8)), cmap="gray_r", vmin=0, vmax=1)
    image.set_title("no noise" if epsilon is None else f"ε = {epsilon:g}")
    image.set_axis_off()
figure.set_label(
    "Accuracy over ε for three noises: all rise towards the lines without privacy, Gaussian "
    "noise last. Below, one digit, unreadable at ε = 0.5 and clear at 16."
)
plt.show()

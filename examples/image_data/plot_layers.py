"""
What do the layers of a conditionally deep autoencoder see?
===========================================================

:class:`~skdp.CDMMA` is a stack of autoencoders. Each reads the output of the one below it along
one principal direction less, and so sees fewer details; the output for a row is that of the layer
that reproduces the row best. Figures 4 to 6 of Kumar and Moser (1.3 to 1.5 of SERUMS D3.3, 2022)
show an eight in all layers, and as autoencoders with fewer directions and with fewer inducing
points see it. They learn from 1,000 digits of 28 × 28 pixels; here it is the 174 eights of 8 × 8
pixels that scikit-learn has. Nothing is private here: noise would hide what a layer does.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skdp import CDMMA

X, y = load_digits(return_X_y=True)
eights = X[y == 8] / 16
digit, others = eights[:1], eights[1:]  # one that was not learned from

# %%
# Twenty layers: the first sees 20 principal directions, the last a single one. What the layers
# return is ``layer_outputs``. Other autoencoders have five layers, with fewer directions or with a
# smaller fraction of the rows as inducing points.

settings = {"n_components": 20, "n_inducing": 0.5, "n_layers": 5, "random_state": 0}
deep = CDMMA(**{**settings, "n_layers": 20}).fit(others)
layers, sizes = [1, 5, 10, 15, 18, 19, 20], [20, 15, 10, 5, 3, 2, 1]
fractions = [0.5, 0.2, 0.1, 0.07, 0.05, 0.03, 0.02]


def seen(**changes):
    """Return the digit as another autoencoder reconstructs it."""
    return CDMMA(**{**settings, **changes}).fit(others).reconstruct(digit)


outputs = deep.layer_outputs(digit)
rows = {
    "layer": (layers, [outputs[k - 1] for k in layers]),
    "n_components": (sizes, [seen(n_components=n) for n in sizes]),
    "n_inducing": (fractions, [seen(n_inducing=fraction) for fraction in fractions]),
}

# %%
# How far each is from the digit, and from the mean of the eights that were learned: the root mean
# square over pixels. The deeper the layer, the nearer the output to that mean, a typical eight.


def distance(images, other):
    return [np.sqrt(np.mean((image - other) ** 2)) for image in images]


mean = others.mean(axis=0)
for name, (values, images) in rows.items():
    print(f"{name:<13}" + "".join(f"{value:>7g}" for value in values))
    print(f"{'  to digit':<13}" + "".join(f"{d:>7.3f}" for d in distance(images, digit)))
    print(f"{'  to mean':<13}" + "".join(f"{d:>7.3f}" for d in distance(images, mean)))

# %%
# One row of images for each: details go first, the shape of an eight stays. The sequence of sizes
# in self-training (:class:`~skdp.SelfTrainingSchedule`) goes the other way, from few components
# to many, so that first guesses rest on shapes and later ones on details.

titles = ("layer", "principal directions", "inducing points, as a fraction of the rows")
figure = plt.figure(figsize=(6, 4.4), layout="constrained")
for part, title, (values, images) in zip(
    figure.subfigures(3, 1), titles, rows.values(), strict=True
):
    part.suptitle(title, fontsize=11)
    names = ["digit", *(f"{value:g}" for value in values)]
    for axes, name, image in zip(part.subplots(1, 8), names, [digit, *images], strict=True):
        axes.imshow(np.reshape(image, (8, 8)), cmap="gray_r", vmin=0, vmax=1)
        axes.set_title(name, fontsize=10)
        axes.set_axis_off()
figure.set_label(
    "Three rows of images of an eight, by layers, by fewer principal directions and by fewer "
    "inducing points: from left to right, its details give way to a typical eight."
)
plt.show()

"""
How do participants combine models that nobody may see?
=======================================================

Three participants learned digits, each from its own third of the rows. None shows its model or its
scores. For a query each participant encrypts its scores. A server finds the class with the best
score of any participant, under encryption, and a key holder decrypts that class and nothing else.

How much more accurate is the combination than one participant? The plain backend takes the same
steps without encryption and gives the same answers. If concrete-python is installed
(``pip install 'skdp[secure]'``), the example also answers three queries under encryption.
"""

import importlib.util
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skdp import CDMMAClassifier
from skdp.secure import SecureCombination

# %%
# Each participant trains on its own rows. Scores are minus squared distances between a row and its
# reconstruction. The participants agree beforehand that scores lie between −25 and 0. Rows are
# divided at random, five times.

X, y = load_digits(return_X_y=True)
X, SCORES = X / 16, {"method": "decision_function", "scale": (-25.0, 0.0)}
accuracy: dict = {"one participant": [], "three combined": [], "one model of all rows": []}
for seed in range(5):
    order = np.random.RandomState(seed).permutation(len(X))
    train, queries, answers = order[:300], X[order[300:]], y[order[300:]]

    def model_of(rows):
        settings = {"n_layers": 2, "error_scale": "shared", "random_state": 0}
        return CDMMAClassifier(**settings).fit(X[rows], y[rows])

    models = [model_of(train[i::3]) for i in range(3)]
    together = SecureCombination(models, **SCORES).fit()
    accuracy["one participant"] += [model.score(queries, answers) for model in models]
    accuracy["one model of all rows"].append(model_of(train).score(queries, answers))
    accuracy["three combined"].append(together.score(queries, answers))
for name, values in accuracy.items():
    print(f"{name:<24}{np.mean(values):>8.1%} ± {np.std(values):.1%}")

# %%
# The same under encryption. The first query takes longer: keys are unpacked.

if importlib.util.find_spec("concrete") is None:
    print("concrete-python is not installed: no query is encrypted here")
else:
    encrypted = SecureCombination(models, backend="fhe", **SCORES).fit()
    for i in range(3):
        start = time.perf_counter()
        [found] = encrypted.predict(queries[i : i + 1])
        seconds = time.perf_counter() - start
        [expected] = together.predict(queries[i : i + 1])
        print(f"query {i}: encrypted {found}, plain {expected}, {seconds:.1f} s")

# %%
# The combination is far more accurate than one participant. One model of all rows, which nobody
# may train here, is better still.

figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
for row, values in enumerate(accuracy.values()):
    mean, deviation = 100 * np.mean(values), 100 * np.std(values)
    axes.errorbar(mean, row, xerr=deviation, fmt="o", color="#0072B2", capsize=4)
axes.set_yticks(range(3), list(accuracy))
axes.set(ylim=(2.5, -0.5), xlabel="accuracy on queries, % (mean and std of 5 divisions)")
figure.set_label(
    "Accuracy of one participant, of three combined, which is better, and of one model of all "
    "rows, which is best."
)
plt.show()

"""
Three participants, and a server that sees only ciphertexts
===========================================================

Three participants learned digits, each from its own third, and nobody hands out a model or a
score. Each encrypts its scores of a query; a server takes, under encryption, the minimum over
participants for each class and the class with the least of these; the key holder decrypts that
class alone.

The plain backend has the same roles and files without encryption: it shows what the combination
answers. Where concrete-python is installed (``pip install 'skdp[secure]'``), three queries are
answered under encryption too, and timed. It prints a table and writes the picture
``secure_combination.png``.
"""

# %%
# Three local models, each on its own rows. Scores are minus squared distances from the rows'
# reconstructions; that they lie between −25 and 0 for pixels in [0, 1] is agreed beforehand.

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import importlib.util
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from skdp import CDMMAClassifier
from skdp.secure import SecureCombination

X, y = load_digits(return_X_y=True)
X = X / 16
train, queries, answers = slice(0, 900), X[900:], y[900:]
models = [
    CDMMAClassifier(n_layers=2, random_state=0).fit(X[train][i::3], y[train][i::3])
    for i in range(3)
]
SCORES = {"method": "decision_function", "scale": (-25.0, 0.0)}

# %%
# Alone and together. The combination is a way to use all three models, and on these digits it
# is better than any of them.

together = SecureCombination(models, **SCORES).fit()
accuracy = {f"participant {i}": model.score(queries, answers) for i, model in enumerate(models)}
accuracy["combined"] = together.score(queries, answers)
for name, value in accuracy.items():
    print(f"{name:>15}{value:>10.1%}")

# %%
# The same under encryption. The first query takes longer: keys are unpacked.

if importlib.util.find_spec("concrete") is None:
    print("\nconcrete-python is not installed: no query is encrypted here")
else:
    encrypted = SecureCombination(models, backend="fhe", **SCORES).fit()
    for i in range(3):
        start = time.perf_counter()
        [found] = encrypted.predict(queries[i : i + 1])
        seconds = time.perf_counter() - start
        [expected] = together.predict(queries[i : i + 1])
        print(f"query {i}: encrypted {found}, plain {expected}, {seconds:.1f} s")

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
bars = axes.bar(list(accuracy), [100 * value for value in accuracy.values()])
axes.bar_label(bars, fmt="%.1f")
axes.set_ylim(0, 100)
axes.set_ylabel("accuracy on queries, %")
axes.set_title("Three local models of digits, alone and combined")
figure.savefig("secure_combination.png", dpi=120)
print("\nwrote secure_combination.png")

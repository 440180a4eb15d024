"""
What must a data protection officer know about a release?
=========================================================

Before a release leaves a hospital, its data protection officer reads one page: the guarantee in
words and numbers, the columns and their public bounds, what is not protected, who was trusted, and
what all releases of these rows have spent.
"""

# %%
# A hospital makes a release of its patients by a schema that all hospitals share. The ledger keeps
# the account of its rows.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from skdp import DPStatisticsSource, TabularEncoder
from skdp.datasets import load_heart_disease
from skdp.privacy import PrivacyLedger
from skdp.release import report_page

heart = load_heart_disease()
cleveland = heart.hospital == "Cleveland"
folder = Path(tempfile.mkdtemp())
ledger = PrivacyLedger(epsilon=4, delta=1e-5, path=folder / "budget.json")
encoder = TabularEncoder(heart.schema)
source = DPStatisticsSource(epsilon=2.0, encoder=encoder, ledger=ledger)
source.fit(heart.data[cleveland], heart.target[cleveland])
source.release_.save(folder / "cleveland.skdp")

# %%
# The page states the digest of the file, so a reader of both can check that they belong together.
# The command line writes the same page:
#
# .. code-block:: text
#
#    skdp report cleveland.skdp --owner "Cleveland clinic" --ledger budget.json -o report.html

page = report_page(folder / "cleveland.skdp", owner="Cleveland clinic", ledger=ledger)
page.save(folder / "report.html")
page

# %%
# The two numbers in its first lines follow from the noise. An attacker who knows all other
# patients guesses whether this patient is included:

guarantee = source.release_.guarantee
print(f"right at even odds, at most: {guarantee.best_guess():.1%}")
print(f"named rightly where 1 in 100 is there, at most: {guarantee.precision_at(0.01):.1%}")

# %%
# An officer who decides on ε may compare the same two numbers for other values. This fits and
# spends nothing: ``guarantee_for`` states what a fit would guarantee.

epsilons = [0.1, 0.3, 1.0, 3.0, 10.0]
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
guarantees = [
    DPStatisticsSource(epsilon, encoder=encoder).guarantee_for(
        heart.data[cleveland], heart.target[cleveland]
    )
    for epsilon in epsilons
]
axes.plot(
    *(epsilons, [100 * each.best_guess() for each in guarantees], "o-"),
    **{"color": "#0072B2", "label": "right at even odds"},  # colors of Okabe and Ito
)
axes.plot(
    *(epsilons, [100 * each.precision_at(0.01) for each in guarantees], "s-"),
    **{"color": "#D55E00", "label": "named rightly, where 1 in 100 is there"},
)
axes.set(xscale="log", xlabel="ε of a record (log scale)", ylabel="at most, %", ylim=(0, 103))
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.minorticks_off()
axes.legend()
figure.set_label(
    "How often somebody who knows everything else can be right, over ε: at even odds from about "
    "50% at ε = 0.1 to 84% at ε = 10; where 1 in 100 is there from 1% to 32%."
)
plt.show()

# %%
# A notebook shows guarantees, ledgers and releases in the same style.

guarantee

# %%

ledger

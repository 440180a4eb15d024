"""
What does a data-protection officer have to know of a release?
==============================================================

Before a release leaves a hospital, its data-protection officer has to know what it is and what it
guarantees. One page says so: the guarantee in plain words and in numbers, the columns and their
public bounds, what is not protected, who was trusted, and what all releases of these rows spent.
"""

# %%
# A hospital makes a release of its patients by a schema that all hospitals share. The ledger keeps
# the account of its rows.

import tempfile
from pathlib import Path

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
# The page is made from the file, so that it has its digest: whoever gets both can tell that they
# belong together. The command line writes the same page:
#
# .. code-block:: text
#
#    skdp report cleveland.skdp --owner "Cleveland clinic" --ledger budget.json -o report.html

page = report_page(folder / "cleveland.skdp", owner="Cleveland clinic", ledger=ledger)
page.save(folder / "report.html")
page

# %%
# The two numbers in its first lines are those of this very noise. Somebody who knows all other
# patients, and everything of this one, guesses whether he or she is among them:

guarantee = source.release_.guarantee
print(f"right at even odds, at most: {guarantee.best_guess():.1%}")
print(f"named rightly where 1 in 100 is there, at most: {guarantee.precision_at(0.01):.1%}")

# %%
# A notebook shows guarantees, ledgers and releases in the same style.

guarantee

# %%

ledger

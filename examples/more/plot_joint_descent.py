"""
Three offices learn one model, with the noise of one release
============================================================

Three offices with 1,500 people each learn a model together, by gradient descent. None shows rows
or gradients: each adds a part of the noise, and masks that cancel in the sum of all three. How
accurate is that compared with a merge of three separate releases?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from skdp import DPStatisticsSource, Release
from skdp.datasets import load_adult
from skdp.federated import SecureSum, SecureSumOwner
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity

people = load_adult()
order = np.random.RandomState(0).permutation(len(people.target))
*offices, later = np.split(order[:14_500], [1500, 3000, 4500])
names = ["north", "east", "south"]
rows = {n: (people.data.iloc[i], people.target[i]) for n, i in zip(names, offices, strict=True)}

# %%
# All agree on a plan. Each office is charged once, with its first answer. An organizer makes each
# request from the answers to the last one, one for each step. If an office that has joined does
# not answer, ``combine`` names it and makes no release.

identities = [Identity.generate(name) for name in names]
public = [identity.public for identity in identities]
plan = SecureSum.create(people.schema, public, epsilon=1.0, model="gradients")
owners = [
    SecureSumOwner(plan, identity, rows[identity.name], ledger=PrivacyLedger(1.0, 1e-5))
    for identity in identities
]
request, n_rounds = plan.combine([owner.join() for owner in owners]), 0
while not isinstance(request, Release):
    request = plan.combine([request, *(owner.answer(request) for owner in owners)])
    n_rounds += 1
print(f"{n_rounds} rounds; spent: {[owner.ledger.total.epsilon for owner in owners]}")

# %%
# The same offices publish separate releases. In their merge, the noise of all three adds up.

source = DPStatisticsSource(epsilon=1.0, encoder=people.schema)
single = [source.fit(*rows[name]).release_ for name in names]
releases = {"one office": single[0], "merged": Release.merge(single, disjoint=True)}
areas = {}
for name, release in {**releases, "together": request}.items():
    scores = release.predict_proba(people.data.iloc[later])[:, 1]
    areas[name] = roc_auc_score(people.target[later] == release.classes[1], scores)
    print(f"{name:<12}{areas[name]:.3f}")
figure, axes = plt.subplots(figsize=(5, 2), layout="constrained")
axes.barh(list(areas), list(areas.values()))
axes.set(xlim=(0.5, 1), xlabel="AUC of 10,000 other people, ε = 1")
figure.set_label("AUC of one release, of the merge of three, and of the joint descent.")
plt.show()

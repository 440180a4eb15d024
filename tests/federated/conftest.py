"""Owners of a small secure sum, and of releases over frameworks."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource
from skdp.federated import SecureSum, SecureSumOwner
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity

SCHEMA = {
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
    "age": {"type": "numeric", "low": 20, "high": 90},
}
CLASSES = ["ill", "well"]
EXAMPLE = Path(__file__).parents[2] / "examples" / "federation"
SECRET = "patient 17 has cholesterol 603"


def load(owner):
    """What the loader of an owner does in the examples; of one of them it fails."""
    if owner == "south":
        raise ValueError(SECRET)
    rng = np.random.RandomState(len(owner))
    X, y = rng.rand(200, 2), rng.randint(2, size=200)
    return DPStatisticsSource(classes=[0, 1]).fit(X + y[:, np.newaxis] / 3, y)


def private_table(seed, n=60):
    """Return private rows and labels."""
    rng = np.random.RandomState(seed)
    ill = rng.rand(n) < 0.4
    frame = pd.DataFrame(
        {"age": 50 + 15 * ill + 10 * rng.randn(n), "ward": rng.choice(["A", "B", "C"], n)}
    )
    return frame, np.where(ill, *CLASSES)


def people(seed):
    """Return the people of private rows, of three rows each."""
    return [f"{seed} {i // 3}" for i in range(60)]


class Owners:
    """Owners of a plan, each with an identity, a ledger and rows."""

    def __init__(self, n=4, *, identities=None, budget=1.0, table=private_table, **settings):
        self.identities = identities or [Identity.generate(f"ward {i}") for i in range(n)]
        public = [identity.public for identity in self.identities]
        settings = {"schema": {"columns": SCHEMA, "classes": CLASSES, "version": 1}, **settings}
        self.plan = SecureSum.create(owners=public, **settings)
        self.budget, self.table = budget, table
        self.owners = [self.owner(i) for i in range(len(public))]
        self.names = [identity.name for identity in self.identities]

    def owner(self, i, rows=None):
        """Return an owner whose ledger allows for one release, or for a larger budget."""
        ledger = PrivacyLedger(self.budget, 1e-4)
        rows = partial(self.accumulator, i) if rows is None else rows
        return SecureSumOwner(self.plan, self.identities[i], rows, ledger=ledger)

    def accumulator(self, i):
        """Return the rows of an owner."""
        by_person = self.plan.privacy_unit == "group"
        accumulator = self.plan.accumulator()
        accumulator.add(*self.table(i), groups=people(i) if by_person else None)
        return accumulator

    def join(self):
        """Return the keys of all owners."""
        return [owner.join(disjoint=self.plan.disjoint) for owner in self.owners]

    def answer(self, request):
        """Return the answers of all owners."""
        return [owner.answer(request) for owner in self.owners]

    def course(self):
        """Return all keys, both requests with their answers, and the release."""
        combine, keys = self.plan.combine, self.join()
        first = combine(keys)
        first_answers = self.answer(first)
        second = combine([first, *first_answers])
        second_answers = self.answer(second)
        return SimpleNamespace(
            keys=keys,
            requests=[first, second],
            answers=[first_answers, second_answers],
            release=combine([second, *second_answers]),
        )

    @property
    def entries(self):
        """How many entries the ledger of each owner has."""
        return [len(owner.ledger.entries) for owner in self.owners]


@pytest.fixture
def owners(quick_noise):
    return Owners()

"""Owners of a small secure sum."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skdp.federated import SecureSum, SecureSumOwner
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity

SCHEMA = {
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
    "age": {"type": "numeric", "low": 20, "high": 90},
}
CLASSES = ["ill", "well"]


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
    """Owners of a plan, each with an identity, a folder, a ledger and rows."""

    def __init__(
        self, folder, n=4, *, identities=None, budget=1.0, table=private_table, **settings
    ):
        self.identities = identities or [Identity.generate(f"ward {i}") for i in range(n)]
        public = [identity.public for identity in self.identities]
        settings = {"schema": {"columns": SCHEMA, "classes": CLASSES, "version": 1}, **settings}
        self.plan = SecureSum.create(owners=public, **settings)
        self.budget, self.table = budget, table
        self.owners = [self.owner(i, folder / f"{i}") for i in range(len(public))]
        self.names = [identity.name for identity in self.identities]
        self.rows = [self.accumulator(i) for i in range(len(public))]

    def owner(self, i, folder, plan=None):
        """Return an owner whose ledger allows for one release, or for a larger budget."""
        ledger = PrivacyLedger(self.budget, 1e-4)
        return SecureSumOwner(plan or self.plan, self.identities[i], folder, ledger=ledger)

    def accumulator(self, i):
        """Return the rows of an owner."""
        by_person = self.plan.privacy_unit == "group"
        accumulator = self.plan.accumulator()
        accumulator.add(*self.table(i), groups=people(i) if by_person else None)
        return accumulator

    def join(self):
        """Return the keys of all owners."""
        return [owner.join() for owner in self.owners]

    def answer(self, request):
        """Return the answers of all owners."""
        return [o.answer(request, rows) for o, rows in zip(self.owners, self.rows, strict=True)]

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
def owners(tmp_path, quick_noise):
    return Owners(tmp_path)


def load_table(owner, plan):
    """What the loader of an owner does: rows, or for one of them an accumulator."""
    rows = private_table(len(owner), n=200)
    if owner != "east":
        return rows
    accumulator = plan.accumulator()
    accumulator.add(*rows)
    return accumulator


@pytest.fixture
def consortium(tmp_path, monkeypatch):
    """A plan of three owners, of whom two suffice, and what each of them configures, in files."""
    monkeypatch.setitem(sys.modules, "hospital_of_a_sum", SimpleNamespace(load=load_table))
    identities = {name: Identity.generate(name) for name in ("east", "north", "west")}
    public = [identity.public for identity in identities.values()]
    schema = {"columns": SCHEMA, "classes": CLASSES, "version": 1}
    plan = SecureSum.create(schema, public, epsilon=4.0, least_owners=2)
    path = tmp_path / "plan.json"
    plan.save(path)
    configured = {}
    for name, identity in identities.items():
        identity.save(tmp_path / f"{name}.id")
        PrivacyLedger(4.0, 1e-5, path=tmp_path / f"{name}.json")
        configured[name] = {
            "plan": str(path),
            "digest": plan.digest,
            "identity": str(tmp_path / f"{name}.id"),
            "folder": str(tmp_path / name),
            "ledger": str(tmp_path / f"{name}.json"),
        }

    def spent(name):
        return len(PrivacyLedger.open(configured[name]["ledger"]).entries)

    return SimpleNamespace(plan=plan, path=str(path), configured=configured, spent=spent)

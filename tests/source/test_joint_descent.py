"""The descent of several owners: that of all their rows, but for the noise."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from skdp import DPStatisticsSource
from skdp.noise import GaussianQueries, _queries
from skdp.source import JointSums, _gradient_model, _joint_sums

SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "dose": {"type": "numeric", "low": 0, "high": 10, "missing": True},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}
OUTCOMES = {
    "two classes": {"classes": ["ill", "well"]},
    "three classes": {"classes": ["ill", "unsure", "well"]},
    "number": {"outcome": {"type": "number", "low": 0, "high": 1}},
    "event": {"outcome": {"type": "event", "horizon": 100}},
}
pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:(This release|Many values)"),
]


@pytest.fixture(autouse=True)
def few_steps(monkeypatch, no_doubts):
    """Without noise there would be 200."""
    monkeypatch.setattr(_gradient_model, "MOST_STEPS", 6)
    monkeypatch.setattr(_joint_sums, "warn_of_doubt", lambda release: None)


@pytest.fixture
def noise(monkeypatch):
    """Normal noise, quickly drawn, times a factor that tests can change; its draws are kept."""
    settings = SimpleNamespace(factor=1.0, drawn=[])

    def sampler(deviation):
        def sample(n, bits):
            normal = np.random.default_rng(bits.draw(2)).standard_normal(n)
            drawn = np.rint(settings.factor * deviation * normal).astype(np.int64)
            settings.drawn.append(drawn)
            return drawn

        return SimpleNamespace(sample=sample)

    monkeypatch.setattr(_queries, "_sampler", sampler)
    return settings


def source(kind, epsilon=np.inf, unit="record"):
    schema = {"version": 1, "columns": SCHEMA, **OUTCOMES[kind]}
    return DPStatisticsSource(epsilon, encoder=schema, privacy_unit=unit, model="gradients")


def table(kind, n, unit="record", seed=0):
    """Return X, y and, of people, groups."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "age": rng.uniform(-5, 110, n),
            "dose": np.where(rng.rand(n) < 0.2, np.nan, rng.uniform(0, 11, n)),
            "ward": rng.choice(["A", "B", "C", "D"], n),
        }
    )
    signal = X["age"] / 50 - 1 + rng.normal(0, 0.5, n)
    if kind == "number":
        y = np.clip(0.5 + signal / 4, 0, 1)
    elif kind == "event":
        y = pd.DataFrame({"event": rng.rand(n) < 0.7, "time": 50 * np.exp(-signal)})
    else:
        y = np.array(OUTCOMES[kind]["classes"])[
            np.digitize(signal, [0] if kind[1] == "w" else [-0.5, 0.5])
        ]
    groups = np.repeat(np.arange(n), rng.randint(1, 5, n))[:n]
    return (X, y, groups) if unit == "group" else (X, y)


def part(rows, here):
    return tuple(of[here] for of in rows)


def split(rows, n_owners):
    """Return the rows of owners, where all of a person are at one."""
    unit = np.arange(len(rows[0])) if len(rows) == 2 else rows[2]
    return [part(rows, unit % n_owners == i) for i in range(n_owners)]


def totals_of(sums, rows):
    """Return the sums of all owners' answers to each round, which masks have passed."""
    totals, exact, rng = [], [sums.exact(of) for of in rows], np.random.RandomState(1)
    while asked := sums.next_round(totals):
        masks = rng.randint(0, 2**64, (len(rows), asked.size), dtype=np.uint64)
        masks[-1] = -masks[:-1].sum(axis=0, dtype=np.uint64)
        answers = [sums.answer(totals, e, m) for e, m in zip(exact, masks, strict=True)]
        totals.append(np.sum(answers, axis=0, dtype=np.uint64).view(np.int64))
        assert asked.is_last == (sums.next_round(totals) is None)
    return totals


@pytest.mark.parametrize("unit", ["record", "group"])
@pytest.mark.parametrize("kind", OUTCOMES)
def test_without_noise_it_is_the_descent_of_all_rows_bit_for_bit(kind, unit):
    whole, rows = source(kind, unit=unit), table(kind, 200, unit)
    sums = JointSums(whole, 3, 1, disjoint=True)
    totals = totals_of(sums, split(rows, 3))
    assert len(totals) == 2 + (3 if kind == "three classes" else 6) + 1
    together, alone = sums.release(totals).model, whole.fit(*rows).release_.model
    for name in ("coefficients", "intercepts"):
        np.testing.assert_array_equal(*(getattr(m.descent, name) for m in (together, alone)))
    for field in fields(together.descent.table):
        tables = (getattr(model.descent.table, field.name) for model in (together, alone))
        np.testing.assert_array_equal(*tables)


def is_of(noises, deviation):
    """Return whether noise may have a standard deviation."""
    below = chi2(len(noises)).cdf(((noises / deviation) ** 2).sum())
    return 1e-4 < below < 1 - 1e-4


@pytest.mark.parametrize(("S", "t"), [(2, 1), (5, 2)])
def test_all_owners_together_add_the_noise_of_one_release_to_each_step(S, t, noise, monkeypatch):
    wide = {f"c{i}": {"type": "numeric", "low": 0, "high": 1} for i in range(60)}
    monkeypatch.setattr(f"{__name__}.SCHEMA", wide)
    rows = [(pd.DataFrame(np.zeros((1, 60)), columns=list(wide)), ["of no class"])] * S
    sums = JointSums(source("two classes", 1.0), S, t, disjoint=True)
    # Owners without a row of the classes answer with their noise alone.
    totals, exact = totals_of(sums, rows), sums.exact(rows[0])
    n_steps = len(totals) - 3
    one = GaussianQueries(1.0, 1e-5, sums._shares, None, draws=S)
    one.divide("gradients", n_steps)
    largest = sums._plan.grid.descents[0].sensitivity
    sigmas = [one.deviation("gradients", largest)] * n_steps + [one.deviation("claims", 2**30)]
    parts = []
    for _ in range(40):
        for k, sigma in enumerate(sigmas, start=2):
            asked = sums.next_round(totals[:k])
            blank = np.zeros(asked.size, dtype=np.uint64)
            answers = [sums.answer(totals[:k], exact, blank).view(np.int64) for _ in range(S)]
            parts.append(np.array(answers) / sigma)
    parts = np.concatenate(parts, axis=1)
    total = np.sqrt(S / (S - t))
    assert is_of(parts.sum(axis=0), total)
    assert is_of(parts[t:].sum(axis=0), 1.0)  # what colluders cannot subtract
    for factor in (0.9, 1.1):
        assert not is_of(parts.sum(axis=0), total * np.sqrt(factor))
        assert not is_of(parts[t:].sum(axis=0), np.sqrt(factor))
    assert not is_of(parts[1:].sum(axis=0), total)  # one owner has forgotten its noise


@pytest.mark.parametrize("unit", ["record", "group"])
@pytest.mark.parametrize("kind", OUTCOMES)
def test_one_unit_more_moves_no_answer_by_more_than_its_noise_is_made_for(kind, unit, noise):
    """In whole numbers, given the same sums of earlier rounds."""
    noise.factor = 0.0
    rows = table(kind, 60, unit)
    sums = JointSums(source(kind, 4.0, unit), 2, 1, disjoint=True)
    own = split(rows, 2)[0]
    totals = totals_of(sums, split(rows, 2))
    shares, largest = sums._shares, {"gradients": 0.0, "claims": 0.0}
    for seed, age in ((1, 1e300), (2, -1e300), (3, 50.0), (4, np.nan)):
        new = part(table(kind, 3, unit, seed), slice(3 if unit == "group" else 1))
        new[0]["age"] = age
        if unit == "group":
            new = (*new[:2], np.full(3, 9999))
        both = [np.append(a, b) if isinstance(a, np.ndarray) else pd.concat([a, b])
                for a, b in zip(own, new, strict=True)]  # fmt: skip
        with_it, without = sums.exact(tuple(both)), sums.exact(own)
        for k in range(2, len(totals)):
            blank = np.zeros(len(totals[k]), dtype=np.uint64)
            answers = [
                sums.answer(totals[:k], of, blank).view(np.int64) for of in (with_it, without)
            ]
            name = "claims" if k == len(totals) - 1 else "gradients"
            squared = sum(int(x) ** 2 for x in np.subtract(*answers))
            assert squared <= shares[name].sensitivity ** 2
            largest[name] = max(largest[name], squared**0.5 / shares[name].sensitivity)
    assert min(largest.values()) > 0.2, largest


def test_rows_are_read_once_for_what_is_asked(noise, monkeypatch):
    rows = table("two classes", 60)
    sums = JointSums(source("two classes", 1.0), 2, 1, disjoint=True)
    totals, exact, read = totals_of(sums, [rows] * 2), sums.exact(rows), []
    scored = _gradient_model.EncodedRows.scored

    def counted(encoded, weights):
        read.append(len(encoded._rows.X))
        return scored(encoded, weights)

    monkeypatch.setattr(_gradient_model.EncodedRows, "scored", counted)
    for k in range(2, len(totals)):
        sums.answer(totals[:k], exact, np.zeros(len(totals[k]), dtype=np.uint64))
        assert [n for n in read if n] == [60] * (k - 1)


def test_a_seed_gives_other_noise_in_each_round():
    seeded = source("two classes", 1.0).set_params(random_state=0)
    X, y = table("two classes", 2)
    rows = [(X, np.full(len(y), "of no class"))] * 2
    totals = totals_of(JointSums(seeded, 2, 1, disjoint=True), rows)
    steps = np.array(totals[2:-1], dtype=float)
    assert np.abs(np.corrcoef(steps) - np.eye(len(steps))).max() < 0.999


def test_absurd_answers_of_a_liar_stop_nobody(noise):
    sums, rng = JointSums(source("event", 1.0), 2, 1, disjoint=True), np.random.RandomState(0)
    exact = sums.exact(table("event", 60))
    for most in (100, 2**40, 2**61, 2**63 - 1):
        totals = []
        while asked := sums.next_round(totals):
            answer = sums.answer(totals, exact, np.zeros(asked.size, dtype=np.uint64))
            assert len(answer) == asked.size
            totals.append(rng.randint(-most, most, asked.size))
        if most <= 2**61:
            assert np.isfinite(sums.release(totals).predict(table("event", 5)[0])).all()
        else:
            with pytest.raises(ValueError, match="Begin a new secure sum"):
                sums.release(totals)


@pytest.mark.parametrize("model", ["mixtures", "logistic"])
def test_other_models_are_refused(model):
    with pytest.raises(ValueError, match="several owners cannot learn together"):
        JointSums(source("two classes").set_params(model=model), 2, 1, disjoint=True)


@pytest.mark.parametrize("rows", [None, "rows", ([], [], [], []), [[0], [0]]])
def test_rows_are_x_and_y(rows):
    sums = JointSums(source("two classes"), 2, 1, disjoint=True)
    with pytest.raises(ValueError, match="must be a tuple of X and y"):
        sums.exact(rows)

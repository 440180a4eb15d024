"""The release of several owners' sums: that of all their rows, but for the noise."""

from dataclasses import fields, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Schema
from skdp.noise import _queries
from skdp.privacy.audit import audit_release
from skdp.source import JointSums, _joint_sums, _private_rows
from skdp.source._linear_model import perturb_sums

SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "dose": {"type": "numeric", "low": 1e-3, "high": 10, "log": True, "missing": True},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}
CLASSES = ["ill", "unsure", "well"]
NOISES = ("count_sd", "total_sd", "contrast_sd", "second_sd")
pytestmark = pytest.mark.filterwarnings("ignore::skdp.privacy.PrivacyLeakWarning")


@pytest.fixture(autouse=True)
def no_doubts_of_sums(no_doubts, no_rehearsals, monkeypatch):
    monkeypatch.setattr(_joint_sums, "warn_of_doubt", lambda release: None)


@pytest.fixture
def noise(monkeypatch):
    """Normal noise, quickly drawn, times a factor that tests can change; none at first."""
    settings = SimpleNamespace(factor=0.0)

    def sampler(deviation):
        def sample(n, bits):
            normal = np.random.default_rng(bits.draw(2)).standard_normal(n)
            return np.rint(settings.factor * deviation * normal).astype(np.int64)

        return SimpleNamespace(sample=sample)

    monkeypatch.setattr(_queries, "_sampler", sampler)
    return settings


def source(epsilon=np.inf, unit="record", **settings):
    settings = {"encoder": SCHEMA, "classes": CLASSES, "model": "linear", **settings}
    return DPStatisticsSource(epsilon, privacy_unit=unit, **settings)


def table(n, unit="record"):
    """Return rows, some of which are odd, with labels, and people of one to four rows or None."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "age": np.round(rng.uniform(-5, 110, n), 1),
            "dose": np.where(rng.rand(n) < 0.2, np.nan, 10 ** rng.uniform(-4, 2, n)),
            "ward": rng.choice(["A", "B", "C", "D"], n),
        }
    )
    labels = rng.choice([*CLASSES, "other"], n, p=[0.5, 0.1, 0.3, 0.1])
    people = np.repeat([f"p{i}" for i in range(n)], rng.randint(1, 5, n))[:n]
    return frame, labels, people if unit == "group" else None


def accumulated(source, frame, labels, people=None, blocks=0):
    """Return an accumulator of rows, which arrive in blocks."""
    accumulator = source.accumulator()
    blocks = np.broadcast_to(blocks, len(frame))
    for block in np.unique(blocks):
        at = blocks == block
        accumulator.add(frame[at], labels[at], groups=None if people is None else people[at])
    return accumulator


def split(source, n_owners, n_rows=300):
    """Return accumulators of the rows of a table that several owners have, in blocks."""
    frame, labels, people = table(n_rows, source.privacy_unit)
    # All rows of a person are at one owner, in one block.
    units = np.arange(n_rows) if people is None else np.unique(people, return_inverse=True)[1]
    owners, blocks = units % n_owners, units // n_owners % 3
    return [
        accumulated(
            source,
            *(part if part is None else part[at] for part in (frame, labels, people, blocks)),
        )
        for at in (owners == i for i in range(n_owners))
    ]


def totals_of(sums, rows, masks=np.zeros):
    """Return the sums of the answers of all owners to each round."""
    totals, exact = [], [sums.exact(of) for of in rows]
    while asked := sums.next_round(totals):
        of_owners = masks((len(rows), asked.size)).astype(np.uint64)
        answers = [sums.answer(totals, e, m) for e, m in zip(exact, of_owners, strict=True)]
        totals.append(np.sum(answers, axis=0, dtype=np.uint64).view(np.int64))
        assert asked.is_last == (sums.next_round(totals) is None)
    return totals


def canceling(shape):
    """Return uniform numbers whose sums over all owners are zero modulo 2^64."""
    masks = np.random.RandomState(0).randint(0, 2**64, shape, dtype=np.uint64)
    masks[-1] = -masks[:-1].sum(axis=0, dtype=np.uint64)
    return masks


def saved(release, path):
    """Return the bytes of a release, whatever its guarantee says about owners."""
    covers = release.guarantee.covers.removesuffix(", at all owners where a person has any")
    replace(release, guarantee=replace(release.guarantee, assumes="", covers=covers)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("n_owners", [2, 4, 20])
@pytest.mark.parametrize("unit", ["record", "group"])
def test_without_noise_it_is_the_release_of_all_rows_bit_for_bit(n_owners, unit, tmp_path):
    whole = source(unit=unit)
    accumulators = split(whole, n_owners)
    sums = JointSums(whole, n_owners, 1, disjoint=False)
    totals = totals_of(sums, accumulators, canceling)
    # Answers are integers modulo 2^64: it makes no difference where they wrap around.
    assert all(map(np.array_equal, totals, totals_of(sums, accumulators)))
    together, alone = sums.release(totals), whole.fit(*table(300, unit)).release_
    for field in fields(alone.statistics.sums):
        values = (getattr(release.statistics.sums, field.name) for release in (alone, together))
        np.testing.assert_array_equal(*values)
    assert saved(together, tmp_path / "a.skdp") == saved(alone, tmp_path / "b.skdp")


def relative_noise(sums, others):
    """Return the standard deviations of noise, divided by others."""
    # Those of contrasts are to the frequencies of noisy counts, which depend on the noise.
    norms = [np.linalg.norm(np.eye(3) - s.frequencies, axis=1).max() for s in (sums, others)]
    ratios = {name: getattr(sums, name) / getattr(others, name) for name in NOISES}
    ratios["contrast_sd"] *= norms[1] / norms[0]
    return np.concatenate([np.ravel(ratio) for ratio in ratios.values()])


@pytest.mark.parametrize(("S", "t"), [(2, 1), (7, 3), (20, 1)])
@pytest.mark.parametrize(("unit", "disjoint"), [("record", False), ("group", True)])
def test_its_noise_is_that_of_one_release_times_the_cost_of_colluders(S, t, unit, disjoint, noise):
    whole = source(1.0, unit)
    one = whole.fit(*table(300, unit)).release_.statistics.sums
    joint = JointSums(whole, S, t, disjoint=disjoint)
    release = joint.release(totals_of(joint, split(whole, 2)))
    together = release.statistics.sums
    for name in ("counts", "total", "second"):
        np.testing.assert_array_equal(getattr(together, name), getattr(one, name))
    # Of the budget, the sampler of each owner takes its part: 1e-9 for each number.
    assert relative_noise(together, one) == pytest.approx(np.sqrt(S / (S - t)), rel=1e-5)
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-5)


def test_people_at_several_owners_cost_noise_or_an_assumption(noise):
    whole = source(1.0, "group")
    apart, anywhere = (JointSums(whole, 5, 1, disjoint=d) for d in (True, False))
    less, more = (
        sums.release(totals_of(sums, split(whole, 2))).statistics.sums
        for sums in (apart, anywhere)
    )
    assert relative_noise(more, less) == pytest.approx(5, rel=1e-12)
    assert "nobody has rows at two owners" in apart.guarantee.assumes
    assert "two owners" not in anywhere.guarantee.assumes
    assert anywhere.guarantee.covers.endswith(", at all owners where a person has any")
    # A record is at one owner, whatever is said of people.
    of_records = [JointSums(source(1.0), 5, 1, disjoint=d).guarantee for d in (False, True)]
    assert of_records[0] == of_records[1]
    assert of_records[0].assumes == "that each record is at one owner"


EVENT = {"type": "event", "horizon": 365}
NUMBER = {"type": "number", "low": 0, "high": 80}


@pytest.mark.parametrize("outcome", [None, NUMBER, EVENT], ids=["classes", "number", "event"])
@pytest.mark.parametrize("most", [100, 2**40, 2**63 - 1])
def test_what_owners_derive_alike_is_in_whole_steps_whatever_a_liar_answers(outcome, most):
    schema = {"version": 1, "columns": SCHEMA}
    schema |= {"classes": CLASSES} if outcome is None else {"outcome": outcome}
    sums = JointSums(DPStatisticsSource(encoder=schema, model="linear"), 2, 1, disjoint=True)
    counts = np.random.RandomState(0).randint(-most, most, sums.next_round([]).size)
    numbers = np.frombuffer(sums.derived([counts]), "<i8")
    n_classes = 3 if outcome is None else 2
    codes, frequencies = np.split(numbers, [-n_classes])
    # Each class, or way to leave, counts once in all classes of the contrast; so do frequencies.
    assert (codes.reshape(n_classes, -1).sum(axis=0) == 2**14).all()
    assert frequencies.sum() == 2**14
    assert frequencies.min() >= 1
    assert sums.derived([]) == b""  # only what follows from the first round is derived
    assert sums.derived([2 * counts, counts]) == b""


class Recorder:
    """Queries that have the counts of all owners, and keep what this one is asked."""

    def __init__(self, counts):
        self.counts, self.asked = counts, {}

    def add(self, name, values, sensitivity, scales=1.0):
        # Products whose noise has half the variance count twice.
        weights = np.rint(np.broadcast_to(scales, values.shape) ** -2.0).astype(int)
        self.asked[name] = values.ravel().tolist(), weights.ravel().tolist(), sensitivity
        return self.counts if name == "counts" else np.zeros_like(values)

    def deviation(self, name, sensitivity):
        return sensitivity


ODD_ROWS = [
    {"age": 0.0, "dose": 1e-3, "ward": "A"},
    {"age": 100.0, "dose": 10.0, "ward": "C"},
    {"age": 1e300, "dose": np.nan, "ward": "no ward"},
    {"age": -1e300, "dose": 1e-300, "ward": None},
    {"age": np.nan, "dose": np.nan, "ward": "B"},
]


@pytest.mark.parametrize("unit", ["record", "group"])
@pytest.mark.parametrize("label", ["unsure", "ill", "of no class"])
@pytest.mark.parametrize("counts", [[1, 0, 0], [0, 1, 10**6], [-5, 3, 4], [0, 0, 0]])
def test_one_unit_more_moves_the_sums_by_no_more_than_the_noise_is_made_for(unit, label, counts):
    frame, labels, people = table(40, unit)
    n_rows = 1 if people is None else 3
    for odd in ODD_ROWS:
        more = (
            pd.concat([frame, pd.DataFrame([odd] * n_rows)], ignore_index=True),
            np.append(labels, [label] * n_rows),
            None if people is None else np.append(people, ["new"] * n_rows),
        )
        answers = []
        for rows in (more, (frame, labels, people)):
            accumulator = accumulated(source(unit=unit), *rows)
            recorder = Recorder(np.array(counts) << 30)
            perturb_sums(accumulator._exact(), accumulator.plan.grid, recorder)
            answers.append(recorder.asked)
        moved = {}
        for name, (values, weights, sensitivity) in answers[0].items():
            others = answers[1][name][0]
            # In whole numbers.
            squares = (w * (a - b) ** 2 for a, b, w in zip(values, others, weights, strict=True))
            squared = sum(squares)
            assert squared <= sensitivity**2, name
            moved[name] = squared / sensitivity**2
        # Nor is the noise larger than that: these rows are clipped to the radius.
        least = min(moved["counts"], moved["total"], moved["second"])
        assert moved["contrast"] == least == 0 if label == "of no class" else least > 0.999


def test_answers_with_a_mask_that_is_left_over_are_refused():
    whole = source(1.0)
    sums = JointSums(whole, 2, 1, disjoint=False)
    totals = totals_of(sums, split(whole, 2))
    for number in range(2):
        left = np.random.RandomState(number).randint(-(2**63), 2**63, len(totals[number]))
        spoiled = [*totals[:number], totals[number] + left, *totals[number + 1 :]]
        with pytest.raises(ValueError, match=r"do not add up .* Begin a new secure sum"):
            sums.release(spoiled)


@pytest.mark.filterwarnings("ignore:Many values of the columns")
def test_absurd_answers_of_a_liar_stop_nobody():
    whole, rng = source(1.0), np.random.RandomState(0)
    sums = JointSums(whole, 2, 1, disjoint=False)
    rows = sums.exact(split(whole, 1)[0])
    sizes = [sums.next_round(answers).size for answers in ([], [np.zeros(3, dtype=np.int64)])]

    def absurd(n, most):
        some = [0, 1, -1, most - 1, -most]
        return rng.choice(some, n) if rng.rand() < 0.5 else rng.randint(-most, most, n)

    for _ in range(30):
        release = sums.release([absurd(size, 2**61) for size in sizes])
        assert np.isfinite(release.predict_proba(table(5)[0])).all()
        # Those to the first round, of which an owner sees the sum alone, are any numbers.
        blank = np.zeros(sizes[1], dtype=np.uint64)
        assert len(sums.answer([absurd(3, 2**63)], rows, blank)) == sizes[1]


@pytest.mark.parametrize("settings", [{"unit": "people"}, {"unit": None}, {"delta": 0.0}])
def test_parameters_that_a_source_refuses_are_refused(settings):
    with pytest.raises(ValueError, match=r"'(privacy_unit|delta)' parameter of DPStat"):
        JointSums(source(1.0, **settings), 4, 1, disjoint=False)


@pytest.mark.parametrize(("n_owners", "n_colluding"), [(0, 1), (1, 1), (3, 3), (3, 0)])
def test_somebody_must_not_collude(n_owners, n_colluding):
    with pytest.raises(ValueError, match="cannot collude"):
        JointSums(source(1.0), n_owners, n_colluding, disjoint=False)


class ViewOfColluders(DPStatisticsSource):
    """What a coordinator sees of nine owners, less the noise of one who has told it.

    Two have rows; ``factors`` are their noises together with those of three others each.
    """

    noise, factors = None, (2.0, 2.0)

    def fit(self, X, y, groups=None):
        sums, totals = JointSums(self, 9, 1, disjoint=False), []
        accumulators = [accumulated(self, X[i::2], y[i::2]) for i in (0, 1)]
        while asked := sums.next_round(totals):
            blank, total = np.zeros(asked.size, dtype=np.uint64), 0
            for accumulator, factor in zip(accumulators, self.factors, strict=True):
                self.noise.factor = factor
                total += sums.answer(totals, sums.exact(accumulator), blank)
            totals.append(total.view(np.int64))
        self.release_ = sums.release(totals)
        return self


def sums_of(release):
    sums = release.statistics.sums
    parts = sums.counts, sums.total, sums.contrast, sums.second[np.triu_indices(len(sums.second))]
    return np.concatenate([np.ravel(part) for part in parts])


# In the second one all forget their noise but one of those who do not collude.
@pytest.mark.parametrize(("factors", "passes"), [((2.0, 2.0), True), ((0.0, 1.0), False)])
def test_a_canary_is_seen_no_better_than_claimed_unless_noise_is_forgotten(
    factors, passes, noise, seeded_noise, monkeypatch
):
    # That of the schema takes most of a fit.
    monkeypatch.setattr(_private_rows, "fitted_encoder", cache(_private_rows.fitted_encoder))
    monkeypatch.setattr(ViewOfColluders, "noise", noise)
    monkeypatch.setattr(ViewOfColluders, "factors", factors)
    X = pd.DataFrame(np.random.RandomState(0).rand(60, 2), columns=["a", "b"])
    column = {"type": "numeric", "low": 0, "high": 1}
    schema = Schema.from_mapping({"a": column, "b": column})
    owners = ViewOfColluders(8.0, encoder=schema, classes=[0, 1], model="linear")
    audit = audit_release(owners, X, np.arange(60) % 2, n_trials=100, statistics=sums_of)
    assert audit.passed == passes, str(audit)
    assert audit.epsilon_lower > 3

"""One release of the rows of several owners, each of whom adds a part of the noise.

The owners answer in rounds: all queries of "linear" in two; those of "gradients" in two, and one
more for each step and for the table of scores. An answer has integers modulo 2^64. A mask is added
to it before it leaves :func:`publish`; masks cancel only in the sum of all answers, so a single
answer is useless. The caller makes the masks; see :mod:`skdp.federated`.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skdp.noise import JointQueries, RoundEnd, private_bits
from skdp.release import warn_of_doubt
from skdp.source._integers import GRID, ROW
from skdp.source._linear_model import frequency_steps, perturb_counts
from skdp.source._private_rows import SummedRows, announced_plan
from skdp.source._publication import default_settings, publish, sealed

# Larger sums were not unmasked correctly: noise is at most 2^56 times a few standard deviations.
_LARGEST_SUM = 2**61
# Most rows of all owners together: their sums, of squares at most 2^32 each, and noise are less.
_MOST_ROWS = 2**28
_MODELS = ("linear", "gradients")


class Round(NamedTuple):
    """What the owners answer next."""

    size: int  # number of integers
    is_last: bool


class JointSums:
    """The protocol of a joint release: rounds of owners' answers, integers modulo 2^64.

    The noise of all but ``n_colluding`` of ``n_owners`` suffices for one release. A person may
    have rows at all owners unless they are ``disjoint``. An owner's first answer is charged with
    ``guarantee``, the guarantee of the release. ``fractions`` split the budget by query, and
    ``max_rows`` limits the number of rows, or people, of an owner.
    """

    def __init__(self, source, n_owners, n_colluding, *, disjoint, assumes=""):
        if not 1 <= n_colluding < n_owners:
            raise ValueError(
                f"Of {n_owners} owners {n_colluding} cannot collude: the noise of at least one "
                "other is needed. Let more take part."
            )
        source._validate_params()
        self._source = source
        if source.model not in _MODELS:
            raise ValueError(
                f"The 'model' parameter of DPStatisticsSource is {source.model!r}, which several "
                "owners cannot learn together. Use model='linear' or model='gradients'."
            )
        with default_settings():
            self._plan = announced_plan(source, None, None, np.float64)
        self._shares = self._plan.shares
        # Sums about class frequencies need the frequencies of all owners first. What follows the
        # sums is asked one by one.
        later = [name for name in ("gradients", "claims") if name in self._shares]
        sums = tuple(name for name in self._shares if name not in ("counts", *later))
        self._rounds = (("counts",), sums, *((name,) for name in later))
        self.radius = self._plan.grid.radius
        self.fractions = {name: share.fraction for name, share in self._shares.items()}
        of_records = source.privacy_unit == "record"
        # Of a seed, which would otherwise give the noise of each round anew.
        seeded = source.random_state is not None
        self._seeded = self._new_bits() if seeded else None
        # Public sums of the first two rounds, and where a descent starts from them.
        self._start: tuple = None, ()
        self._noise = {
            "n_owners": n_owners,
            "n_colluding": n_colluding,
            "overlap": 1 if of_records or disjoint else n_owners,
        }
        stated = source._guarantee(self._plan, self._queries([]))
        covers, claim = stated.covers, ""
        if of_records:
            claim = "that each record is at one owner"
        elif disjoint:
            claim = "that nobody has rows at two owners, which they have agreed on"
        else:
            covers += ", at all owners where a person has any"
        assumes = "; ".join(filter(None, (assumes, claim)))
        self.guarantee = replace(stated, assumes=assumes, covers=covers)

    @property
    def max_rows(self):
        """Return the most rows, or people, of an owner."""
        # A gradient may have a larger sensitivity than the squares in sums.
        largest = max(share.sensitivity for share in self._shares.values())
        return int(_MOST_ROWS * min(GRID**2 / largest, 1)) // self._noise["n_owners"]

    def next_round(self, answers):
        """Return the round after some answers, or None after the last one.

        ``answers`` are the public sums of all owners' answers to earlier rounds.
        """
        queries = self._queries(answers)
        with default_settings():
            size = len(self._numbers(self._plan.no_rows(), queries, answers))
        return Round(size, queries.asked == self._rounds[-1]) if size else None

    def exact(self, rows):
        """Return an owner's rows as it answers all rounds from them, **without noise**.

        For sums they are an accumulator; for gradients X, y and, if people are protected, groups.
        """
        if self._plan.model.one_pass:
            self._source._plan_of(rows)
            rows._refuse_untouched()
            exact: SummedRows | _KeptRows = SummedRows(rows._exact())
        else:
            with default_settings():
                exact = _KeptRows(self._plan.rows(*_unpacked(rows)))
        with sealed("The exact sum over rows"):
            n_rows = (exact.sums(self._plan.grid).counts / ROW).sum()
        if n_rows > self.max_rows:
            raise ValueError(
                f"An owner of this secure sum may have {self.max_rows:,} rows or people at most, "
                "and this one has more. Make a release of its own, and merge it with that of the "
                "others."
            )
        return exact

    def derived(self, answers):
        """Return the values that every owner must derive equally from earlier answers, as bytes.

        After the first round these are the class frequencies of the contrast, rounded to whole
        numbers of steps; after the sums, the number of steps and the size of a gradient.
        """
        with default_settings():
            if len(answers) == 1:
                counts, queries = self._plan.no_sums.counts, self._queries(answers)
                counts, deviation, *codes = perturb_counts(
                    counts, self._plan.grid, queries, "counts"
                )
                facts = [codes[0].ravel(), frequency_steps(counts, deviation)]
            elif self._starts(answers) and len(answers) == 2:
                queries = self._queries(answers)
                size = len(self._numbers(self._plan.no_rows(), queries, answers))
                facts = [[size, queries.uses["gradients"]]]
            else:
                return b""
        return np.concatenate(facts).astype("<i8").tobytes()

    def answer(self, earlier, rows, mask, *, ledger=None, name=""):
        """Return an owner's masked answer to the round after some earlier ones, in uint64.

        ``earlier`` are the public sums of all owners' answers to earlier rounds; ``rows`` are this
        owner's :meth:`exact` rows. The first answer is charged for all rounds.
        """

        def make(rows, queries, mask):
            return self._numbers(rows, queries, earlier).view(np.uint64) + mask

        # The first answer is rehearsed together with all later ones, and they are charged with it.
        nothing, first = self._plan.no_rows(), not earlier
        queries = self._queries(earlier, self._seeded or self._new_bits())
        rehearsals = [(nothing, queries.rehearsal(), np.uint64(0))] if first else []
        return publish(
            "The answer to a secure sum",
            self.guarantee,
            make,
            private=(rows, queries, mask),
            rehearsals=rehearsals,
            ledger=ledger if first else None,
            name=name,
        )

    def release(self, answers):
        """Return the release of the sums of all owners' answers, of all rounds."""
        if any(((a > _LARGEST_SUM) | (a < -_LARGEST_SUM)).any() for a in answers):
            raise ValueError(
                "The answers do not add up to sums of rows: an owner's mask is not that of the "
                "others. Begin a new secure sum."
            )
        with default_settings():
            model = self._learned(self._plan.no_rows(), self._queries(answers), answers)
            release = self._plan.release(model, self.guarantee)
        warn_of_doubt(release)
        return release

    def _numbers(self, rows, queries, answers):
        """Return the answers to the queries of a round, or nothing after the last one."""
        try:
            self._learned(rows, queries, answers)
        except RoundEnd:
            return np.concatenate([queries.contributions[name] for name in queries.asked])
        return np.zeros(0, dtype=np.int64)

    def _learned(self, rows, queries, answers):
        """Return the model of the answers to all rounds; otherwise the queries end a round."""
        model, grid = self._plan.model, self._plan.grid
        if not self._starts(answers):
            return model.learn(rows, grid, queries)
        key = b"".join(answer.tobytes() for answer in answers[:2])
        start = self._start  # other threads may replace it
        if start[0] != key:  # takes longer than all steps
            first = self._queries(answers[:2], whole=True)
            self._start = start = key, model.start(self._plan.no_sums, grid, first)
        return model.descended(_AskedRows(rows, queries), grid, queries, *start[1])

    def _starts(self, answers):
        """Return whether a descent starts from these answers."""
        return len(answers) >= 2 and not self._plan.model.one_pass

    def _new_bits(self):
        return private_bits(type(self._source).__name__, self._source.random_state)

    def _queries(self, answers, bits=None, *, whole=False):
        """Return the queries of the round after some answers, one array of integers each.

        Answers to sums, from which a descent starts, are left out unless they are the ``whole``.
        """
        source = self._source
        if self._starts(answers) and not whole:
            answers = answers[2:]
        return JointQueries(
            source.epsilon,
            source.delta,
            self._shares,
            bits,
            rounds=self._rounds,
            answers=answers,
            **self._noise,
        )


def _unpacked(rows):
    """Return X, y and maybe groups."""
    if isinstance(rows, tuple) and len(rows) in (2, 3):
        return rows
    raise ValueError(
        "The rows of an owner must be a tuple of X and y, with groups if people are protected, "
        f"got {type(rows).__name__}."
    )


class _KeptRows:
    """Private rows that are encoded once for many rounds."""

    def __init__(self, rows):
        self._rows, self._sums, self._encoded = rows, None, None

    def sums(self, grid):
        """Return exact sums of the rows on the grid of a plan."""
        if self._sums is None:
            self._sums = self._rows.sums(grid)
        return self._sums

    def encoded(self, grid):
        """Return the rows on the grid of a descent."""
        if self._encoded is None or not self._encoded.grid.is_same(grid):
            self._encoded = self._rows.encoded(grid)
        return self._encoded


class _AskedRows:
    """Rows of a descent that are read only for what is asked, not for what is answered."""

    def __init__(self, rows, queries):
        self._rows, self._queries = rows, queries

    def encoded(self, grid):
        """Return these on the grid of a descent."""
        self._encoded, self.grid = self._rows.encoded(grid), grid
        return self

    def scored(self, weights):
        """Yield rows with scores, or nothing."""
        return self._encoded.scored(weights) if self._queries.is_asking else iter(())

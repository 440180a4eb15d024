"""Noisy sums over the rows of several owners, each of whom adds a part of the noise.

A mask is added to an owner's answer before it leaves :func:`publish`. The masks cancel only in the
sum of all answers, so a single answer is useless. The caller makes the masks; see
:mod:`skdp.federated`.
"""

from dataclasses import replace

import numpy as np

from skdp.noise import JointQueries, private_bits
from skdp.release import warn_of_doubt
from skdp.source._integers import ROW
from skdp.source._linear_model import frequency_steps, perturb_counts, perturb_sums
from skdp.source._private_rows import SummedRows, one_pass_plan
from skdp.source._publication import default_settings, publish

# Larger sums were not unmasked correctly: noise is at most 2^56 times a few standard deviations.
_LARGEST_SUM = 2**61
# Most rows of all owners together: their sums, of squares at most 2^32 each, and noise are less.
_MOST_ROWS = 2**28


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
        with default_settings():
            self._plan = one_pass_plan(source, None, None, np.float64)
        self._shares = self._plan.shares
        # Sums about class frequencies need the frequencies of all owners first.
        self._rounds = (("counts",), tuple(name for name in self._shares if name != "counts"))
        self.radius = self._plan.grid.radius
        self.fractions = {name: share.fraction for name, share in self._shares.items()}
        of_records = source.privacy_unit == "record"
        self.max_rows = _MOST_ROWS // n_owners
        self._noise = {
            "n_owners": n_owners,
            "n_colluding": n_colluding,
            "overlap": 1 if of_records or disjoint else n_owners,
        }
        stated = source._guarantee(self._plan, self._queries([]))
        covers, apart = stated.covers, ""
        if of_records:
            apart = "that each record is at one owner"
        elif disjoint:
            apart = "that nobody has rows at two owners, which they have agreed on"
        else:
            covers += ", at all owners where a person has any"
        assumes = "; ".join(filter(None, (assumes, apart)))
        self.guarantee = replace(stated, assumes=assumes, covers=covers)

    def size(self, number):
        """Return the number of integers in the answer to a round."""
        return sum(self._shares[name].numbers for name in self._rounds[number])

    def exact_sums(self, accumulator):
        """Return an owner's sums **without noise**, from which it answers all rounds."""
        self._source._plan_of(accumulator)
        accumulator._refuse_untouched()
        sums = accumulator.unprotected_sums().sums
        if (sums.counts / ROW).sum() > self.max_rows:
            raise ValueError(
                f"An owner of this secure sum may have {self.max_rows:,} rows or people at most, "
                "and this one has more. Make a release of its own, and merge it with that of the "
                "others."
            )
        return sums

    def derived(self, answers):
        """Return the values that every owner must derive equally from earlier answers, as bytes.

        These are the class frequencies of the contrast, rounded to whole numbers of steps.
        """
        if len(answers) != 1:
            return b""
        grid, counts = self._plan.grid, self._plan.no_sums.counts
        with default_settings():
            counts, deviation, codes, _ = perturb_counts(
                counts, grid, self._queries(answers), "counts"
            )
            steps = frequency_steps(counts, deviation)
        return np.concatenate([codes.ravel(), steps]).astype("<i8").tobytes()

    def answer(self, earlier, sums, mask, *, ledger=None, name=""):
        """Return an owner's masked answer to the round after some earlier ones, in uint64.

        ``earlier`` are the public sums of all owners' answers to earlier rounds; ``sums`` are this
        owner's :meth:`exact_sums`. The first answer is charged for all rounds.
        """
        plan, number = self._plan, len(earlier)

        def make(sums, queries, asked, mask):
            perturb_sums(sums, plan.grid, queries)
            answers = [queries.contributions[name] for name in asked]
            return np.concatenate(answers).view(np.uint64) + mask

        queries, rehearsals = self._queries(earlier), []
        for last in range(number, len(self._rounds)):
            blank = [np.zeros(self.size(r), np.int64) for r in range(number, last)]
            nothing = self._queries([*earlier, *blank]).rehearsal()
            rehearsals.append((plan.no_sums, nothing, self._rounds[last], np.uint64(0)))
        return publish(
            "The answer to a secure sum",
            self.guarantee,
            make,
            private=(sums, queries, self._rounds[number], mask),
            rehearsals=rehearsals,
            ledger=None if number else ledger,
            name=name,
        )

    def release(self, answers):
        """Return the release of the sums of all owners' answers, of all rounds."""
        if any(((a > _LARGEST_SUM) | (a < -_LARGEST_SUM)).any() for a in answers):
            raise ValueError(
                "The answers do not add up to sums of rows: an owner's mask is not that of the "
                "others. Begin a new secure sum."
            )
        plan = self._plan
        nothing = SummedRows(plan.no_sums)
        with default_settings():
            model = plan.model.learn(nothing, plan.grid, self._queries(answers))
            release = plan.release(model, self.guarantee)
        warn_of_doubt(release)
        return release

    def _queries(self, answers):
        """Return the queries of the round after some answers, one array of integers each."""
        answered: dict = {}
        for names, answer in zip(self._rounds, answers, strict=False):
            ends = np.cumsum([self._shares[name].numbers for name in names])[:-1]
            answered |= dict(zip(names, np.split(answer, ends), strict=True))
        asked = self._rounds[len(answers)] if len(answers) < len(self._rounds) else ()
        source = self._source
        return JointQueries(
            source.epsilon,
            source.delta,
            self._shares,
            private_bits(type(source).__name__, source.random_state),
            answered=answered,
            asked=asked,
            **self._noise,
        )

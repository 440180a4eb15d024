"""Models compared on the same draws; a transfer against what it starts from."""

from dataclasses import dataclass

from _table import Values, grouped, pick, unique, where

OUTCOMES = ("win", "tie", "loss")
TITLES = {
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration": "calibration error",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "balanced_decision": "balanced accuracy of decisions at the mean probability",
}


def sign_of(measure):
    """Return 1 where more of a measure is better, -1 where it is worse."""
    return -1 if measure in ("log_loss", "brier", "calibration") else 1


def by_draw(rows, measure):
    """Return the mean of a measure in each draw."""
    found: dict = {}
    for row in rows:
        if row.get(measure) is not None:
            found.setdefault(row["draw"], Values()).append(row[measure])
    return {draw: values.mean for draw, values in found.items()}


def paired(ours, theirs):
    """Return the differences of two mappings from draws to values, on the draws of both."""
    return Values(ours[draw] - theirs[draw] for draw in ours if draw in theirs)


def less_best(rows, own, names, measure):
    """Return a model's differences by draw to the best of some others, and the name of that."""
    values = {name: by_draw(where(rows, model=name), measure) for name in names}
    values = {name: found for name, found in values.items() if found}
    best = max(values, key=lambda name: Values(values[name].values()).mean, default="")
    return paired(by_draw(where(rows, model=own), measure), values.get(best, {})), best


def means_over(cases, rows, measures, name):
    """Yield rows of means over cases, as a case; of one with more draws, over each n-th."""
    for (level, model), some in grouped(rows, "level", "model").items():
        n = min(len(where(some, case=case)) for case in cases)
        for k in range(n):
            parts = [[r for r in where(some, case=c) if r["draw"] % n == k] for c in cases]
            means = {m: Values(pick(part, m).mean for part in parts).mean for m in measures}
            yield {"level": level, "model": model, "draw": k, "case": name, **means}


@dataclass(frozen=True)
class Cell:
    """Models compared at one place in one measure, whose values each has by draw.

    ``place`` is a row from there. ``sides`` are what a transfer starts from; ``sign`` is -1 where
    less is better, and ``least`` the largest difference that counts as none.
    """

    place: dict
    values: dict
    sides: tuple = ()
    sign: int = 1
    least: float = 0.0

    @property
    def better(self):
        """The better side, on the draws of the transfer."""
        draws = self.values["transfer"].keys()
        shared = {name: draws & self.values.get(name, {}).keys() for name in self.sides}
        means = {
            name: self.sign * Values(self.values[name][draw] for draw in some).mean
            for name, some in shared.items()
            if some
        }
        return max(means, key=means.get)

    def gain(self, over="", model="transfer"):
        """Return by how much a model is better than another, or than the better side, by draw."""
        ours, theirs = (
            {draw: self.sign * value for draw, value in self.values.get(name, {}).items()}
            for name in (model, over or self.better)
        )
        return paired(ours, theirs)

    def outcome(self, over="", model="transfer"):
        """Say whether a model wins; within a standard error, or what counts as none, is a tie."""
        gain = self.gain(over, model)
        if abs(gain.mean) <= max(gain.error, self.least):
            return OUTCOMES[1]
        return OUTCOMES[0 if gain.mean > 0 else 2]

    def all_of(self, model):
        """Return the values of a model, none where it was not measured."""
        return Values(self.values.get(model, {}).values())

    def texts(self, models, spec):
        return [format(self.all_of(model), spec) for model in models]


def comparisons(rows):
    """Yield each transfer with its source alone, and with targets alone of as many labels."""
    measure = "auc" if "auc" in rows[0] else "accuracy"
    targets = tuple(name for name in unique(rows, "model") if "target" in name)
    transfers = where(rows, model="transfer")
    for case, level, labels in dict.fromkeys(
        (r["case"], r["level"], r["labels"]) for r in transfers
    ):
        here = where(rows, case=case)
        own = where(here, level=level, labels=labels, model="transfer")
        # On the rows that the transfer is asked about, where the source is asked about others.
        source = by_draw(own, "source_alone")
        source = source or by_draw(where(here, level=level, model="source"), measure)
        values = {"source": source, "transfer": by_draw(own, measure)}
        for name in targets:
            values[name] = by_draw(where(here, model=name, labels=labels), measure)
        if any(values["transfer"].keys() & values[name].keys() for name in ("source", *targets)):
            yield Cell(own[0], values, (*targets, "source"))

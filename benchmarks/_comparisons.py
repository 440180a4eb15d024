"""Paired differences between methods on the same draws; transfer against what it starts from."""

from dataclasses import dataclass

from _table import mean_of


@dataclass(frozen=True)
class Paired:
    """Mean of paired differences, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, ours, theirs):
        """Compare two mappings from draws to values, on the draws that both have."""
        found = [ours[draw] - theirs[draw] for draw in ours if draw in theirs]
        mean, n = mean_of(found), len(found)
        squares = sum((value - mean) ** 2 for value in found)
        return cls(mean, (squares / max(n - 1, 1) / n) ** 0.5)

    @property
    def below(self):
        """Whether the mean is less than zero by more than one standard error."""
        return self.mean < -self.error


@dataclass(frozen=True)
class Comparison:
    """A transfer, the source and target alone, and the difference to the better of them.

    ``measure`` is "auc" or "accuracy"; ``values`` has them for each model, by draw.
    """

    case: str
    level: float
    labels: int
    measure: str
    values: dict
    better: str
    difference: Paired

    def text(self):
        found = f"{self.difference.mean:+.4f} ± {self.difference.error:.4f}"
        return (
            f"{self.case}, ε = {self.level:g}, {self.labels} labels: transfer less {self.better} "
            f"{found}{', BELOW' if self.difference.below else ''}"
        )


def comparisons(rows):
    """Compare each transfer with its source alone, and with targets alone of as many labels."""
    cells = dict.fromkeys(
        (row["case"], row["level"], row["labels"]) for row in rows if row["model"] == "transfer"
    )
    for case, level, labels in cells:
        measure, values = "accuracy", {}
        for row in rows:
            if row["case"] == case and _belongs(row, level, labels):
                measure = "auc" if "auc" in row else "accuracy"
                values.setdefault(row["model"], {})[row["draw"]] = row[measure]
        # On the rows that the transfer is asked about, where the source is asked about others.
        same = {
            row["draw"]: row["source_alone"]
            for row in rows
            if (row["case"], row["model"]) == (case, "transfer")
            and _belongs(row, level, labels)
            and "source_alone" in row
        }
        values["source"] = same or values.get("source", {})
        draws = values["transfer"].keys()
        alone = {
            name: mean_of([value for draw, value in found.items() if draw in draws])
            for name, found in values.items()
            if name != "transfer" and draws & found.keys()
        }
        if alone:
            better = max(alone, key=alone.get)
            difference = Paired.of(values["transfer"], values[better])
            yield Comparison(case, level, labels, measure, values, better, difference)


def _belongs(row, level, labels):
    """Whether a row of the same case is the transfer, its source or a target alone."""
    if row["model"] == "source":
        return row["level"] == level
    if row["model"] == "transfer":
        return (row["level"], row["labels"]) == (level, labels)
    return "target" in row["model"] and row["labels"] == labels

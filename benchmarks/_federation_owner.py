"""What one hospital of the benchmark loads; of names in the environment, what goes wrong there."""

import os
import time

from skdp import DPStatisticsSource
from skdp.commands import main
from skdp.datasets import load_heart_disease
from skdp.federated import SecureSum

# What no message or log may repeat.
SECRET = "patient 17 has cholesterol 603"


def hospitals():
    """Return the name of each hospital in a federation, without spaces, and that in the data."""
    return {name.replace(" ", "-"): name for name in load_heart_disease().hospital_names}


def load(owner):
    """Return the source and the rows of an owner, or fail as the environment says."""
    fault = dict(pair.split("=") for pair in os.environ.get("FAULTS", "").split(",") if pair)
    fault = fault.get(owner)
    if fault == "raises":
        raise ValueError(SECRET)
    if fault == "hangs":
        time.sleep(3600)
    heart = load_heart_disease()
    columns = {**heart.schema["columns"]}
    if fault == "schema":
        columns["age"] = {**columns["age"], "high": columns["age"]["high"] + 10}
    here = heart.hospital == hospitals()[owner]
    source = DPStatisticsSource(epsilon=4.0, encoder={**heart.schema, "columns": columns})
    return source, heart.data[here], heart.target[here]


def seed(owner):
    """Return the seed of the noise of an owner of a secure sum."""
    return 1 + int(owner.split("-")[1])


def load_part(owner, plan):
    """Return an owner's part of all rows; its noise in this process gets a seed."""
    seed_noise(owner)
    return part(owner, plan)


def part(owner, plan):
    """Return the sums of an owner's part of all rows, which are dealt in turn."""
    heart, here = load_heart_disease(), slice(seed(owner) - 1, None, len(plan.owners))
    accumulator = plan.accumulator()
    accumulator.add(heart.data[here], heart.target[here])
    return accumulator


def seed_noise(owner):
    """Give all noise of an owner in this process a seed, which only a benchmark may do."""
    unseeded = SecureSum.sums

    def sums(plan, n_owners, random_state=None):
        return unseeded(plan, n_owners, seed(owner) if random_state is None else random_state)

    SecureSum.sums = sums


def command(owner, *arguments):
    """Run a command, as an owner, and return its exit code."""
    if owner:
        seed_noise(owner)
    return main(arguments)

"""What one hospital of the benchmark loads; of names in the environment, what goes wrong there."""

import os
import time

from skdp import DPStatisticsSource
from skdp.datasets import load_heart_disease

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

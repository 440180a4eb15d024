import json

import numpy as np
import pandas as pd
import pytest

from skdp import Release
from skdp.tabular import Schema

PUBLIC = {
    "version": 1,
    "classes": ["died", "home"],
    "columns": {"age": {"type": "numeric", "low": 0, "high": 110}},
}


@pytest.fixture
def rows(folder):
    """Write private rows, with a value that one person has alone, and a public schema."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 3000), "bmi": rng.normal(27, 4, 3000)})
    frame["ward"] = rng.choice(["A", "B"], 3000)
    frame["outcome"] = np.where(frame["age"] + rng.normal(0, 20, 3000) > 60, "died", "home")
    frame["person"] = [f"p{i // 2}" for i in range(3000)]
    frame.loc[7, ["bmi", "ward"]] = [4711.25, "vermilion"]
    frame.to_csv("rows.csv", index=False)
    (folder / "public.json").write_text(json.dumps(PUBLIC))
    return folder


BUDGET = ("--ledger", "ledger.json", "--budget-epsilon", 3, "--budget-delta", "1e-4")


def test_bounds_for_a_release(rows, done):
    asked = ("bounds", "rows.csv", "--numeric", "bmi", "--category", "ward")
    out, err = done(*asked, "--schema", "public.json", "--epsilon", 1, *BUDGET, "-o", "noisy.json")
    assert "noisy" in out
    assert "Wrote 'noisy.json', which may be published" in out
    assert "spent so far: epsilon 1 of 3" in err
    schema = Schema.read("noisy.json")
    assert schema.names == ("age", "bmi", "ward")
    assert schema.classes == ("died", "home")
    assert schema.columns[2].categories == ("A", "B")
    assert "vermilion" not in out + err + (rows / "noisy.json").read_text()
    assert "4711" not in out + err + (rows / "noisy.json").read_text()
    _, err = done(
        *("release", "rows.csv", "--label", "outcome", "--schema", "noisy.json"),
        *("--epsilon", 1, "--ledger", "ledger.json", "--accept", "people", "-o", "h.skdp"),
    )
    assert "spent so far: epsilon 2 of 3" in err
    assert "The exceptions are bmi, ward" in " ".join(Release.load("h.skdp").summary().split())


def test_people_and_classes(rows, done):
    asked = ("bounds", "rows.csv", "--numeric", "bmi", "--group", "person", "--epsilon", 1)
    out, _ = done(*asked, "--class", "died", "--class", "home", "-o", "noisy.json")
    assert "per person" in out
    assert Schema.read("noisy.json").classes == ("died", "home")

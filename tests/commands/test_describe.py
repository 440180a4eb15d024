import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from skdp import DPStatisticsSource, PrivacyLeakWarning, Release
from skdp.privacy import gaussian_sigma
from skdp.tabular import ClassOutcome


def test_the_text_answers_what_an_officer_asks(hospital, done):
    out, _ = done("describe", "hospital.skdp")
    flat = " ".join(out.split())
    assert out.strip() == Release.load("hospital.skdp").summary()
    assert "4 columns (9 when encoded), and the classes died, home." in flat
    assert "One record: all columns of one row, and its label." in flat
    assert "Also protected: whether the record is in the data at all" in flat
    right = 100 * norm.cdf(1 / gaussian_sigma(4.0, 1e-5) / 2)
    how_well = flat.split("How well")[1].split("If it is known")[0]
    shown = float(how_well.split("%")[1].split()[-1])
    assert right <= shown < right + 0.0101
    assert "Labels Protected together with the columns." in flat
    assert "whole records: all features of the rows and their labels" in flat
    assert "what is public: columns, bounds, encoder" in flat
    assert "'ward': category, 'surgery', 'medicine', 'cardiology'" in flat
    line = str(Release.load("hospital.skdp").guarantee).splitlines()[1]
    assert " ".join(line.split()) in flat


def test_json_says_the_same(hospital, done):
    out, err = done("describe", "hospital.skdp", "--json")
    assert err == ""
    facts, release = json.loads(out), Release.load("hospital.skdp")
    assert facts["classes"] == ["died", "home"]
    assert facts["columns"] == json.loads(Path("schema.json").read_text())["columns"] | {
        "smoker": {"type": "category", "categories": ["0", "1"], "missing": True}
    }
    guarantee = facts["guarantee"]
    assert (guarantee["epsilon"], guarantee["delta"]) == (4.0, 1e-5)
    assert guarantee["unit"] == "labeled record"
    assert guarantee["covers"] == release.guarantee.covers
    assert guarantee["guessed_right_at_most"] == release.guarantee.best_guess()
    assert guarantee["named_rightly_at_most_of_1_in_100"] == release.guarantee.precision_at(0.01)
    assert facts["replace_one"]["epsilon"] == release.guarantee.to_replace_one().epsilon
    assert facts["class_counts"] == [round(c) for c in release.moments.class_counts]
    assert facts["label_guarantee"] is None
    assert facts["record_guarantee"] == guarantee
    assert "How well" in facts["statements"]


def test_a_release_without_noise(folder, done):
    frame = pd.read_csv("draft.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        source = DPStatisticsSource(np.inf, encoder="schema.json")
        source.fit(frame, frame.pop("outcome")).release_.save("open.skdp")
    out, _ = done("describe", "open.skdp")
    assert "Not at all: epsilon is infinite" in out
    out, _ = done("describe", "open.skdp", "--json")
    assert json.loads(out)["guarantee"]["epsilon"] == "infinite"


def test_text_of_a_foreign_file_is_shown_without_effect(hospital, done):
    release = Release.load("hospital.skdp")
    names = ClassOutcome(("died\n\nLabels\n  \x1b[2JProtected", "home"))
    Release(**vars(release) | {"outcome": names, "encoder": None}).save("forged.skdp")
    out, _ = done("describe", "forged.skdp")
    assert "\x1b" not in out
    assert out.count("\nLabels\n") == 1


def test_columns_by_class(hospital, done, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    out, err = done("describe", "hospital.skdp", "--columns")
    assert "the shares of a column need not add up to 1" in err
    lines = out.splitlines()
    assert lines[0].split() == ["died", "home", "all"]
    assert lines[1].split()[0] == "rows"
    known = {line.split("  ")[0] for line in lines[1:]} - {""}
    assert known == {"age", "lactate", "ward", "smoker"}
    assert sum("share of" in line for line in lines) == 5
    # As many digits as the interval leaves.
    age = next(line for line in lines if line.startswith("age"))
    mean = Release.load("hospital.skdp").describe_columns()
    [line] = mean[(mean["column"] == "age") & (mean["statistic"] == "mean")][:1].itertuples()
    digits = 0 if (line.high - line.low) / 2 >= 10 else 1
    assert f" {line.value:.{digits}f} [{line.low:.{digits}f}, {line.high:.{digits}f}]" in age


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_shows_whole_columns(hospital, run, done, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", "200")
    wide = run("describe", "hospital.skdp", "--columns")[1].split()
    monkeypatch.setenv("COLUMNS", str(width))
    for arguments in ((), ("--columns",)):
        out, _ = done("describe", "hospital.skdp", *arguments)
        assert max(map(len, out.splitlines())) <= width
    blocks = out.strip("\n").split("\n\n")
    assert [name for block in blocks for name in block.split("\n")[0].split()] == wide[:3]
    assert not set(wide) - set(out.split())

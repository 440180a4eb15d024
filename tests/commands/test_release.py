import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource, Release
from skdp.noise import GaussianQueries
from skdp.privacy import PrivacyLedger


def edit_lines(path, function):
    """Rewrite a CSV file, line by line of cells."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = [function(i, row) for i, row in enumerate(csv.reader(file))]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)


COLUMNS = ["age", "lactate", "ward", "smoker"]


def changed(command, **replaced):
    """Return a command with other values of some arguments, or without them where None."""
    command = list(command)
    for name, value in replaced.items():
        i = command.index("-o" if name == "output" else f"--{name}")
        command[i : i + 2] = [] if value is None else [command[i], value]
    return command


def test_a_release_is_that_of_the_python_interface(
    folder, done, release_command, shows_nothing_private
):
    # At this ε the noise in a count is a fifth of a row.
    out, err = done(*changed(release_command, epsilon=300))
    release = Release.load("hospital.skdp")
    frame = pd.read_csv("rows.csv", dtype=object, keep_default_na=False)
    frame["age"] = pd.to_numeric(frame["age"], errors="coerce")
    source = DPStatisticsSource(300, encoder="schema.json").fit(
        frame[COLUMNS], frame["outcome"].to_numpy()
    )
    other = source.release_
    np.testing.assert_allclose(
        release.moments.class_counts, frame["outcome"].value_counts()[["died", "home"]], atol=1.5
    )
    np.testing.assert_allclose(release.moments.means, other.moments.means, atol=1e-2)
    assert release.encoder == other.encoder
    assert release.guarantee == other.guarantee
    assert release.guarantee.unit == "labeled record"
    assert shows_nothing_private(out, err)


def test_success_says_what_may_leave(folder, done, release_command, shows_nothing_private):
    out, err = done(*release_command)
    assert f"Wrote 'hospital.skdp': {Release.load('hospital.skdp')!r}.\n" in out
    assert " rows, 2 classes, 9 features, epsilon 4, delta 1e-05" in out
    assert "Only 'hospital.skdp' may be published." in out
    assert "noisy; these may be shown" in out
    assert "without --ledger" in err
    assert shows_nothing_private(out, err)


def test_what_is_left_out_is_not_told(folder, run, done, failed, release_command):
    """The same is said whatever the cells are, apart from what is noisy, once it is accepted."""
    _, _, err = run(*release_command)
    edit_lines("rows.csv", lambda i, row: row if i == 0 else ["x"] * len(row))
    _, refusal = failed(*release_command, "--force")
    accepted = refusal.split("--accept")[1:]
    assert [name.strip() for name in accepted] == [
        *("age:unread", "lactate:unread", "ward:unlisted", "smoker:unlisted"),
        *("outcome:unlisted", "outcome:classes"),
    ]
    _, other = done(
        *release_command, "--force", *(a for name in accepted for a in ("--accept", name.strip()))
    )
    # But for what noisy numbers alone say.
    assert [line for line in other.splitlines() if "too few" not in line] == err.splitlines()


def test_groups_protect_persons(folder, done, release_command, shows_nothing_private):
    out, err = done(*changed(release_command, epsilon=300), "--group", "person")
    release = Release.load("hospital.skdp")
    assert release.guarantee.unit == "group"
    assert "people of each class" in out
    # Half as many persons as rows, but for those with a row of no class.
    assert abs(release.moments.class_counts.sum() - 300) < 3
    assert shows_nothing_private(out, err)


def test_the_ledger_is_charged_and_stops_overspending(
    folder, done, failed, release_command, shows_nothing_private
):
    budget = ("--ledger", "budget.json")
    limits = ("--budget-epsilon", 5, "--budget-delta", 1e-5)
    _, err = done(*release_command, *budget, *limits)
    assert "spent so far: epsilon 4 of 5, delta 1e-05 of 1e-05" in err
    [(name, guarantee)] = PrivacyLedger(path="budget.json").entries
    assert name == "hospital.skdp"
    assert guarantee == Release.load("hospital.skdp").guarantee
    again = changed(release_command, output="again.skdp")
    out, err = failed(*again, *budget)
    assert "This release would bring epsilon to" in err
    assert "(less than 4 + 4, because Gaussian losses add up by their squares), above the 5" in err
    assert "charging" not in err
    assert not Path("again.skdp").exists()
    assert len(PrivacyLedger(path="budget.json").entries) == 1
    assert shows_nothing_private(out, err)


def test_what_fails_after_the_charge_stays_spent(
    folder, failed, release_command, monkeypatch, shows_nothing_private
):
    def fails(self, *query):
        raise RuntimeError("cannot do with Zaphod")

    monkeypatch.setattr(GaussianQueries, "add", fails)
    limits = ("--budget-epsilon", 5, "--budget-delta", 1e-5)
    out, err = failed(*release_command, "--ledger", "budget.json", *limits)
    assert "spent so far: epsilon 4 of 5" in err
    assert "unexpected failure (RuntimeError)" in err
    assert shows_nothing_private(out, err)
    assert not Path("hospital.skdp").exists()
    assert len(PrivacyLedger(path="budget.json").entries) == 1


def test_nothing_is_charged_where_a_mistake_is_found(folder, failed, release_command):
    limits = ("--ledger", "budget.json", "--budget-epsilon", 5, "--budget-delta", 1e-5)
    for mistake in ({"label": "otcome"}, {"output": "none/x.skdp"}, {"schema": "no.json"}):
        failed(*changed(release_command, **mistake), *limits)
        assert not Path("budget.json").exists()


def test_the_ledger_is_never_replaced(folder, failed, release_command):
    command = changed(release_command, output="budget.skdp")
    PrivacyLedger(9, 1e-5, path="budget.skdp")
    _, err = failed(*command, "--ledger", "budget.skdp", "--force")
    assert "is also an input" in err
    assert PrivacyLedger(path="budget.skdp").epsilon == 9


def test_parquet_is_read_as_csv_is(folder, done, release_command):
    pytest.importorskip("pyarrow")
    frame = pd.concat([pd.read_csv("draft.csv").astype({"smoker": "Int64"})] * 20)
    frame.index = pd.Index([f"p{i // 2}" for i in range(len(frame))], name="person")
    frame.to_parquet("rows.parquet")
    command = list(changed(release_command, epsilon=300))
    command[1] = "rows.parquet"
    done(*command, "--group", "person")
    release = Release.load("hospital.skdp")
    source = DPStatisticsSource(300, encoder="schema.json", privacy_unit="group").fit(
        frame[COLUMNS], frame["outcome"], groups=frame.index.to_numpy(object)
    )
    np.testing.assert_allclose(release.moments.means, source.release_.moments.means, atol=1e-2)


@pytest.mark.parametrize(
    ("classes", "warns"), [(["Died", "Home"], True), (["died", "home"], False)]
)
def test_a_release_that_tells_nothing_is_warned_of(folder, done, release_command, classes, warns):
    schema = json.loads(Path("schema.json").read_text())
    Path("schema.json").write_text(json.dumps(schema | {"classes": classes}))
    accept = ("--accept", "outcome:spelling", "--accept", "outcome:classes")
    _, err = done(*release_command, *accept)
    assert ("Check that labels are spelled like the classes" in err) == warns

"""``skdp check``, and ``skdp release`` of ruined tables: refused before anything is spent."""

import json
from pathlib import Path

import pandas as pd
import pytest

from skdp.privacy import PrivacyLedger

BUDGET = ("--ledger", "budget.json", "--budget-epsilon", 9, "--budget-delta", 1e-4)
TEMPERATURE = {"type": "numeric", "low": 30, "high": 45}
CREATININE = {"type": "numeric", "low": 0.2, "high": 12, "log": True}
SEX = {"type": "category", "categories": ["female", "male"]}
FIRST = "This report is private: it tells about the rows. It stays here."


@pytest.fixture
def hospital_rows(folder):
    """Rows in order, with columns that are easily in other units, and their schema."""
    schema = json.loads(Path("schema.json").read_text())
    schema["columns"] |= {"temperature": TEMPERATURE, "creatinine": CREATININE, "sex": SEX}
    Path("schema.json").write_text(json.dumps(schema))
    rows = pd.read_csv("rows.csv", dtype=object, keep_default_na=False).drop(columns="person")
    age = pd.to_numeric(rows["age"], errors="coerce").fillna(50).clip(18, 105)
    rows = rows.assign(
        temperature=(36 + age / 50).round(1),
        creatinine=(0.6 + age / 100).round(2),
        sex=["female", "male"] * (len(rows) // 2),
    )
    rows.to_csv("rows.csv", index=False)
    return rows


def commas(rows):
    return rows.astype(str).replace(r"^(\d+)\.(\d+)$", r"\1,\2", regex=True)


RUINED = {
    "decimal commas": (
        commas,
        ["age", "lactate", "temperature", "creatinine"],
        "decimals",
        lambda rows: rows.astype(str).replace(r"^(\d+),(\d+)$", r"\1.\2", regex=True),
    ),
    "°F": (
        lambda rows: rows.assign(temperature=rows["temperature"] * 1.8 + 32),
        ["temperature"],
        "clipped",
        lambda rows: rows.assign(temperature=(rows["temperature"] - 32) / 1.8),
    ),
}


@pytest.mark.parametrize("name", RUINED)
def test_ruined_tables_are_refused_until_mended_or_accepted(
    hospital_rows, run, done, release_command, name, shows_nothing_private
):
    ruin, columns, kind, mend = RUINED[name]
    found = [f"{column}:{kind}" for column in columns]
    ruined = ruin(hospital_rows)
    ruined.to_csv("rows.csv", index=False)
    code, out, err = run(*release_command, *BUDGET)
    assert (code, out) == (1, "")
    assert "Nothing was charged. Keep this line private." in err
    assert err.strip().endswith(" ".join(f"--accept {name}" for name in found))
    assert not any(character.isdigit() for character in err)
    assert not Path("budget.json").exists()
    assert not Path("hospital.skdp").exists()
    assert shows_nothing_private(err)

    accepted = [argument for name in found for argument in ("--accept", name)]
    out, _ = done(*release_command, *BUDGET, *accepted)
    mend(ruined).to_csv("rows.csv", index=False)
    mended, _ = done(*release_command, "--ledger", "budget.json", "--force")
    # A release says as much of one table as of the other.
    assert len(mended.splitlines()) == len(out.splitlines())
    assert len(PrivacyLedger.open("budget.json").entries) == 2


def test_check_shows_counts_to_the_owner(hospital_rows, run, failed):
    command = ("check", "rows.csv", "--schema", "schema.json")
    code, out, err = run(*command, "--label", "outcome")
    assert (code, err) == (0, "skdp: reading 'rows.csv'\n")
    assert out.splitlines()[0] == FIRST
    assert (
        "600 rows; classes 'died' 267, 'home' 332" in out.replace("\n", " ") or "600 rows" in out
    )
    assert "No stop was found." in out
    hospital_rows.assign(sex=hospital_rows["sex"].str.upper()).to_csv("rows.csv", index=False)
    out, _ = failed(*command)
    assert out.splitlines()[0] == FIRST
    assert "labels were not checked" in out
    assert "'FEMALE' (300; 'female'?)" in out


@pytest.mark.parametrize("given", ["age:wrong", "height:clipped", "clipped", "age"])
def test_what_cannot_be_found_cannot_be_accepted(folder, failed, release_command, given):
    _, err = failed(*release_command, "--accept", given)
    assert f"--accept '{given}' is not a stop. Write COLUMN:KIND" in err
    assert "codes, clipped" in err


def test_needless_acceptance_says_nothing(folder, run, release_command):
    """Whether it was needed tells about the rows."""
    _, _, expected = run(*release_command)
    code, _, err = run(*release_command, "--accept", "age:clipped", "--force")
    assert (code, err) == (0, expected)


def test_a_target_checks_its_table_against_a_release(hospital_rows, run, done, release_command):
    done(*release_command, "--ledger", "budget.json", *BUDGET[2:])
    rows = hospital_rows.assign(outcome=["home"] * 9 + [""] * (len(hospital_rows) - 9))
    rows.to_csv("target.csv", index=False)
    asked = ("check", "target.csv", "--label", "outcome", "--schema")
    code, out, _ = run(*asked, "schema.json")
    assert code == 1
    assert "outcome:missing" in out
    code, out, _ = run(*asked, "hospital.skdp")
    assert code == 0
    assert "outcome:missing" not in out
    rows.drop(columns="outcome").assign(temperature=98.0).to_csv("target.csv", index=False)
    code, out, _ = run("check", "target.csv", "--schema", "hospital.skdp")
    assert code == 1
    assert "temperature:clipped" in out
    # An unlisted category is unknown to the release: no stop, as nothing is released.
    rows.drop(columns="outcome").assign(ward="elsewhere").to_csv("target.csv", index=False)
    code, out, _ = run("check", "target.csv", "--schema", "schema.json")
    assert (code, "ward:unlisted" in out) == (1, True)
    code, out, _ = run("check", "target.csv", "--schema", "hospital.skdp")
    assert code == 0
    assert "Remarks:\n  ward:unlisted" in out
    assert "few-rows" not in out

"""Five hundred ruined CSV files: nothing private is shown, or charged."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from skdp.privacy import PrivacyLedger
from skdp.tabular import COLUMN_KINDS, TABLE_KINDS

SCHEMA = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 18, "high": 110},
        "ward": {"type": "category", "categories": ["A1", "B2", "007"], "missing": True},
    },
    "classes": ["died", "home"],
}
# Each cell of the private rows is unlike anything else that is ever shown.
ROWS = [
    [f"Zaphod{i}x", f"{4711 + i}.{i}25", f"vermi{i}lion", f"B-61{i}2", f"quux{i}y"]
    for i in range(10, 18)
]
HEADER = ["name", "age", "ward", "person", "outcome"]
PIECES = [
    *(b",", b'"', b"\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf"),
    *(b"=1+1", b"1e400", b"NA", b"X01", b"  "),
]
COMMAND = (
    *("release", "rows.csv", "--label", "outcome", "--schema", "schema.json", "--epsilon", 1),
    *("--ledger", "budget.json", "--budget-epsilon", 9, "--budget-delta", 1e-4, "-o", "out.skdp"),
)


def _accepted(columns):
    """Return arguments that accept all that may be found, to reach mistakes beyond the check."""
    names = [f"{column}:{kind}" for column in columns for kind in COLUMN_KINDS]
    return [argument for name in (*names, *TABLE_KINDS) for argument in ("--accept", name)]


def _altered(rng):
    """Return the bytes of a table that was altered once or a few times, anywhere."""
    table = "\n".join(",".join(line) for line in [HEADER, *ROWS]).encode() + b"\n"
    for _ in range(rng.randint(1, 4)):
        start, length = rng.randint(len(table)), rng.randint(1, 12)
        stop, other = min(start + length, len(table)), rng.randint(len(table))
        piece, lines = PIECES[rng.randint(len(PIECES))], table.split(b"\n")
        table = (
            [
                table[:start] + table[stop:],  # cut out
                table[:start] + piece + table[start:],  # put in
                table[:start] + piece + table[stop:],  # replaced
                table[: start + 1],  # truncated
                table[:start] + table[other : other + length] + table[start:],  # from elsewhere
                table[:start] + bytes([rng.randint(256)]) + table[start + 1 :],
                b"\n".join(lines[i] for i in rng.permutation(len(lines))),
            ][rng.randint(7)]
            or b"\n"
        )
    return table


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_nothing_private_is_shown_or_charged_without_a_release(part, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # takes most of the time
    Path("schema.json").write_text(json.dumps(SCHEMA))
    rng = np.random.RandomState(part)
    # Text of the private table, in pieces that no public text has: header and schema are public.
    pieces = {cell[i : i + 5] for row in ROWS for cell in row for i in range(len(cell) - 4)}
    codes = []
    for i in range(100):
        Path("rows.csv").write_bytes(_altered(rng))
        person = ("--group", "person") if i % 2 else ()
        columns = ("age", "ward", "outcome", *person[1:])
        accepted = _accepted(columns) if i % 9 else ()
        code, out, err = run(*COMMAND, *person, *accepted)
        if accepted:
            codes.append(code)
        else:  # no table here is one that anybody would release
            assert code == 1
        assert not [piece for piece in pieces if piece in out + err]
        known = Path("budget.json").exists()
        charged = len(PrivacyLedger.open("budget.json").entries) if known else 0
        assert charged == Path("out.skdp").exists() == (code == 0)
        for name in set(os.listdir()) - {"rows.csv", "schema.json"}:
            assert name in {"budget.json", "out.skdp", "budget.json.lock"}
            os.remove(name)
    assert 0.1 < sum(codes) / len(codes) < 0.9

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_main_job_on_embedded_digits(tmp_path):
    environment = {**os.environ, "MPLBACKEND": "agg", "SKDP_DATA": ""}
    run = subprocess.run(
        [sys.executable, EXAMPLES / "plot_private_digits.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    table = [line.split() for line in run.stdout.splitlines() if "%" in line]
    clean = float(table[0][-1].rstrip("%"))
    rows = [[float(cell.rstrip("%")) for cell in line] for line in table[1:]]
    assert clean > 96
    assert [row[0] for row in rows] == [16, 8, 4, 2, 1, 0.5]
    for _, optimal, gaussian, *_ in rows:
        assert optimal > gaussian
    assert (tmp_path / "private_digits.png").stat().st_size > 10_000

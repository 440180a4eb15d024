import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def run_example(folder, *command):
    """Run an example on embedded data; return the lines that it prints."""
    run = subprocess.run(
        [sys.executable, EXAMPLES / command[0], *command[1:]],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg", "SKDP_DATA": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


def table_of(folder, *command):
    """Run an example; return the cells of its lines that hold a %."""
    return [line.split() for line in run_example(folder, *command) if "%" in line]


def test_main_job_on_embedded_digits(tmp_path):
    command = ("plot_private_transfer.py", "--draws", "1", "--epsilons", "1", "8", "inf")
    same, other = {}, {}
    table = table_of(tmp_path, *command)
    for block, lines in ((same, table[1:5]), (other, table[5:9])):
        for line in lines:
            block[" ".join(line[:-3])] = [float(cell.rstrip("%")) for cell in line[-3:]]
    assert list(same) == list(other)
    assert len(same) == 4
    for block in (same, other):  # the unlabelled rows help
        assert block["no transfer (self-training)"] > block["labels only (1-NN)"]
        # A source that is worth little does little harm, whatever the noise.
        alone, found = block["no transfer (self-training)"][0], block["transfer, noise-aware"]
        assert sum(found) / len(found) > alone - 3
        assert min(found) > alone - 12
    # Not private: no noise.
    assert same["transfer, alignment"][-1] > same["no transfer (self-training)"][-1] + 1
    assert same["transfer, noise-aware"][-1] > same["no transfer (self-training)"][-1] - 0.3
    assert other["transfer, noise-aware"][-1] > other["transfer, alignment"][-1] + 5
    assert (tmp_path / "private_transfer.png").stat().st_size > 10_000


def test_four_hospitals_on_the_embedded_patients(tmp_path):
    lines = run_example(tmp_path, "plot_four_hospitals.py", "--draws", "1")
    titles = [k for k, line in enumerate(lines) if line.endswith("labels")]
    losses, areas = (
        {
            line[:40].strip(): [float(cell) for cell in line[40:].split()]
            for line in lines[k + 1 : k + 17]
        }
        for k in titles
    )
    assert len(losses) == len(areas) == 16
    # The noise has no seed: margins are several times its spread.
    for name in ("Cleveland, 46% ill", "Budapest, 36% ill"):
        assert min(areas[f"{name}: transfer"]) > 0.75
        assert losses[f"{name}: transfer"][-1] < losses[f"{name}: releases alone"][-1] - 0.05
    for name in ("Budapest, 36% ill", "Zurich-Basel, 93% ill"):
        known, alone = losses[f"{name}: frequency known"], losses[f"{name}: releases alone"]
        assert known[0] < alone[0] - 0.05
    assert (tmp_path / "four_hospitals.png").stat().st_size > 10_000


def test_the_officers_page_states_what_the_noise_allows(tmp_path):
    lines = run_example(tmp_path, "plot_officers_page.py")
    assert [line.split()[-1] for line in lines] == ["59.9%", "3.3%"]
    assert not list(tmp_path.iterdir())


def test_statistics_on_made_up_hospitals(tmp_path):
    lines = run_example(tmp_path, "plot_private_statistics.py")
    alone = next(float(line.split()[-1]) for line in lines if line.startswith("AUC with 20"))
    table = [[float(cell) for cell in line.split()] for line in lines[-6:-2]]
    assert [row[0] for row in table] == [0.25, 1, 4, 16]
    for _, statistics, transfer, rows in table:  # the noise has no seed; five releases each
        assert min(statistics, transfer) > rows
        assert statistics > alone
        assert transfer > statistics - 0.05
    assert table[-1][1] > table[0][1]
    assert (tmp_path / "private_statistics.png").stat().st_size > 10_000


def test_noises_on_embedded_digits(tmp_path):
    table = table_of(tmp_path, "plot_private_digits.py")
    clean = float(table[0][-1].rstrip("%"))
    rows = [[float(cell.rstrip("%")) for cell in line] for line in table[1:]]
    assert clean > 96
    assert [row[0] for row in rows] == [0.5, 1, 2, 4, 8, 16]
    for _, optimal, gaussian, *_ in rows:
        assert optimal > gaussian
    assert (tmp_path / "private_digits.png").stat().st_size > 10_000


def test_participants_on_embedded_digits(tmp_path):
    rows = {
        row[0]: [float(cell.rstrip("%")) for cell in row[1:]]
        for row in table_of(tmp_path, "plot_participants.py")
    }
    assert list(rows) == ["1", "10", "none"]
    # The noise has no seed; "best alone" is picked in hindsight and may win by chance.
    for merged, best_alone, mean_alone in rows.values():
        assert merged > mean_alone + 3
        assert best_alone > mean_alone
    assert rows["none"][0] > 90
    assert (tmp_path / "participants.png").stat().st_size > 10_000


def test_audits_on_embedded_digits(tmp_path):
    lines = run_example(tmp_path, "plot_privacy_audit.py", "--trials", "100000")
    verdicts = [line for line in lines if "verdict" in line]
    assert [verdict.split(",")[0] for verdict in verdicts] == [
        "verdict:  not refuted by these attacks",
        "verdict:  REFUTED",
        "verdict:  REFUTED",
    ]
    more, some, none = ([float(c.rstrip("%")) for c in line.split()] for line in lines[-5:-2])
    assert (none[0], some[1], more[1]) == (float("inf"), 512, 64)
    assert none[2] > 0.9  # the area under the curve
    assert more[2] < 0.58
    assert none[-1] > 2  # the audited epsilon
    assert (tmp_path / "privacy_audit.png").stat().st_size > 10_000


def test_belief_network_on_a_made_up_cohort(tmp_path):
    lines = run_example(tmp_path, "plot_behaviour_cdbn.py")
    if find_spec("torch") is None:
        assert lines == ["This example needs PyTorch: pip install 'skdp[neural]'."]
        return
    clean = float(lines[1].split()[-1].rstrip("%"))
    rows = [[float(cell.rstrip("%")) for cell in line.split()] for line in lines[3:7]]
    assert clean > 63
    assert [row[0] for row in rows] == [0.5, 2, 8, 32]
    # The noise has no seed: margins are several times its spread.
    assert min(row[1] for row in rows) > 55
    assert rows[-1][2] > rows[0][2] + 5
    assert all(row[3] > row[0] for row in rows)  # what a row has is not the parameter
    assert (tmp_path / "behaviour_cdbn.png").stat().st_size > 10_000


def test_combination_on_embedded_digits(tmp_path):
    *alone, combined = (
        float(row[-1].rstrip("%")) for row in table_of(tmp_path, "plot_secure_combination.py")
    )
    assert len(alone) == 3
    assert combined > max(alone)
    assert (tmp_path / "secure_combination.png").stat().st_size > 10_000


def test_what_noise_leaves_to_be_known(tmp_path):
    lines = run_example(tmp_path, "plot_noise_information.py")[1:]
    rows = [[float(cell) for cell in line.split()[-3:]] for line in lines]
    for optimal, staircase, gaussian in (rows[k : k + 3] for k in (0, 3, 6)):
        assert staircase[0] < optimal[0] < gaussian[0]  # noise
        for k in (1, 2):  # information
            assert staircase[k] > optimal[k] > gaussian[k]
    assert (tmp_path / "noise_information.png").stat().st_size > 10_000


def test_how_much_of_a_column_is_left(tmp_path):
    lines = run_example(tmp_path, "plot_leakage.py", "--epsilons", "1", "64")[1:]
    assert "above 3 permutations" in lines[-1]
    bits = [float(line.split()[-2]) for line in lines[:-1]]
    weak, strong = bits[:4], bits[-4:]
    assert max(weak) < 0.05  # nothing to be found at ε = 1
    rows, without, codes, risk = strong
    assert 2 < rows < 3
    assert rows > codes > risk  # each is made of the one before
    assert rows > without + 1
    assert (tmp_path / "leakage.png").stat().st_size > 10_000


def test_which_owner_s_release_to_take(tmp_path):
    lines = run_example(tmp_path, "plot_transferability.py")[1:]
    claimed, worth = ([float(line.split()[k]) for line in lines] for k in (-3, -1))
    assert len(lines) == 9
    # Zurich and Basel, where nearly all are ill, are worth least and claim least.
    assert max(worth[3:6]) < max(worth[:3])
    assert max(claimed[3:6]) < 0.1 < max(claimed[:3])
    assert (tmp_path / "transferability.png").stat().st_size > 10_000

"""The examples run on embedded data, as in the gallery, and show what their text says."""

import io
import runpy
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

from skdp import DPTransferClassifier
from skdp.privacy import gaussian_delta, gaussian_epsilon, gaussian_sigma

plt = pytest.importorskip("matplotlib.pyplot")
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run_example(tmp_path, monkeypatch, capsys, quick_noise, no_rehearsals):
    """Run an example on embedded data, and return the lines that it prints.

    Releases are made without what only takes time there: exact noise, and rehearsals.

    Of figures it checks those that are no displays, whose sizes are those of their class.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKDP_DATA", "")
    monkeypatch.setenv("MPLBACKEND", "agg")  # of processes that an example starts
    plt.switch_backend("agg")
    plt.close("all")  # what other tests of this process have left open

    def run(name, *arguments, displays=False):
        monkeypatch.setattr(sys, "argv", [str(EXAMPLES / name), *arguments])
        with warnings.catch_warnings(), plt.rc_context():
            runpy.run_path(sys.argv[0], run_name="__main__")
            if not displays:
                for figure in map(plt.figure, plt.get_fignums()):
                    check_figure(figure)
        plt.close("all")
        return capsys.readouterr().out.splitlines()

    yield run
    plt.close("all")


def check_figure(figure):
    """It has a text for those who do not see it, and can be read on a telephone."""
    figure.savefig(io.BytesIO())
    assert len(figure.get_label()) > 60
    assert figure.get_figwidth() <= 6  # inches: letters of 10 points have 9 pixels where 400 are
    assert min(text.get_fontsize() for text in figure.findobj(plt.Text)) >= 10
    for axes in figure.axes:
        assert axes.get_xlim()[0] < axes.get_xlim()[1]
        assert not any(bar.get_x() for bar in axes.patches)  # they start at 0
        if axes.get_xlabel().startswith("ε") and axes.get_xscale() == "linear":
            # Either ε is what was found, or its ticks are at equal steps and end without noise.
            last = axes.get_xticklabels()[-1].get_text()
            assert last == "∞" or "δ" in axes.get_xlabel()


def pictures_in(folder):
    """Return the names of the pictures that an example has written, none of them empty."""
    return {path.stem for path in folder.glob("*.png") if path.stat().st_size > 10_000}


def found_by(lines, name):
    """Return the numbers behind a name that a line starts with; "a ± b" is two, % are left out."""
    line = next(line for line in lines if " ".join(line.split()).startswith(name))
    cells = " ".join(line.split()).removeprefix(name)
    for sign in "±%,:":
        cells = cells.replace(sign, " ")
    return [float(cell) for cell in cells.split()]


def test_every_example_is_run_here():
    here = Path(__file__).read_text()
    names = [str(path.relative_to(EXAMPLES)) for path in sorted(EXAMPLES.rglob("plot_*.py"))]
    assert [name for name in names if f'"{name}"' not in here] == []


def test_a_first_release(run_example):
    lines = run_example("plot_first_release.py")
    release, alone, both = (
        found_by(lines, f"{name} log loss")
        for name in ("release", "30 diagnoses", "release and 30 diagnoses")
    )
    assert both[0] < min(release[0], alone[0]) - 0.02
    assert both[0] < 0.47


def test_four_hospitals_on_the_embedded_patients(run_example, tmp_path):
    lines = run_example("plot_four_hospitals.py", "--draws", "1", "--labels", "0", "60")
    titles = [k for k, line in enumerate(lines) if line.endswith("labels")]
    losses, areas = (
        {
            line[:40].strip(): [float(cell) for cell in line[40:].split()[::3]]
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
    assert pictures_in(tmp_path) == {"four_hospitals"}


def test_a_schema_and_a_check(run_example):
    lines = run_example("tables/plot_schema.py")
    for stop in ("age:clipped", "marital-status:spelling", "hours-per-week:clipped"):
        assert f"  {stop}" in lines
    right, spelled, wrong = (
        found_by(lines, f"{name} AUC")[0] for name in ("no mistake", "lower case", "all three")
    )
    assert right > 0.86
    assert right > spelled + 0.02
    assert spelled > wrong + 0.02


def test_several_visits_a_person(run_example):
    lines = run_example("tables/plot_visits.py", "--draws", "2")
    # Ten times the distance of ε = 1, of the closed form of Gaussian noise.
    sigma = gaussian_sigma(1.0, 1e-5)
    ten = gaussian_epsilon(sigma, 1e-5, sensitivity=10)
    assert f"ε = 1 per visit is ε = {ten:.1f} for a person with ten visits" in lines
    assert gaussian_delta(sigma / 10, ten) == pytest.approx(1e-5, rel=1e-3)
    visit, person = (found_by(lines, f"ε = 1 per {unit} AUC")[0] for unit in ("visit", "person"))
    assert visit > person - 0.01
    assert person > 0.77


def test_statistics_on_synthetic_hospitals(run_example):
    lines = run_example("tables/plot_private_statistics.py", "--draws", "1")
    [best] = found_by(lines, "AUC of all records, not private")
    few, _ = found_by(lines, "AUC of 50 outcomes")
    table = [found_by(lines, str(epsilon)) for epsilon in (0.25, 1, 4, 16)]
    for statistics, _, rows, _ in table:  # the noise has no seed
        assert best > statistics > rows
    assert table[0][0] < table[-1][0]
    assert few < table[1][0]


def test_synthetic_rows_and_their_limits(run_example):
    lines = run_example("tables/plot_synthetic_rows.py", "--draws", "1")
    real, synthetic = (
        found_by(lines, f"boosting, {kind} rows AUC")[0] for kind in ("real", "synthetic")
    )
    release, _ = found_by(lines, "the release itself AUC")
    assert real > release > synthetic > 0.84
    assert any(line.startswith("husbands who are women") for line in lines)


def test_which_release_to_take(run_example):
    lines = run_example("tables/plot_transferability.py", "--draws", "1")
    # Without labels, with some, and of later patients.
    cleveland = [found_by(lines, f"Cleveland {epsilon}")[::2] for epsilon in (4, 16)]
    zurich = [found_by(lines, f"Zurich-Basel {epsilon}")[::2] for epsilon in (4, 16)]
    for k in range(3):
        assert max(line[k] for line in zurich) < max(line[k] for line in cleveland)


def test_how_much_of_a_column_is_left(run_example):
    lines = run_example("privacy/plot_leakage.py", "--epsilons", "64")[1:]
    assert "above 3 permutations" in lines[-1]
    bits = [float(line.split()[-2]) for line in lines[:-1]]
    rows, without, codes, risk = bits  # test_leakage.py: nothing is found where nothing is
    assert 2 < rows < 3
    assert rows > codes > risk  # each is made of the one before
    assert rows > without + 1


def test_the_officers_page_states_what_the_noise_allows(run_example, tmp_path):
    lines = run_example("privacy/plot_officers_page.py")
    assert [line.split()[-1] for line in lines] == ["59.9%", "3.3%"]
    assert not list(tmp_path.iterdir())


def test_audits_of_a_source(run_example, no_doubts):
    lines = run_example("privacy/plot_audit_release.py", "--trials", "100")
    right, careless = (line for line in lines if "verdict" in line)
    assert "not refuted" in right
    assert "which detect at least epsilon" in right
    assert careless == "verdict:  REFUTED"


def test_audits_of_membership(run_example):
    lines = run_example("privacy/plot_privacy_audit.py", "--draws", "1")
    some, none = found_by(lines, "1 64"), found_by(lines, "inf inf")
    assert some[0] < 0.58  # the area under the curve
    assert none[0] > 0.9
    assert none[2] > 2  # the audited ε


def test_private_evaluations(run_example, seeded_noise):
    # Without a seed, in one of some twenty runs the intervals at ε = 3 are as wide as at 0.1.
    lines = run_example("privacy/plot_private_evaluation.py", "--draws", "4")
    [table] = [k for k, line in enumerate(lines) if "(exact: " in line]
    exact = float(lines[table].split("(exact: ")[1].rstrip(")"))
    rows = [found_by([line.replace("to", "")], "") for line in lines[table + 1 : table + 5]]
    assert [row[0] for row in rows] == [0.1, 0.3, 1, 3]
    assert rows[-1][1] == pytest.approx(exact, abs=0.06)
    assert rows[-1][3] < exact < rows[-1][4] + 0.03  # four intervals of 95 %
    widths = [high - low for *_, low, high in rows]
    assert widths[-1] < 0.8 * widths[0]


def test_noise_on_every_pixel(run_example):
    lines = run_example("image_data/plot_private_digits.py", "--draws", "1")
    same, best = found_by([lines[0].replace("; support vectors, not private", "")], "not private")
    assert 96 < same < best
    for epsilon in (0.5, 1, 2, 4, 8, 16):
        optimal, _, magnitude, staircase, _, smaller, gaussian, _, larger = found_by(
            lines, str(epsilon)
        )
        assert min(optimal, staircase) > gaussian
        assert smaller < magnitude < larger


def test_releases_of_whole_images(run_example):
    lines = run_example("image_data/plot_image_release.py", "--draws", "1")
    [best] = found_by(lines, "support vectors, not private")
    names = ("pixels, logistic", "gradients, logistic", "pixels, mixtures")
    for accuracy in (
        found_by([line.replace(",", "") for line in lines], n.replace(",", "")) for n in names
    ):
        assert best > accuracy[-2] > accuracy[0]
        assert accuracy[-2] > 88


def test_stored_results_of_transfer(run_example, monkeypatch):
    # Its one model is fitted below as well.
    monkeypatch.setattr(DPTransferClassifier, "fit", lambda model, X, y: model)
    monkeypatch.setattr(DPTransferClassifier, "score", lambda model, X, y: 0.5)
    lines = run_example("image_data/plot_private_transfer.py")
    table = {
        tuple(line.split("|")[k].strip() for k in (0, 1)): line.split("|")[2].split()
        for line in lines
        if line.count("|") == 2
    }
    assert len(table) == 8
    assert all(len(cells) == 12 for cells in table.values())


def test_results_of_transfer(run_example, few_rounds):
    command = ("--compute", "--draws", "1", "--epsilons", "inf")
    lines = run_example("image_data/plot_private_transfer.py", *command)
    table = [
        [float(cell) for cell in line.split("|")[2].split()[::2]]
        for line in lines
        if line.count("|") == 2
    ]
    for labels, alone, noise_aware, _ in (table[:4], table[4:]):
        assert alone[0] > labels[0]  # the unlabeled rows help
        # A source that is worth little does little harm.
        assert min(noise_aware) > alone[0] - 3
    assert table[3] > table[1]  # without noise, alignment is ahead of self-training
    assert table[6][0] > table[7][0] + 5


# What their texts say is tested of what they call: sums in chunks, layers, polynomials, outcomes.
@pytest.mark.parametrize(
    "name",
    [
        *("tables/plot_larger_than_memory.py", "tables/plot_number.py", "tables/plot_survival.py"),
        *("image_data/plot_layers.py", "image_data/plot_polynomials.py"),
    ],
)
def test_others_run_to_their_end(run_example, name):
    assert run_example(name, displays=name == "tables/plot_number.py")


def test_a_number_at_another_hospital(run_example):
    lines = run_example("owners/plot_heart_rate.py")
    error = {name: float(value) for name, _, value in (ln.partition(": ") for ln in lines[1:])}
    # The noise has no seed: over draws the mean of all hospitals varies by about .3.
    assert error["releases and the 20"] < error["releases"] - 1
    assert error["releases and the 20"] < error["mean of the 20"] + 0.5


def test_participants_on_embedded_digits(run_example, monkeypatch):
    run, processes = subprocess.run, []

    def first_elsewhere(program, check):
        """Let one participant have a process of its own, which takes longer than what it does."""
        if not processes:
            processes.append(run(program, check=check))
            return
        with monkeypatch.context() as here:
            here.setattr(sys, "argv", ["-c", *program[3:]])
            exec(program[2], {})

    monkeypatch.setattr(subprocess, "run", first_elsewhere)
    command = ("--draws", "1", "--epsilons", "1", "10", "inf")
    lines = run_example("owners/plot_participants.py", *command)
    [pooled] = found_by(lines, "all rows in one place, not private")
    rows = [found_by(lines, level) for level in ("1 ", "10 ", "inf ")]
    for merged, _, alone, _ in rows:  # the noise has no seed
        assert pooled > merged > alone + 2
    assert rows[-1][0] > 90
    assert len(processes) == 1


def test_combination_on_embedded_digits(run_example):
    lines = run_example("owners/plot_secure_combination.py")
    alone, combined, best = (
        found_by(lines, name)[0]
        for name in ("one participant", "three combined", "one model of all rows")
    )
    assert best > combined > alone + 3


def test_results_of_a_belief_network(run_example):
    stored = run_example("owners/plot_behavior_cdbn.py")
    assert found_by(stored, "logistic regression, not private")[0] > 68
    assert sum(line.startswith("batch ") for line in stored) == 4
    if find_spec("torch") is None:
        return
    command = ("--compute", "--draws", "1", "--epsilons", "8")
    lines = run_example("owners/plot_behavior_cdbn.py", *command)
    for name in ("row inf", "batch 8", "row 8"):
        now, before = found_by(lines, name), found_by(stored, name)
        assert now[0] == pytest.approx(before[0], abs=3)
        assert now[2] == pytest.approx(before[2], rel=1e-3)


def test_a_plan_is_near_what_is_reached(run_example, tmp_path):
    lines = run_example("privacy/plot_choosing_epsilon.py", "--draws", "1", displays=True)
    assert pictures_in(tmp_path) == {"choosing_epsilon"}
    rows = [[float(cell) for cell in line.split()[2:5]] for line in lines[-8:]]
    assert [row[0] for row in rows] == [0.1, 0.3, 1.0, 3.0] * 2
    for epsilon, planned, reached in rows:
        if epsilon >= 1:
            assert abs(planned - reached) < 0.08  # one draw of each
            assert reached > 0.75


def test_a_ledger_refuses_and_few_releases_are_worth_more(run_example, tmp_path):
    lines = run_example("privacy/plot_budget_over_a_year.py", "--draws", "3", displays=True)
    assert pictures_in(tmp_path) == {"budget_over_a_year", "one_release_or_twelve"}
    assert lines[0].startswith("2026-09-10, another study: This release would bring epsilon to")
    single, together = (float(word.rstrip(",")) for word in lines[1].split()[5::2])
    assert (single, together < 1.5) == (2.5, True)
    epsilons = [float(line.split(" = ")[1].split()[0]) for line in lines[2:]]
    areas = [float(line.split("AUC ")[1].split()[0]) for line in lines[2:]]
    assert epsilons[0] == 2.0
    assert epsilons[1] > 2.0 / 4  # better than dividing by the number of releases
    assert areas[0] > areas[3] + 0.01


def test_explanations(run_example, tmp_path):
    lines = run_example("tables/plot_explanations.py", "--draws", "2", displays=True)
    pictures = {"explanation_of_one", "explanation_of_many", "explanation_and_noise"}
    assert pictures_in(tmp_path) == pictures
    assert "probability 0." in lines[0]
    importances = {line.split()[0]: float(line.split()[1]) for line in lines[-8:]}
    assert importances["cp"] > importances["trestbps"]


def test_shapes_of_an_additive_model(run_example, tmp_path):
    lines = run_example("tables/plot_additive_shapes.py", "--draws", "2", displays=True)
    pictures = {"additive_shapes", "additive_shape_of_age", "additive_or_linear"}
    assert pictures_in(tmp_path) == pictures
    spread, width = (float(line.strip(";")) for line in lines[0].split() if line[0].isdigit())
    assert width > 1 > 2 * spread
    areas = [float(line.split()[-2]) for line in lines[2:8]]
    assert min(areas) > 0.85
    assert areas[2] > areas[5] - 0.005  # additive and linear at ε = 4


def test_frequencies_and_costs(run_example, tmp_path):
    lines = run_example("tables/plot_frequencies_and_costs.py", "--draws", "2", displays=True)
    assert pictures_in(tmp_path) == {"frequencies", "costs"}
    as_it_is, known, labels = (float(line.split(" ± ")[1].split()[-1]) for line in lines[1:4])
    assert known < as_it_is - 0.08
    assert labels < as_it_is - 0.03
    cost = {line[:36].strip(): float(line[36:].split()[0]) for line in lines[4:11]}
    for name in ("release as it is", "frequency known", "40 labels"):
        assert cost[f"{name}, by costs"] < cost[f"{name}, likeliest class"]
    assert cost["frequency known, by costs"] < cost["'more' of everybody"] - 5

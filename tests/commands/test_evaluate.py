import json

from skdp.privacy import PrivacyLedger
from skdp.release import PrivateEvaluation

EVALUATE = (
    *("evaluate", "hospital.skdp", "rows.csv", "--label", "outcome", "--epsilon", 2),
    *("-o", "evaluation.json"),
)


def test_an_evaluation_is_charged_written_and_shown(hospital, run):
    budget = ("--ledger", "evaluations.json", "--budget-epsilon", 2.5, "--budget-delta", 1e-5)
    code, out, err = run(*EVALUATE, *budget)
    assert code == 0, err
    assert "spent so far: epsilon 2 of 2.5" in err
    evaluation = PrivateEvaluation.load("evaluation.json")
    assert out.startswith(evaluation.summary())
    assert evaluation.auc().value > 0.6
    ledger = PrivacyLedger.open("evaluations.json")
    assert ledger.to_frame()["name"].tolist() == ["evaluation.json"]
    code, shown, _ = run("evaluate", "--show", "evaluation.json")
    assert code == 0
    assert shown.strip() == evaluation.summary()
    # Twice is above the budget: nothing is written.
    code, _, err = run(*EVALUATE[:-1], "more.json", *budget[:2])
    assert code == 1
    assert "above the 2.5 of the ledger" in err
    assert not (hospital / "more.json").exists()


def test_people(hospital, run):
    code, out, err = run(*EVALUATE, "--group", "person")
    assert code == 0, err
    assert "per group" in out
    rows = json.loads((hospital / "evaluation.json").read_text())
    assert rows["guarantee"]["unit"] == "group"

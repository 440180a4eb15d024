import json

from skdp.privacy import PrivacyLedger
from skdp.release import PrivateEvaluation

EVALUATE = (
    *("evaluate", "hospital.skdp", "rows.csv", "--label", "outcome", "--epsilon", 2),
    *("-o", "evaluation.json"),
)


def test_an_evaluation_is_charged_written_and_shown(hospital, done, failed):
    budget = ("--ledger", "evaluations.json", "--budget-epsilon", 2.5, "--budget-delta", 1e-5)
    out, err = done(*EVALUATE, *budget)
    assert "spent so far: epsilon 2 of 2.5" in err
    evaluation = PrivateEvaluation.load("evaluation.json")
    assert out.startswith(evaluation.summary())
    assert evaluation.auc().value > 0.6
    ledger = PrivacyLedger.open("evaluations.json")
    assert ledger.to_frame()["name"].tolist() == ["evaluation.json"]
    shown, _ = done("evaluate", "--show", "evaluation.json")
    assert shown.strip() == evaluation.summary()
    # Twice is above the budget: nothing is written.
    _, err = failed(*EVALUATE[:-1], "more.json", *budget[:2])
    assert "above the 2.5 of the ledger" in err
    assert not (hospital / "more.json").exists()


def test_people(hospital, done):
    out, _ = done(*EVALUATE, "--group", "person")
    assert "per person" in out
    rows = json.loads((hospital / "evaluation.json").read_text())
    assert rows["guarantee"]["unit"] == "group"

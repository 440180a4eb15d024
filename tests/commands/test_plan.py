import json

import pytest


@pytest.fixture
def schema(folder):
    """A schema of one column, so that plans take no time."""
    column = {"age": {"type": "numeric", "low": 0, "high": 100}}
    document = {"version": 1, "classes": ["died", "home"], "columns": column}
    (folder / "one.json").write_text(json.dumps(document))
    return "one.json"


def test_a_plan_with_what_an_area_needs_and_a_picture(schema, done, folder):
    pytest.importorskip("matplotlib")
    out, err = done(
        *("plan", schema, "--rows", 100, 400, "--effects", 0.9, "--epsilon", 0.1, 10),
        *("--class-prior", "died=0.2", "--class-prior", "home=0.8"),
        *("--goal", 0.8, "--plot", "plan.png"),
    )
    assert "assuming AUC 0.9: with 400 rows and no noise, AUC 0." in out
    assert "For an AUC of 0.8 with effects 'AUC 0.9', 400 rows need about epsilon " in out
    assert "with effects 'AUC 0.9', 100 rows need " in out
    assert "With epsilon 10 and effects 'AUC 0.9' it needs" in out
    assert "A release with effects 'AUC 0.9' and 400 rows reaches it with probability" in out
    assert "% at epsilon 10." in out
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")
    assert "nothing" not in err


def test_lines_fit_the_terminal_and_the_last_class_has_the_rest(schema, run, done, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = "plan", schema, "--rows", 100, "--epsilon", 0.1, 1, 10, "--goal", 0.8
    command = *command, "--effects", "strong", "--model", "linear", "--class-prior"
    _, both, _ = run(*command, "died=0.2", "--class-prior", "home=0.8")
    one, _ = done(*command, "died=0.2")
    assert one == both
    assert max(map(len, one.splitlines())) <= 80
    assert "means +- " in one
    assert not any(line.strip() == "%" for line in one.splitlines())


def test_several_owners_of_times(folder, done, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    column = {"age": {"type": "numeric", "low": 0, "high": 100}}
    outcome = {"type": "event", "horizon": 365}
    document = {"version": 1, "outcome": outcome, "columns": column}
    (folder / "time.json").write_text(json.dumps(document))
    out, _ = done(
        *("plan", "time.json", "--rows", 200, "--owners", 2, "--event-share", 0.2),
        *("--effects", "strong", "--epsilon", 5, "--model", "linear"),
    )
    assert "assuming strong effects: with 200 rows and no noise, concordance 0." in out
    assert max(map(len, out.splitlines())) <= 80

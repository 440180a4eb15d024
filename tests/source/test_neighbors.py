"""What leaves an owner, by whatever way, over all functions that can charge a ledger.

Neighbors differ in one row. Once the noisy answers given for one data set are given for its
neighbor, nothing may tell them apart: no result, file, warning, text on the screen or error. And
whatever is wrong with public parameters, a ledger is charged only where there is a result.
"""

import inspect
import warnings
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skdp
import skdp.source
from skdp import (
    DPSource,
    DPStatisticsSource,
    Release,
    Schema,
    evaluate_privately,
    quantile_bounds,
)
from skdp.commands import main
from skdp.commands._main import _COMMANDS
from skdp.federated import owner_answer
from skdp.noise import GaussianQueries, _transformers
from skdp.privacy import PrivacyLedger
from skdp.source import _evaluation, _publication

SCHEMA = {
    "version": 1,
    "columns": {
        "age": {"type": "numeric", "low": 0, "high": 100},
        "ward": {"type": "category", "categories": ["A", "B", "C"]},
    },
    "classes": ["ill", "well"],
}
N_ROWS = 60
# Numbers of odd rows, few and as many as make all warnings about a target's table appear.
N_ODD = (4, 13)


def people(n_odd):
    """Return private rows, of which the last ones hold what a schema does not allow."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "age": rng.randint(20, 90, N_ROWS).astype(object),
            "ward": rng.choice(["A", "B", "C"], N_ROWS).astype(object),
            "outcome": rng.choice(["ill", "well"], N_ROWS).astype(object),
            "person": [f"p{i // 2}" for i in range(N_ROWS)],
        }
    )
    kinds = [("old", "vermilion", "unknown"), (1e300, None, "ill"), (-7391.5, "a", "Ill ")]
    odd = [(*kinds[i % len(kinds)], f"q{i}") for i in range(n_odd)]
    return pd.concat([frame, pd.DataFrame(odd, columns=frame.columns)], ignore_index=True)


def statistics(rows, ledger, model="linear", groups=None):
    unit = "record" if groups is None else "group"
    source = DPStatisticsSource(8.0, encoder=SCHEMA, model=model, privacy_unit=unit, ledger=ledger)
    return source.fit(rows[["age", "ward"]], rows["outcome"], groups=groups).release_


def accumulated(rows, ledger):
    source = DPStatisticsSource(8.0, encoder=SCHEMA, ledger=ledger)
    accumulator = source.accumulator()
    for start in (0, 40):
        part = rows.iloc[start : start + 40 if start == 0 else None]
        accumulator.add(part[["age", "ward"]], part["outcome"])
    return source.fit_accumulated(accumulator).release_


def by_ledger(rows, ledger):
    source = DPStatisticsSource(8.0, encoder=SCHEMA, model="auto")
    return ledger.release(source, rows[["age", "ward"]], rows["outcome"], name="a").release_


def answered(rows, ledger):
    return owner_answer(lambda: statistics(rows, ledger), path="answer.skdp")


def evaluated(rows, ledger, groups=None):
    model = Release.load("public.skdp")
    return evaluate_privately(
        model, rows[["age", "ward"]], rows["outcome"], 2.0, ledger=ledger, groups=groups
    )


def bounded(rows, ledger, groups=None):
    return quantile_bounds(rows, ["age"], ["ward"], epsilon=4.0, ledger=ledger, groups=groups)


def commanded(*words):
    def call(rows, ledger):
        rows.to_csv("rows.csv", index=False)
        ending = ".skdp" if words[0] == "release" else ".json"
        budget = ("--epsilon", "4", "--ledger", "budget.json", "--budget-epsilon", "9")
        budget += ("--budget-delta", "1e-3", "-o", f"out{ending}")
        return main([*words, *budget])

    return call


LABEL = ("--label", "outcome")
# By the name of what is public: ways to call it.
CALLS = {
    "DPStatisticsSource": [
        statistics,
        lambda rows, ledger: statistics(rows, ledger, "gradients"),
        lambda rows, ledger: statistics(rows, ledger, "linear", rows["person"]),
        accumulated,
        by_ledger,
        answered,
    ],
    "DPSource": [],  # its rows are public in number: see below
    "evaluate_privately": [evaluated, lambda r, ledger: evaluated(r, ledger, r["person"])],
    "quantile_bounds": [bounded, lambda r, ledger: bounded(r, ledger, r["person"])],
    "release": [commanded("release", "rows.csv", *LABEL, "--schema", "schema.json")],
    "bounds": [commanded("bounds", "rows.csv", "--numeric", "age", "--category", "ward")],
    "evaluate": [commanded("evaluate", "public.skdp", "rows.csv", *LABEL)],
}


def chargeable():
    """Return the names of all public objects and commands that can charge a ledger."""
    names = set()
    for package in (skdp, skdp.source, skdp.federated, skdp.tabular, skdp.release):
        for name in package.__all__:
            with suppress(ValueError, TypeError):  # no function
                if {"ledger", "epsilon"} <= {
                    *inspect.signature(getattr(package, name)).parameters
                }:
                    names.add(name)
    for command in _COMMANDS:
        parser = ArgumentParser()
        parser.add_output = parser.add_label = lambda *args, **settings: None
        command.add_arguments(parser)
        if {"--ledger", "--epsilon"} <= set(parser._option_string_actions):
            names.add(command.NAME)
    return names


def test_nothing_that_can_charge_a_ledger_is_forgotten():
    assert chargeable() == set(CALLS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with what is public: a schema, and a release of public rows."""
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(Schema.from_mapping(SCHEMA).to_json())
    rng = np.random.RandomState(1)
    rows = pd.DataFrame({"age": rng.randint(100, size=300), "ward": rng.choice([*"ABC"], 300)})
    y = np.where(rows["age"] > 50, "ill", "well")
    DPStatisticsSource(50.0, encoder=SCHEMA, model="linear").fit(rows, y).release_.save(
        "public.skdp"
    )
    return tmp_path


class Tape:
    """Answers of queries: those of the first data set, given again for all others."""

    def __init__(self, monkeypatch):
        self.given: list = []
        self.asked = 0
        add, tape = GaussianQueries.add, self

        def answer(queries, name, values, *rest):
            noisy = add(queries, name, values, *rest)
            if len(tape.given) == tape.asked:
                tape.given.append(noisy)
            tape.asked += 1
            assert noisy.shape == tape.given[tape.asked - 1].shape
            return tape.given[tape.asked - 1].copy()

        monkeypatch.setattr(GaussianQueries, "add", answer)
        # Ledgers tell when they were charged, which two calls in a row may not agree on.
        monkeypatch.setattr("skdp.privacy._ledger._now", lambda: "2026-01-01T00:00:00Z")


def observed(call, rows, capsys, tape):
    """Return all that somebody who sees no row can see of a call."""
    for path in Path().iterdir():
        if path.name not in ("schema.json", "public.skdp"):
            path.unlink()
    tape.asked, ledger = 0, PrivacyLedger()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = call(rows, ledger)
        except Exception as error:
            result = repr(error)
    if isinstance(result, Release):
        result.save("result.skdp")
    said = capsys.readouterr()
    Path("rows.csv").unlink(missing_ok=True)
    return {
        "result": shown(result),
        "warnings": [(each.category, str(each.message)) for each in told],
        "screen": (said.out, said.err),
        "files": {path.name: path.read_bytes() for path in sorted(Path().iterdir())},
        "ledger": ledger.entries,
    }


def shown(result):
    if hasattr(result, "histograms"):
        return result.histograms.tobytes(), result.guarantee
    return result.summary() if hasattr(result, "summary") else repr(result)


def differences(call, capsys, tape):
    """Return by what some number of odd rows can be told from none."""
    expected = observed(call, people(0), capsys, tape)
    assert expected["ledger"] or "budget.json" in expected["files"]
    found = set()
    for n_odd in N_ODD:
        seen = observed(call, people(n_odd), capsys, tape)
        found |= {what for what in expected if seen[what] != expected[what]}
    return found


EACH = [(name, i) for name, calls in CALLS.items() for i in range(len(calls))]


@pytest.mark.parametrize(("name", "i"), EACH)
def test_neighbors_cannot_be_told_apart(name, i, folder, capsys, monkeypatch):
    call = CALLS[name][i]
    if name == "release":  # refuses rows with mistakes, for the owner's eyes, unless accepted
        monkeypatch.setattr("skdp.commands._check.refuse_stops", lambda *args: None)
    assert differences(call, capsys, Tape(monkeypatch)) == set()


def test_a_warning_with_a_count_is_found(folder, capsys, monkeypatch):
    weights = _evaluation.row_weights

    def counting(persons, n_rows):
        warnings.warn(f"{n_rows} rows", stacklevel=1)
        return weights(persons, n_rows)

    monkeypatch.setattr(_evaluation, "row_weights", counting)
    assert differences(evaluated, capsys, Tape(monkeypatch)) == {"warnings"}


def test_rows_that_are_warned_of_by_a_model_are_not_told_of(folder, capsys, monkeypatch):
    class Talks(LogisticRegression):
        def predict_proba(self, X):
            warnings.warn(f"{len(X)} rows", stacklevel=1)
            return np.full((len(X), 2), 0.5)

    model = Talks().fit([[0], [1]], ["ill", "well"])

    def call(rows, ledger):
        return evaluate_privately(model, rows[["age"]], rows["outcome"], ledger=ledger)

    assert differences(call, capsys, Tape(monkeypatch)) == set()


@pytest.mark.parametrize("parts", ["papers", "noise_aware"])
def test_neighboring_rows_of_a_source_of_noisy_rows(parts, folder, capsys, monkeypatch):
    """One value differs; the noisy copies of one data set are those of the other."""
    add_noise, given = _transformers.add_noise, {}

    def replay(X, *rest):
        noisy = given.setdefault(len(X), add_noise(X, *rest))
        return noisy.copy()

    monkeypatch.setattr(_transformers, "add_noise", replay)
    X, y = np.random.RandomState(0).rand(30, 3), np.arange(30) % 2

    def call(rows, ledger):
        Z = X.copy()
        Z[3, 1] = [0.5, 0.0, 1.0, 1e9, -1e300, 1e-300][len(rows) % 6]
        settings = {"n_components": 2, "n_layers": 1, "parts": parts, "random_state": 0}
        return DPSource(1.0, bounds=(0, 1), ledger=ledger, **settings).fit(Z, y).release_

    assert differences(call, capsys, Tape(monkeypatch)) == set()


HOSTILE = [
    *(None, -1, 0, 0.5, 1.5, np.inf, np.nan, True, 10**400, "no", "", b"x", (), [], {}, object()),
    *(["a", "b"], ["a", "a"], [0, 1], [1.5, 2.5], {"a": 1}, (0, 2147483647), (1, 0), (0.9, 0.1)),
    *([np.nan, 1], "\ud800", ["\ud800", "b"], ["age"], ["ward"], ["outcome"], ["person"]),
    *(["a" * 2000, "b"], np.array([0, 1]), np.array(["ill", "well"]), pd.NaT, Path("none/x")),
]
PRIVATE = {"self", "X", "y", "ledger", "verbose", "n_jobs"}
PLAIN = {
    "DPStatisticsSource": {"encoder": SCHEMA, "model": "linear"},
    "DPSource": {"encoder": SCHEMA, "n_layers": 1, "n_components": 1, "n_inducing": 2},
    "evaluate_privately": {"model": None},
    "quantile_bounds": {"numeric": ["age"], "categories": ["ward"]},
}


def charged_without_a_result(name, settings, rows):
    """Return whether a call with these parameters charges, and has no result."""
    ledger, public = PrivacyLedger(), getattr(skdp, name)
    settings = PLAIN[name] | settings | {"ledger": ledger}
    if "model" in settings and settings["model"] is None and name == "evaluate_privately":
        settings["model"] = Release.load("public.skdp")
    frame, labels = rows[["age", "ward"]], rows["outcome"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if name == "quantile_bounds":
                result = public(rows, **settings)
            elif name == "evaluate_privately":
                result = public(X=frame, y=labels, **settings)
            else:
                result = public(**settings).fit(frame, labels).release_
                result.save("result.skdp")
        except Exception:
            result = None
    return bool(ledger.entries) and result is None


@pytest.mark.parametrize("name", list(PLAIN))
def test_nothing_is_charged_without_a_result(name, folder):
    rows = people(3)
    assert not charged_without_a_result(name, {}, rows)
    for parameter in set(inspect.signature(getattr(skdp, name)).parameters) - PRIVATE:
        for value in HOSTILE:
            settings = {parameter: value}
            assert not charged_without_a_result(name, settings, rows), settings
            if name == "DPStatisticsSource":  # of an array, without a schema
                settings |= {"encoder": None}
                assert not charged_without_a_result(name, settings, rows), settings


def test_a_check_behind_the_charge_is_found(folder, monkeypatch):
    def strict(**settings):
        if settings["histograms"].any():  # not in a rehearsal
            raise ValueError("no")
        return evaluation(**settings)

    evaluation = _evaluation.PrivateEvaluation
    monkeypatch.setattr(_evaluation, "PrivateEvaluation", strict)
    assert charged_without_a_result("evaluate_privately", {}, people(3))


def test_a_charge_before_the_rehearsal_is_found(folder, monkeypatch):
    def early(what, guarantee, make, private, rehearsals, *, ledger=None, name="", doubt=None):
        ledger.spend(guarantee, name)
        return publish(what, guarantee, make, private, rehearsals, doubt=doubt)

    def refuses(**settings):
        raise ValueError("This release is not well formed.")

    publish = _publication.publish
    monkeypatch.setattr("skdp.source._private_rows.Release", refuses)
    assert not charged_without_a_result("DPStatisticsSource", {}, people(3))
    monkeypatch.setattr("skdp.source._statistics_source.publish", early)
    assert charged_without_a_result("DPStatisticsSource", {}, people(3))

"""Public fields of releases: they agree within one, and the reason is true where two differ."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from skdp import DPSource, DPStatisticsSource, Release
from skdp.source import evaluate_privately
from skdp.source._linear_model import LinearModel
from skdp.tabular import ClassOutcome, EventOutcome, NumberOutcome
from skdp.utils._storage import load_arrays, save_arrays

pytestmark = pytest.mark.filterwarnings("ignore")

COLUMNS = {
    "age": {"type": "numeric", "low": 0, "high": 1},
    "ward": {"type": "category", "categories": ["x", "y"]},
}
CLASSES = {"classes": ["ill", "well"]}
NUMBER = {"outcome": {"type": "number", "low": 0, "high": 10}}
TIME = {"outcome": {"type": "event", "horizon": 365}}
rng = np.random.RandomState(0)
X = pd.DataFrame({"age": rng.rand(400), "ward": rng.choice(["x", "y"], 400)})
LABELS, NUMBERS = np.where(X["age"] > 0.5, "ill", "well"), 10 * X["age"]
TIMES = pd.DataFrame({"event": rng.rand(400) < 0.5, "time": 400 * rng.rand(400)})


def release_of(described, y, groups=None, model="linear", **settings):
    columns = {**COLUMNS, **settings.pop("columns", {})}
    columns = {name: column for name, column in columns.items() if column}
    schema = {"version": 1, "columns": columns, **described}
    unit = "record" if groups is None else "group"
    source = DPStatisticsSource(8.0, encoder=schema, privacy_unit=unit, model=model, **settings)
    return source.fit(X[list(columns)], y, groups).release_


@pytest.fixture(scope="module")
def releases():
    """Releases each of which differs from others in one public field."""
    age = COLUMNS["age"]
    many = {"type": "category", "categories": ["x", "y", "z"]}
    with patch.object(LinearModel, "_RADIUS", 2.0):
        radius = release_of(CLASSES, LABELS)
    names = {"outcome": {**TIME["outcome"], "event": "died", "time": "days"}}
    return {
        "classes": release_of(CLASSES, LABELS),
        "gradients": release_of(CLASSES, LABELS, model="gradients"),
        "three": release_of({"classes": ["dead", "ill", "well"]}, LABELS),
        "step": release_of(CLASSES, LABELS, columns={"age": {**age, "step": 0.1}}),
        "bounds": release_of(CLASSES, LABELS, columns={"age": {**age, "high": 2}}),
        "ward": release_of(CLASSES, LABELS, columns={"ward": many}),
        "radius": radius,
        "people": release_of(CLASSES, LABELS, np.arange(400) // 2),
        "number": release_of(NUMBER, NUMBERS),
        "wider": release_of({"outcome": {**NUMBER["outcome"], "high": 20}}, NUMBERS),
        "half": release_of({"outcome": {**NUMBER["outcome"], "step": 0.5}}, NUMBERS),
        "time": release_of(TIME, TIMES),
        "month": release_of({"outcome": {**TIME["outcome"], "horizon": 30}}, TIMES),
        "names": release_of(names, TIMES.set_axis(["died", "days"], axis=1)),
        "one": release_of(CLASSES, LABELS, columns={"ward": None}),
        "restricted": release_of(CLASSES, LABELS).restrict(["age"]),
        "arrays": DPStatisticsSource(8.0, model="linear", **CLASSES)
        .fit(X[["age"]].to_numpy(), LABELS)
        .release_,
        "named": DPStatisticsSource(8.0, model="linear", **CLASSES)
        .fit(X[["age"]], LABELS)
        .release_,
        "rows": DPSource(8.0, bounds=(0, 1), parts="noise_aware")
        .fit(X[["age"]].to_numpy(), LABELS)
        .release_,
    }


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("classes", "three", r"classes are \['ill', 'well'\] and \['dead', 'ill', 'well'\]"),
        ("classes", "step", "'age': numeric, 0 to 1 here; numeric, 0 to 1, in steps of 0.1 there"),
        ("classes", "bounds", "'age': numeric, 0 to 1 here; numeric, 0 to 2 there"),
        ("classes", "ward", "'ward': category, 'x', 'y' here; category, 'x', 'y', 'z' there"),
        ("classes", "radius", "clipped to other norms, "),
        ("classes", "people", "unit='labeled record' and unit='group'"),
        ("classes", "number", "different: classes here; numeric, 0 to 10 there"),
        ("classes", "time", "different: classes here; time to an event, up to 365"),
        ("classes", "one", "'ward': category, 'x', 'y' here; no such column there"),
        ("classes", "arrays", "one has 'encoder', and the other one none"),
        ("classes", "rows", "one has no noisy sums"),
        ("arrays", "named", "one has 'feature_names', and the other one none"),
        ("number", "wider", "different: numeric, 0 to 10 here; numeric, 0 to 20 there"),
        ("number", "half", "numeric, 0 to 10 here; numeric, 0 to 10, in steps of 0.5 there"),
        ("number", "time", "different: numeric, 0 to 10 here; time to an event, up to 365"),
        ("time", "month", "time to an event, up to 365, .* here; time to an event, up to 30, "),
        ("restricted", "one", "one was restricted to some of its columns. Merge before"),
    ],
)
def test_the_reason_why_two_are_not_merged_is_true(releases, one, other, reason):
    with pytest.raises(ValueError, match=f"Releases 0 and 1 cannot be merged: .*{reason}"):
        Release.merge([releases[one], releases[other]], disjoint=True)


@pytest.mark.parametrize("pair", [("time", "names"), ("classes", "gradients")])
def test_what_adds_up_is_merged(releases, pair):
    parts = [releases[name] for name in pair]
    merged = Release.merge(parts, disjoint=True)
    counts = [part.statistics.sums.counts.sum() for part in (*parts, merged)]
    assert sum(counts[:2]) == pytest.approx(counts[2], rel=1e-12)
    assert merged.outcome == parts[0].outcome  # names of columns of times are those of the first
    assert merged.encoder == parts[0].encoder


LACKING = {"outcome": ClassOutcome(("a", "b"))}
CONTRADICTIONS = [
    ("number", "encoder", LACKING, "'outcome' .* must be that of the encoder"),
    ("time", "encoder", LACKING, "'outcome' .* must be that of the encoder"),
    ("number", "encoder", {"outcome": ClassOutcome()}, "'outcome'"),
    ("time", "encoder", {"outcome": ClassOutcome()}, "'outcome'"),
    ("number", "encoder", {"outcome": NumberOutcome(0, 5)}, "'outcome'"),
    ("time", "encoder", {"outcome": EventOutcome(30.0)}, "'outcome'"),
    ("classes", "encoder", LACKING, "'outcome' .* must be that of the encoder"),
    ("classes", "encoder", {"outcome": EventOutcome(30.0)}, "'outcome'"),
    ("classes", "bounds", [[5.0, 5.0], [6.0, 6.0]], "'bounds' .* must be those of statistics"),
    ("arrays", "bounds", [[0.0], [2.0]], "'bounds' .* must be those of statistics"),
]


@pytest.mark.parametrize(("name", "field", "change", "message"), CONTRADICTIONS)
def test_fields_that_contradict_each_other_are_refused(
    releases, tmp_path, name, field, change, message
):
    release, path = releases[name], tmp_path / "release.skdp"
    schema = field == "encoder"
    value = replace(release.encoder, **change) if schema else np.array(change)
    with pytest.raises(ValueError, match=message):
        replace(release, **{field: value})
    release.save(path)
    header, arrays = load_arrays(path, "Release")
    if schema:
        header["encoder"] = value.to_json()
    else:
        arrays[field] = value
    save_arrays(path, "Release", header, arrays)
    with pytest.raises(ValueError, match="is an skdp file, but no working Release"):
        Release.load(path)


def test_a_guarantee_is_of_the_side_where_the_noise_is(releases):
    for one, other in (("classes", "rows"), ("rows", "arrays")):
        guarantee = replace(releases[other].guarantee, n_features=releases[one].n_features)
        with pytest.raises(ValueError, match="'guarantee' of a release must be about features"):
            replace(releases[one], guarantee=guarantee)


@pytest.mark.parametrize(
    ("outcome", "y"), [(NUMBER["outcome"], NUMBERS), (TIME["outcome"], TIMES)]
)
def test_a_schema_gets_the_outcome_of_its_source(tmp_path, outcome, y):
    release = release_of({}, y, outcome=outcome)
    assert release.encoder.outcome == release.outcome
    release.save(tmp_path / "release.skdp")
    assert Release.load(tmp_path / "release.skdp").encoder == release.encoder


@pytest.mark.parametrize(("outcome", "y"), [(CLASSES, LABELS), (NUMBER, NUMBERS), (TIME, TIMES)])
def test_people_are_counted_where_they_are_protected(outcome, y):
    for groups, counted in ((None, "rows"), (np.arange(400) // 2, "people")):
        release = release_of(outcome, y, groups)
        lines = [line for line in release.model.result_lines(release) if "noisy; " in line]
        assert lines
        assert all(line.startswith(counted) for line in lines)
        settings = {"epsilon": 4.0, "groups": groups}
        if outcome is TIME:
            settings["times"] = [100, 200]
        evaluation = evaluate_privately(release, X, y, **settings)
        assert f" {counted}, epsilon 4, delta 1e-05 per" in evaluation.summary()
        assert f">{counted}<" in evaluation._repr_html_()

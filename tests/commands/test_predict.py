import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skdp import DPSource, DPStatisticsSource, DPTransferClassifier, Release

COLUMNS = ["age", "lactate", "ward", "smoker"]

# Half of the last decimal that is written.
ROUNDING = 0.51e-6


@pytest.mark.parametrize("label", [[], ["--label", "outcome"]])
def test_predictions_are_those_of_the_python_interface(hospital, done, label):
    out, err = done("predict", "hospital.skdp", "target.csv", *label, "-o", "p.csv")
    written = pd.read_csv("p.csv")
    frame = pd.read_csv("target.csv", keep_default_na=True)
    y = frame["outcome"].astype(object).where(frame["outcome"].notna(), None) if label else None
    model = DPTransferClassifier(Release.load("hospital.skdp"), random_state=0)
    model.fit(frame[COLUMNS], y)
    expected = model.predict_proba(frame[COLUMNS])
    assert list(written)[:3] == ["class", "probability_died", "probability_home"]
    assert list(written)[3:] == ["known"] * bool(label)
    np.testing.assert_allclose(written.iloc[:, 1:3], expected, rtol=0, atol=ROUNDING)
    assert written["class"].tolist() == model.classes_[expected.argmax(axis=1)].tolist()
    assert f"150 rows, {20 if label else 0} of them labeled" in err
    assert "Wrote 'p.csv': class, probability_died, probability_home" in out


def test_columns_that_are_lacking_are_left_out_of_the_release(hospital, done, at_another_site):
    frame = pd.read_csv("target.csv")
    frame.drop(columns="smoker").rename(columns={"ward": "Ward "}).to_csv("fewer.csv", index=False)
    _, err = done("predict", "hospital.skdp", "fewer.csv", "-o", "p.csv")
    assert "'fewer.csv' spells 'ward' of the release 'hospital.skdp' differently: case" in err
    assert "X lacks the columns ['ward', 'smoker'] of the source" in err
    part = Release.load("hospital.skdp").restrict(["age", "lactate"])
    expected = at_another_site(part, frame)[:, part.classes.tolist().index("died")]
    np.testing.assert_allclose(pd.read_csv("p.csv")["probability_died"], expected, atol=0.02)


def test_columns_that_a_release_lacks_are_named(hospital, done):
    frame = pd.read_csv("target.csv").assign(insurance="A", case=range(150))
    frame.to_csv("more.csv", index=False)
    asked = ("predict", "hospital.skdp", "more.csv", "--id", "case", "-o")
    _, err = done(*asked, "p.csv", "--label", "outcome")
    unknown = "'more.csv' has columns unknown to the release 'hospital.skdp'"
    assert f"{unknown}, 'name', 'person', 'insurance': not used.\n" in err
    _, err = done(*asked, "unlabeled.csv")
    assert "'outcome', 'insurance': not used. If 'outcome' has known labels, name it" in err
    frame.drop(columns=["name", "person", "insurance"]).to_csv("more.csv", index=False)
    _, err = done(*asked, "q.csv", "--label", "outcome")
    assert "not used" not in err


@pytest.mark.parametrize("named", [True, False])
def test_a_release_without_a_schema(tmp_path, monkeypatch, done, failed, domains, named):
    monkeypatch.chdir(tmp_path)
    names = [f"pixel {i}" for i in range(64)]
    source = pd.DataFrame(domains.source, columns=names)
    estimator = DPSource(8.0, n_components=5, n_layers=1, random_state=0)
    estimator.fit(source if named else source.to_numpy(), domains.source_target)
    estimator.release_.save("digits.skdp")
    rows = source[:: -1 if named else 1].head(200)
    rows.to_csv("target.csv", index=False)
    done("predict", "digits.skdp", "target.csv", "-o", "p.csv")
    given = rows if named else rows.to_numpy()
    model = DPTransferClassifier(estimator.release_, random_state=0).fit(given)
    np.testing.assert_allclose(
        pd.read_csv("p.csv").iloc[:, 1:], model.predict_proba(given), atol=2 * ROUNDING
    )
    rows.astype(object).replace(rows.iloc[3, 10], "x").to_csv("target.csv", index=False)
    _, err = failed("predict", "digits.skdp", "target.csv", "-o", "p.csv", "--force")
    assert "has cells that are not numbers in the column 'pixel" in err


def test_cells_that_cannot_be_read_are_warned_of(hospital, done):
    frame = pd.read_csv("target.csv")
    frame["age"] = frame["age"].astype(str) + " years"
    frame["ward"] = frame["ward"].str.upper()
    frame.to_csv("other.csv", index=False)
    _, err = done("predict", "hospital.skdp", "other.csv", "-o", "p.csv")
    assert "skdp: warning: 'age': 150 of 150 values (100.0%) are not numbers, and count as" in err
    assert "150 are numbers with 'years': write the number alone, in the unit of the bounds" in err
    assert "skdp: warning: 'ward': 150 of 150 values (100.0%) differ from a listed one" in err
    assert "Many values" not in err  # which a release says, without a value
    unread = pd.read_csv("p.csv")
    frame[["age", "ward"]] = "NA"  # stands for a missing value, as unread cells do
    frame.to_csv("other.csv", index=False)
    _, err = done("predict", "hospital.skdp", "other.csv", "-o", "p.csv", "--force")
    assert "warning: 'age'" not in err
    pd.testing.assert_frame_equal(pd.read_csv("p.csv"), unread)
    frame["age"] = ["<70", *pd.read_csv("target.csv")["age"].iloc[1:].astype(str)]
    frame.to_csv("other.csv", index=False)
    _, err = done("predict", "hospital.skdp", "other.csv", "-o", "p.csv", "--force")
    assert "'age': 1 of 150 values (0.7%) are not numbers, and count as missing." in err
    assert "or --missing='<70', which empties such cells" in err


def test_parquet_out_without_pyarrow_is_refused_at_once(hospital, failed, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    _, err = failed("predict", "hospital.skdp", "target.csv", "-o", "p.parquet")
    assert "needs the package pyarrow" in err
    assert "learning" not in err


def test_classes_of_a_stranger_become_no_formulas(folder, run, done, release_command):
    """What a release calls its classes is up to whoever made it."""
    names = {"died": '=HYPERLINK("http://x.example")', "home": "@SUM(A1)"}
    for name in ("rows.csv", "schema.json"):
        text = Path(name).read_text()
        for old, new in names.items():
            new = json.dumps(new) if name.endswith("json") else '"' + new.replace('"', '""') + '"'
            text = text.replace(f'"{old}"' if name.endswith("json") else old, new)
        Path(name).write_text(text)
    assert run(*release_command)[0] == 0
    out, _ = done("predict", "hospital.skdp", "target.csv", "-o", "p.csv")
    assert "got an apostrophe (') in front; write\n.parquet" in out
    written = pd.read_csv("p.csv")
    assert set(written["class"]) <= {f"'{name}" for name in names.values()}
    assert not any(cell.startswith(("=", "@")) for cell in Path("p.csv").read_text().split("\n"))
    assert list(written)[1:] == [f"probability_{name}" for name in sorted(names.values())]


def test_how_labels_were_chosen_and_known_frequencies_are_passed_on(hospital, run):
    frame = pd.read_csv("target.csv")
    y = frame["outcome"].astype(object).where(frame["outcome"].notna(), None)
    given = ("--class-prior", "died=0.1", "--class-prior", "home=0.9")
    for options, settings in (
        (("--label-sampling", "stratified"), {"label_sampling": "stratified"}),
        (("--label-sampling", "random"), {"label_sampling": "random"}),
        (given, {"class_prior": {"died": 0.1, "home": 0.9}}),
        (given[:2], {"class_prior": {"died": 0.1, "home": 0.9}}),
    ):
        code, _, _ = run(
            "predict", "hospital.skdp", "target.csv", "--label", "outcome", *options, "-o",
            "p.csv", "--force",
        )  # fmt: skip
        assert code == 0
        model = DPTransferClassifier(Release.load("hospital.skdp"), random_state=0, **settings)
        expected = model.fit(frame[COLUMNS], y).predict_proba(frame[COLUMNS])
        written = pd.read_csv("p.csv").iloc[:, 1:3]
        np.testing.assert_allclose(written, expected, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(written.mean(), [0.1, 0.9], atol=1e-6)


def test_arguments_in_the_wrong_place_are_named(hospital, failed):
    _, err = failed("predict", "target.csv", "hospital.skdp", "-o", "p.csv")
    assert "TABLE 'hospital.skdp' is a release. Name the table last." in err
    asked = ("predict", "hospital.skdp", "target.csv", "--class-prior", "0.1", "-o", "p.csv")
    assert "--class-prior '0.1' is not a class and its share" in failed(*asked)[1]


@pytest.fixture
def two_hospitals(hospital, done, release_command):
    """The folder, with a release of other rows by the same schema."""
    pd.read_csv("rows.csv", dtype=str)[::2].to_csv("others.csv", index=False)
    command = ["others.csv" if part == "rows.csv" else part for part in release_command]
    command = ["others.skdp" if part == "hospital.skdp" else part for part in command]
    done(*command)
    return hospital


def test_several_releases(two_hospitals, done, failed):
    _, err = done("predict", "hospital.skdp", "others.skdp", "target.csv", "-o", "p.csv")
    assert "learning from 2 releases and 150 rows, 0 of them labeled" in err
    releases = [Release.load(name) for name in ("hospital.skdp", "others.skdp")]
    frame = pd.read_csv("target.csv", dtype=str)[list(releases[0].encoder.names)]
    model = DPTransferClassifier(releases, random_state=0).fit(frame)
    written = pd.read_csv("p.csv")[["probability_died", "probability_home"]]
    np.testing.assert_allclose(written, model.predict_proba(frame), rtol=0, atol=ROUNDING)
    _, err = failed("predict", "hospital.skdp", "hospital.skdp", "target.csv", "-o", "q.csv")
    assert "names a file twice" in err


def test_releases_of_other_classes_or_without_a_schema_are_not_mixed(two_hospitals, failed):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 2)), columns=["age", "lactate"])
    source = DPStatisticsSource(bounds=(0, 1), classes=["died", "home"])
    source.fit(frame, rng.choice(["died", "home"], 200)).release_.save("bare.skdp")
    _, err = failed("predict", "hospital.skdp", "bare.skdp", "target.csv", "-o", "q.csv")
    assert "'bare.skdp' has no schema" in err


def test_ids_pass_through_as_they_are(hospital, done, failed):
    frame = pd.read_csv("target.csv", dtype=str)[:20]
    frame["id"] = [f"00{k}" for k in range(20)]
    frame.to_csv("target.csv", index=False)
    done("predict", "hospital.skdp", "target.csv", "--id", "id", "-o", "p.csv")
    written = pd.read_csv("p.csv", dtype=str)
    assert written.columns.tolist() == ["id", "class", "probability_died", "probability_home"]
    assert written["id"].tolist() == frame["id"].tolist()
    assert written["probability_died"].str.len().max() <= 8
    frame.rename(columns={"id": "class"}).to_csv("target.csv", index=False)
    _, err = failed("predict", "hospital.skdp", "target.csv", "--id", "class", "-o", "q.csv")
    assert "--id 'class' is also the name of a column" in err


def test_rows_whose_outcome_was_known_are_marked_and_left_out_of_scores(hospital, done, failed):
    frame = pd.read_csv("target.csv", dtype=object)
    frame["outcome"] = np.where(frame["age"].astype(float) > 64, "died", "home")
    frame.to_csv("all.csv", index=False)
    frame.assign(outcome=[*frame["outcome"][:40], *[None] * 110]).to_csv("some.csv", index=False)
    done("predict", "hospital.skdp", "some.csv", "--label", "outcome", "-o", "p.csv")
    written = pd.read_csv("p.csv")
    assert written["known"].tolist() == [1] * 40 + [0] * 110
    out, _ = done("score", "p.csv", "all.csv", "--label", "outcome")
    said = "110 rows with an outcome, of 110; 40 that skdp predict knew are left out\n"
    assert out.startswith(said)
    # The same scores as of a table without these rows.
    written[written["known"] == 0].drop(columns="known").to_csv("others.csv", index=False)
    frame[written["known"] == 0].to_csv("truth.csv", index=False)
    others, _ = done("score", "others.csv", "truth.csv", "--label", "outcome")
    assert out.splitlines()[1:] == others.splitlines()[1:]
    _, err = failed("score", "p.csv", "some.csv", "--label", "outcome")
    assert "TRUTH has no outcomes that skdp predict did not know" in err
    written.assign(known=1).to_csv("p.csv", index=False)
    _, err = failed("score", "p.csv", "all.csv", "--label", "outcome")
    assert "PREDICTIONS has no rows whose outcome skdp predict did not know" in err


def test_explained_predictions_have_the_effects_of_the_python_api(hospital, done, failed):
    frame = pd.read_csv("target.csv", dtype=object).head(12)
    frame.drop(columns="outcome").to_csv("few.csv", index=False)
    out, _ = done("predict", "hospital.skdp", "few.csv", "--explain", "-o", "p.csv")
    assert "what the column adds to the log-odds of 'home' against 'died',\nrelative to" in out
    written = pd.read_csv("p.csv")
    rows = frame[["age", "lactate", "ward", "smoker"]]
    model = DPTransferClassifier(Release.load("hospital.skdp"), random_state=0).fit(rows)
    for k in range(len(rows)):
        effects = model.explain(rows.iloc[[k]]).to_frame()["effect"]
        for name in rows:
            assert written[f"effect_{name}"][k] == pytest.approx(effects[name], rel=1e-4, abs=1e-9)
    for name, explain in (("known", []), ("effect_age", ["--explain"])):
        frame.rename(columns={"person": name}).to_csv("few.csv", index=False)
        predict = "predict", "hospital.skdp", "few.csv", "--id", name, "-o", "q.csv"
        _, err = failed(*predict, *explain)
        assert f"--id {name!r} is also the name of a column of the predictions" in err
    done(*predict)  # without effects, it is not

"""Tables as programs of hospitals and insurers export them, and what is said of each mistake."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skdp.commands._tables import read_table

N = 60
TITLE = "Universitätsklinikum Zaphod - Kardiologie"
GERMAN = ("--sep", ";", "--decimal", ",", "--encoding", "latin-1", "--skip", 3)
MISSING = "--missing=Puls=-99,k.A."


def rows_of(n, seed=0):
    """Return rows with IDs, names, dates, marks of missing cells, and an outcome."""
    rng = np.random.RandomState(seed)
    bmi = [f"{v:.2f}".replace(".", ",") for v in rng.normal(27, 4, n)]
    bmi[3:6] = ["k.A."] * 3
    rate = rng.randint(50, 140, n)
    rate[::12] = -99
    return pd.DataFrame(
        {
            "Fall-Nr": np.arange(1000, 1000 + n),
            "Patient": [f"Müller, {i}" for i in range(n)],
            "Aufnahme": [f"{i % 28 + 1:02}.0{i % 9 + 1}.2023" for i in range(n)],
            "Puls": rate,
            "BMI": bmi,
            "Herzschwäche": rng.choice(["ja", "nein", "k.A."], n, p=[0.4, 0.5, 0.1]),
            "verstorben": np.where(rate + rng.normal(0, 20, n) > 95, "ja", "nein"),
        }
    )


@pytest.fixture
def german(tmp_path, monkeypatch):
    """Two title lines and a blank one, semicolons, decimal commas, latin-1."""
    monkeypatch.chdir(tmp_path)
    frame = rows_of(N)
    above = [f"{TITLE};;;;;;", "Export vom 03.02.2024;;;;;;", ";;;;;;"]
    text = "\r\n".join([*above, frame.to_csv(sep=";", index=False, lineterminator="\r\n")])
    (tmp_path / "export.csv").write_bytes(text.encode("latin-1"))
    return frame


def draft(run, path, *options, label="verstorben"):
    return run("schema", path, "--public", "--label", label, "-o", "s.json", *options)


def test_each_mistake_names_the_option_that_mends_it(german, run):
    said = []
    for options in (GERMAN[:0], GERMAN[4:6], GERMAN[:6], GERMAN, (*GERMAN, MISSING)):
        code, out, err = draft(run, "export.csv", *options)
        assert (code, out) == (1, "")
        assert "Zaphod" not in err
        said.append(err)
    assert "is not in UTF-8. Save it as 'CSV UTF-8', or add --encoding" in said[0]
    assert "Are its cells separated by ';'? Add --sep ';', and --decimal ','" in said[1]
    for err in said[1:3]:
        assert "Are there lines above the header? Skip them: --skip 3." in err
    assert "has no names for most of its columns in its first line" in said[2]
    assert "'-99', 'k.A.' in 'Puls', 'BMI', 'Herzschwäche' may mark missing cells" in said[3]
    assert said[3].count(MISSING) == 1
    drop = ["--drop", "Fall-Nr", "--drop", "Patient", "--drop", "Aufnahme"]
    assert said[4].splitlines()[-1] == f"Leave out columns you do not need: {' '.join(drop)}"
    assert "'Aufnahme' has dates or durations; convert them to numbers, such as an age" in said[4]
    code, out, err = draft(run, "export.csv", *GERMAN, MISSING, *drop)
    assert code == 0, err
    assert "warning" not in err
    columns = json.loads(Path("s.json").read_text())["columns"]
    assert columns["Puls"]["low"] >= 0
    assert columns["BMI"]["missing"]
    assert columns["Herzschwäche"]["categories"] == ["ja", "nein"]


def test_lines_may_be_long(tmp_path):
    names = [f"a_column_with_a_long_name_{i}" for i in range(8000)]
    (tmp_path / "t.csv").write_text(f"{','.join(names)}\n{','.join(['1'] * 8000)}\n")
    assert list(read_table(str(tmp_path / "t.csv"))) == names


def test_blank_lines_above_the_names_are_no_obstacle(tmp_path):
    (tmp_path / "t.csv").write_text("\n,,\na,b,c\n1,2,3\n")
    assert read_table(str(tmp_path / "t.csv")).to_dict("list") == {
        "a": ["1"],
        "b": ["2"],
        "c": ["3"],
    }


@pytest.mark.parametrize("lines", ["Zaphod\na,b\n1,2\n3,4\n", "sep=;\nZaphod;\n\na;b\n1;2\n3;4\n"])
def test_lines_above_the_names_are_counted(tmp_path, lines):
    path = tmp_path / "t.csv"
    path.write_text(lines)
    with pytest.raises(ValueError, match="Skip them: --skip") as error:
        read_table(str(path))
    assert "Zaphod" not in str(error.value)
    skip = int(str(error.value).rstrip(".").split()[-1])
    assert read_table(str(path), skip=skip).to_dict("list") == {"a": ["1", "3"], "b": ["2", "4"]}


@pytest.mark.parametrize("cell", ["-99", -99, -99.0, "-99,0", "k.A.", " -99 "])
def test_marks_of_missing_cells_have_any_type(tmp_path, cell):
    path = tmp_path / "t.parquet"
    pytest.importorskip("pyarrow")
    pd.DataFrame({"x": [cell, cell], "y": ["k.A. b", "1"]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"--skip is for .csv and .xlsx files"):
        read_table(str(path), skip=1)
    table = read_table(str(path), missing=["-99", "k.A."], decimal=",")
    assert table["x"].isna().all()
    assert table["y"].tolist() == ["k.A. b", "1"]


def test_marks_of_one_column_leave_others_alone(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("grade,case,id\n9,9,x\n1,2,9\n")
    table = read_table(str(path), missing=["grade=9", "x", "other=2"])
    assert table.astype(object).fillna("").to_numpy().tolist() == [["", "9", ""], ["1", "2", "9"]]


def test_signs_between_thousands(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    amounts = [f"{10000 + 371.5 * i:,.2f}" for i in range(80)]
    frame = pd.DataFrame({"value": amounts, "paid": amounts[::-1], "died": [0, 1] * 40})
    frame.to_csv("us.csv", index=False)
    code, _, err = draft(run, "us.csv", label="died")
    assert code == 1
    assert (
        "Numbers in 'value', 'paid' have decimal commas, thousands separators, currencies or a "
        "minus sign behind: " in err
    )
    assert err.rstrip().endswith("add --thousands ','.")
    code, out, err = draft(run, "us.csv", "--thousands", ",", label="died")
    assert code == 0, err
    assert "'value': numeric, 10000 to 40000" in out
    swiss = pd.DataFrame(
        {"x": ["51'383.86", "51’383", "5.5"], "y": ["1 234,5", "1\u202f234", "7"]}
    )
    swiss.to_csv("ch.csv", index=False)
    assert read_table("ch.csv", thousands="'")["x"].tolist() == ["51383.86", "51383", "5.5"]
    read = read_table("ch.csv", thousands=" ", decimal=",")
    assert read["y"].tolist() == ["1234.5", "1234", "7"]
    money = pd.DataFrame(
        {"x": ["$51,383.86", "-$5", "7 €", "USD 3", "€ -1", "3-", "-3-", "XYZ 3"]}
    )
    money.to_csv("us.csv", index=False)
    read = read_table("us.csv", thousands=",")["x"].tolist()
    assert read == ["51383.86", "-5", "7", "3", "-1", "-3", "-3-", "XYZ 3"]
    euros = pd.DataFrame(
        {"n": 1, "x": ["1.234,50 €", "EUR -1.234,5", "12,00- EUR", "7,5 EUR-", "−3,5", "8 %"]}
    )
    euros.to_csv("eu.csv", index=False, sep=";")
    read = read_table("eu.csv", sep=";", decimal=",")["x"].tolist()
    assert read == ["1234.50", "-1234.5", "-12.00", "-7.5", "-3.5", "8 %"]
    measured = pd.DataFrame({"n": 1, "x": ["1.300 km", "7,5km", "8 %", "3 m", "12"]})
    measured.to_csv("km.csv", index=False, sep=";")
    read = read_table("km.csv", sep=";", decimal=",", units=["km", "%"])["x"].tolist()
    assert read == ["1300", "7.5", "8", "3 m", "12"]
    assert read_table("km.csv", sep=";", units=["km"])["x"][0] == "1.300"
    with pytest.raises(ValueError, match="--thousands and --decimal are both ','"):
        read_table("ch.csv", thousands=",", decimal=",")


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (("--label", "day"), "Column 'day' has dates, which cannot be outcomes"),
        (("--event", "died", "--time", "day"), "such as days since admission"),
        (("--label", "record"), "warning: Column 'record' seems to number the records."),
        (("--label", "code"), "warning: 'code' has 60 classes. Is it a label?"),
    ],
)
def test_outcomes_that_are_none(tmp_path, run, monkeypatch, outcome, message):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {
            "record": np.arange(N),
            "code": [f"x{i}" for i in range(N)],
            "day": pd.date_range("2020-01-01", periods=N).astype(str),
            "died": [0, 1] * (N // 2),
            "age": np.arange(N) % 17 + 40,
        }
    )
    names = {"record", "code", "day", "died"} - set(outcome)
    drop = [word for name in sorted(names) for word in ("--drop", name)]
    frame.to_csv("t.csv", index=False)
    assert message in run("schema", "t.csv", "--public", *outcome, *drop, "-o", "s.json")[2]

import argparse
import datetime
import sys

import numpy as np
import pandas as pd
import pytest

from skdp import Schema, TabularEncoder
from skdp.commands._tables import (
    add_table_options,
    check_output,
    inferred,
    read_table,
    table_options,
    write_table,
)

SCHEMA = Schema.from_mapping(
    {
        "x": {"type": "numeric", "low": 0, "high": 10, "missing": True},
        "code": {"type": "category", "categories": [0, 1, 2], "missing": True},
        "flag": {"type": "category", "categories": [False, True], "missing": True},
    }
)


def write(path, text):
    path.write_text(text)
    return str(path)


def encoded(table):
    return TabularEncoder(SCHEMA).fit_transform(table)


def test_cells_are_text_whatever_stands_around_them(tmp_path):
    table = read_table(write(tmp_path / "t.csv", "a,b\n01,NA\n\n2.0,\n"))
    assert table.to_numpy().tolist() == [["01", "NA"], ["2.0", ""]]


def test_a_mark_of_byte_order_is_no_part_of_a_name(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,2\n".encode("utf-8-sig"))
    assert list(read_table(str(tmp_path / "t.csv"))) == ["a", "b"]


def test_no_cell_depends_on_others(tmp_path):
    """A row is encoded alone as it is among others: pandas would choose other types."""
    cells = ["x,code,flag", "1,1.0,TRUE", "?,2,false", "12,,True", "1e1,7,no", "nan,0.0,"]
    together = encoded(read_table(write(tmp_path / "t.csv", "\n".join(cells))))
    for i, row in enumerate(cells[1:]):
        alone = encoded(read_table(write(tmp_path / "one.csv", f"{cells[0]}\n{row}\n")))
        np.testing.assert_array_equal(alone[0], together[i])


def test_inferred_types_of_public_tables():
    table = pd.DataFrame(
        {
            "whole": ["1", "NA", "3", "7"],
            "real": ["1.5", "", "3", "1e2"],
            "two": ["1.0", "0", "", "1"],
            "mixed": ["1", "b", "", "1"],
            "flag": [True, False, True, True],
            "empty": ["", "", "NA", ""],
        }
    )
    found = inferred(table)
    assert found["whole"].tolist() == [1, pd.NA, 3, 7]
    assert found["real"].dtype == "Float64"
    assert found["two"].tolist() == [1, 0, pd.NA, 1]
    assert found["mixed"].fillna("missing").tolist() == ["1", "b", "missing", "1"]
    assert found["flag"].tolist() == [True, False, True, True]
    assert found["empty"].isna().all()


def test_no_message_repeats_what_a_parquet_file_calls_its_rows(tmp_path):
    pytest.importorskip("pyarrow")
    path = str(tmp_path / "t.parquet")
    pd.DataFrame({"x": [1]}, index=pd.Index([2], name="x")).to_parquet(path)
    with pytest.raises(ValueError, match=r"is not an intact Parquet file") as error:
        read_table(path)
    assert "'x'" not in str(error.value)


def test_outputs_that_are_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    there = tmp_path / "there.csv"
    there.touch()
    refused = {"folder.csv": "is a folder", "there.csv": "exists. Choose", "x.txt": "must end"}
    for name, message in refused.items():
        with pytest.raises(ValueError, match=message):
            check_output(str(tmp_path / name), (".csv",), force=False, inputs=[])
    assert check_output(str(there), (".csv",), force=True, inputs=[]) == there
    (tmp_path / "link.csv").symlink_to(there)
    with pytest.raises(ValueError, match="is also an input"):
        check_output(str(tmp_path / "link.csv"), (".csv",), force=True, inputs=[str(there)])


FORMULAS = ['=HYPERLINK("http://x")', "@SUM(A1)", "+cmd|x", "-2+3", "\tx", "\rx"]
HARMLESS = ["-1", "+1.5", "died", "a=b", "", "-inf", " =1"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_no_text_becomes_a_formula(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    pytest.importorskip({"xlsx": "openpyxl", "parquet": "pyarrow"}.get(ending, "csv"))
    frame = pd.DataFrame({"class": FORMULAS + HARMLESS, "x": -1.5, "n": -1})
    assert write_table(frame, path, overwrite=False) == (ending != "parquet")
    if ending == "parquet":
        pd.testing.assert_frame_equal(pd.read_parquet(path), frame, check_dtype=False)
        return
    if ending == "xlsx":
        texts = read_table(str(path))["class"].tolist()
        assert [text for text in texts if text] == [
            f"'{text}".replace("\r", "\n") if text in FORMULAS else text
            for text in FORMULAS + HARMLESS
            if text
        ]
        return
    written = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert written["class"].tolist() == [f"'{text}" for text in FORMULAS] + HARMLESS
    assert set(written["x"]) == {"-1.5"}
    assert set(written["n"]) == {"-1"}
    assert not write_table(frame.iloc[len(FORMULAS) :], path, overwrite=True)


def test_names_of_columns_are_no_formulas_either(tmp_path):
    frame = pd.DataFrame({"=x": [1], "y": ["z"]})
    assert write_table(frame, tmp_path / "t.csv", overwrite=False)
    assert (tmp_path / "t.csv").read_text() == "'=x,y\n1,z\n"


def test_other_separators_and_decimal_signs(tmp_path):
    cells = (
        "x;code;flag\n1,5;1;TRUE\n-0,25;2;no\n1.234,5;,5;1.234\n12,5e1;a,b;1,2,3\n"
        "1.5;0,1;01.02.2020\n"
    )
    table = read_table(write(tmp_path / "t.csv", cells), sep=";", decimal=",")
    assert table["x"].tolist() == ["1.5", "-0.25", "1234.5", "12.5e1", "1.5"]
    assert table["code"].tolist() == ["1", "2", ".5", "a,b", "0.1"]
    assert table["flag"].tolist() == ["TRUE", "no", "1234", "1,2,3", "01.02.2020"]
    as_tabs = write(tmp_path / "t.csv", cells.replace(";", "\t"))
    pd.testing.assert_frame_equal(read_table(as_tabs, sep="\t", decimal=","), table)
    assert read_table(as_tabs, sep="\t")["x"].tolist()[0] == "1,5"


def test_spellings_of_names_are_pointed_at(tmp_path, run):
    path = write(tmp_path / "t.csv", "age, outcome \n1,2\n")
    command = ("schema", path, "--public", "--label", "outcome", "-o", str(tmp_path / "s.json"))
    assert "It spells 'outcome' differently: case, white space" in run(*command)[2]


def parsed(*given):
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_table_options(parser, drop=True)
    return table_options(parser.parse_args(given))


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("sign", [";", "\t", ",", "|"])
def test_a_first_line_can_name_the_separator(tmp_path, start, sign):
    cells = f"a{sign}b\r\n1{sign}2\r\n"
    told = write(tmp_path / "t.csv", f"{start}sep={sign}\r\n{cells}")
    for sep in (None, sign):
        assert read_table(told, sep=sep).to_dict("list") == {"a": ["1"], "b": ["2"]}
    # An argument wins; a column may be called so, and its line is no such line then.
    other = write(tmp_path / "t.csv", f"sep={sign}\na:b\n1:2\n")
    assert read_table(other, sep=":").columns.tolist() == ["a", "b"]
    named = write(tmp_path / "t.csv", "sep=x\n1\n")
    assert read_table(named).columns.tolist() == ["sep=x"]


def test_options_of_reading():
    assert parsed() == {
        **{"sep": None, "decimal": ".", "thousands": None, "units": [], "missing": []},
        **{"skip": 0},
        **{"encoding": None, "sheet": None, "drop": []},
    }
    assert parsed("--units=km,%")["units"] == ["km", "%"]
    assert parsed("--missing=-99, k.A.")["missing"] == ["-99", "k.A."]
    assert parsed("--sep", "tab", "--drop", "a", "--drop", "b")["sep"] == "\t"
    for wrong in (
        *(("--sep", ";;"), ("--sep", "x"), ("--sep", '"'), ("--decimal", ";")),
        *(("--thousands", ";"), ("--skip", "-1"), ("--encoding", "utf-99"), ("--encoding", "hex")),
    ):
        with pytest.raises(argparse.ArgumentError):
            parsed(*wrong)


def excel(path, sheets, **formulas):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for cell, formula in formulas.items():
            sheet[cell] = formula
    book.save(path)
    return str(path)


def test_excel_is_read_as_csv_is(tmp_path):
    day, moment = datetime.datetime(2020, 2, 29), datetime.datetime(2020, 2, 29, 12, 30)
    rows = [
        ["x", "code", "flag", "day", "empty"],
        [1.5, 1, True, day, None],
        [None] * 5,
        ["2,5", "007", False, moment, None],
    ]
    path = excel(tmp_path / "t.xlsx", {"first": rows, "other": [["x"], [3]]})
    table = read_table(path, decimal=",")
    assert list(table) == rows[0]
    assert table["x"].tolist() == [1.5, "2.5"]
    assert table["code"].tolist() == [1, "007"]
    assert table["day"].tolist() == ["2020-02-29", "2020-02-29T12:30:00"]
    assert table["empty"].tolist() == ["", ""]
    text = "x,code,flag\n1.5,1,TRUE\n2.5,007,FALSE\n"
    np.testing.assert_array_equal(
        encoded(table[["x", "code", "flag"]]),
        encoded(read_table(write(tmp_path / "t.csv", text))),
    )
    assert read_table(path, sheet="other")["x"].tolist() == [3]
    with pytest.raises(ValueError, match="has no sheet 'third'"):
        read_table(path, sheet="third")


def test_excel_files_that_are_refused(tmp_path):
    formula = excel(tmp_path / "f.xlsx", {"first": [["x", "y"], [1, 2]]}, B2="=A2+1")
    for path, message in [
        (formula, "has formulas without stored values"),
        (excel(tmp_path / "e.xlsx", {"first": []}), "is empty"),
        (excel(tmp_path / "w.xlsx", {"first": [["x"], [1, 2]]}), "to the right of its header"),
        (excel(tmp_path / "h.xlsx", {"first": [["x"]]}), "has no rows"),
        (write(tmp_path / "b.xlsx", "Zaphod"), "is not an intact Excel file"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            read_table(path)
        assert "Zaphod" not in str(error.value)
    with pytest.raises(ValueError, match=r"--sep is for .csv files"):
        read_table(formula, sep=";")


def test_excel_without_openpyxl_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        ValueError, match=r"needs the package openpyxl. Install it \(pip install o"
    ):
        read_table(str(tmp_path / "t.xlsx"))

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skdp.datasets import load_table

SCENARIO = {"label": "y", "columns": {"x": {}}, "labels_per_class": 2, "target_rows": 10}


@pytest.fixture
def small_files(tmp_path, monkeypatch):
    """Miniature files of the documented form."""
    folder = tmp_path / "tabular"
    folder.mkdir()
    scenarios = {}
    for name in ("flchain", "whas500"):
        frame = pd.DataFrame({"sex": ["F", "M"] * 200, "y": [1, 1, 0, 0] * 100})
        frame.to_csv(folder / f"{name}.csv.gz", index=False)
        scenarios[name] = SCENARIO | {"note": name}
    (folder / "schemas.json").write_text(json.dumps(scenarios))
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))


@pytest.mark.parametrize("name", ["flchain", "whas500"])
@pytest.mark.usefixtures("small_files")
def test_scenario(name):
    table = load_table(name, random_state=0)
    assert list(table.data) == ["sex"]
    assert table.schema == {"version": 1, "columns": {"x": {}}, "classes": [0, 1]}
    parts = np.concatenate([table.source, table.learning, table.test])
    assert_array_equal(np.sort(parts), np.arange(400))
    assert len(table.learning) == 10
    assert set(table.labelled) < set(table.learning)
    assert_array_equal(table.target[table.labelled], [0, 0, 1, 1])
    for label in (0, 1):
        of_class = table.learning[table.target[table.learning] == label]
        assert_array_equal(table.labelled[table.target[table.labelled] == label], of_class[:2])


@pytest.mark.usefixtures("small_files")
def test_draws_follow_the_seed():
    one, again, other = (load_table("whas500", random_state=seed) for seed in (0, 0, 1))
    assert len(one.source) == 250
    assert_array_equal(one.source, again.source)
    assert_array_equal(one.test, again.test)
    assert not np.array_equal(one.source, other.source)
    women = load_table("flchain", random_state=1)
    assert set(women.data["sex"][women.source]) == {"F"}
    assert set(women.data["sex"][women.test]) == {"M"}


def test_absent_tables_are_reported(monkeypatch):
    monkeypatch.delenv("SKDP_DATA", raising=False)
    with pytest.raises(OSError, match=r"SKDP_DATA=None names no folder with tabular/schemas.json"):
        load_table("adult")
    with pytest.raises(ValueError, match=r"'name' parameter of load_table is 'iris'; use one of"):
        load_table("iris")


# Of each table: rows, and rows of the source, to learn from, with labels, and to be predicted.
SIZES = {
    "adult": (32561, 20_000, 2000, 20, 10_561),
    "flchain": (7874, 4350, 500, 20, 3024),
    "whas500": (500, 250, 150, 20, 100),
    "actg320": (1151, 600, 250, 20, 301),
    "actg175": (2139, 1522, 250, 20, 367),
    "randhie": (20_190, 8000, 800, 40, 11_390),
}


@pytest.mark.parametrize("name", SIZES)
def test_real_tables(name):
    try:
        table = load_table(name, random_state=0)
    except OSError as error:
        pytest.skip(str(error))
    sizes = map(len, (table.data, table.source, table.learning, table.labelled, table.test))
    assert tuple(sizes) == SIZES[name]
    assert set(table.schema["columns"]) == set(table.data)
    assert table.schema["classes"] == np.unique(table.target).tolist()

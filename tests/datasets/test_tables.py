from pathlib import Path

import numpy as np
from numpy.testing import assert_array_equal

from skdp.datasets import _tables, load_adult, load_heart_disease, load_heart_failure
from skdp.tabular import EventOutcome, NumericColumn, Schema


def assert_within(schema, frame):
    """Every value lies within what the schema calls public."""
    assert set(schema["columns"]) == set(frame)
    for name, column in schema["columns"].items():
        values = frame[name].dropna()
        if column["type"] == "numeric":
            assert values.between(column["low"], column["high"]).all()
        else:
            assert set(values) <= set(column["categories"])


def test_adult_needs_no_files(monkeypatch):
    monkeypatch.delenv("SKDP_DATA", raising=False)
    adult, again, other = (load_adult(random_state=seed) for seed in (0, 0, 1))
    sizes = map(len, (adult.data, adult.source, adult.learning, adult.labeled, adult.test))
    assert tuple(sizes) == (32561, 20_000, 2000, 20, 10_561)
    parts = np.concatenate([adult.source, adult.learning, adult.test])
    assert_array_equal(np.sort(parts), np.arange(32561))
    assert set(adult.labeled) < set(adult.learning)
    assert (adult.target[adult.labeled] == ">50K").sum() == 10
    assert_array_equal(adult.source, again.source)
    assert not np.array_equal(adult.source, other.source)
    assert adult.schema["classes"] == ["<=50K", ">50K"]
    assert (adult.target == ">50K").sum() == 7841  # as its documents say
    missing = adult.data.isna().sum()
    assert missing[missing > 0].to_dict() == {
        "workclass": 1836, "occupation": 1843, "native-country": 583,
    }  # fmt: skip
    assert_within(adult.schema, adult.data)


# Of each file: the hospital, its patients, and how many of them are ill.
HOSPITALS = {
    "cleveland": ("Cleveland", 303, 139),
    "hungarian": ("Budapest", 294, 106),
    "switzerland": ("Zurich-Basel", 123, 115),
    "va": ("Long Beach", 200, 149),
}


def test_heart_disease_needs_no_files(monkeypatch):
    monkeypatch.delenv("SKDP_DATA", raising=False)
    heart = load_heart_disease()
    assert heart.data.shape == (920, 13)
    assert_array_equal(np.unique(heart.target), [0, 1])
    assert heart.schema["classes"] == [0, 1]
    assert heart.hospital_names == [name for name, _, _ in HOSPITALS.values()]
    for name, size, n_ill in HOSPITALS.values():
        ill = heart.target[heart.hospital == name]
        assert (len(ill), ill.sum()) == (size, n_ill)
    assert_within(heart.schema, heart.data)
    assert heart.data["chol"].min() > 0  # 0 stands for what was not measured
    assert heart.data["trestbps"].min() > 0
    assert heart.data.loc[heart.hospital == "Zurich-Basel", "chol"].isna().all()
    schema = Schema.from_mapping(heart.schema)
    assert [column.name for column in schema.columns if not column.missing] == ["age"]
    assert heart.data["age"].notna().all()
    assert schema.columns[4] == NumericColumn("chol", 80, 640, log=True, missing=True, step=1)
    assert load_heart_disease.__doc__ == heart.DESCR


def test_heart_failure_needs_no_files(monkeypatch):
    monkeypatch.delenv("SKDP_DATA", raising=False)
    heart = load_heart_failure()
    assert heart.data.shape == (299, 11)
    assert not heart.data.isna().any(axis=None)
    assert_within(heart.schema, heart.data)
    assert heart.target.dtype.names == ("died", "days")
    # As its documents say.
    assert heart.target["died"].sum() == 96
    assert (heart.target["days"].min(), heart.target["days"].max()) == (4, 285)
    schema = Schema.from_mapping(heart.schema)
    assert schema.outcome == EventOutcome(285, "died", "days")
    assert (schema.outcome.cells(*schema.outcome.read(heart.target)) >= 0).all()
    assert load_heart_failure.__doc__ == heart.DESCR


def test_embedded_data_are_small_and_attributed():
    folder = Path(_tables.__file__).parent / "data"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 300_000
    notice = (folder / "README.md").read_text()
    for text in (load_adult.__doc__, notice):
        assert "CC BY 4.0" in text
        assert "Becker" in text
    for text in (load_heart_disease.__doc__, notice):
        assert "CC BY 4.0" in text
        for investigator in (
            "Andras Janosi",
            "Steinbrunn",
            "Matthias Pfisterer",
            "Robert Detrano",
        ):
            assert investigator in text
    for text in (load_heart_failure.__doc__, notice):
        assert "CC BY 4.0" in text
        for author in ("Ahmad", "Chicco", "10.24432/C5Z89R"):
            assert author in text

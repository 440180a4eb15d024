"""Files that are small, and would not be in memory."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from skdp import DeepFuzzyClassifier, Release
from skdp.utils._storage import load_arrays, save_arrays

RELEASE = Path(__file__).parent / "data" / "version1_papers.skdp"
MIB = 2**20


def peak_of_refusal(load, path):
    """Load a file that is refused; return the most memory that it took."""
    tracemalloc.start()
    with pytest.raises(ValueError, match="skdp file"):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def altered(tmp_path, edit):
    header, arrays = load_arrays(RELEASE, "Release")
    edit(header, arrays)
    save_arrays(tmp_path / "bomb", "Release", header, arrays)
    return tmp_path / "bomb"


def test_one_long_label_does_not_lengthen_all(tmp_path):
    labels = ["a" * 60_000, *map(str, range(300))]
    path = altered(tmp_path, lambda header, arrays: header.update(classes=labels))
    assert peak_of_refusal(Release.load, path) < 4 * MIB  # 69 MiB as an array of text


def test_labels_of_fuzzy_models_are_held_to_the_same(tmp_path, rng):
    X, y = rng.rand(60, 3), np.arange(60) % 2
    DeepFuzzyClassifier(random_state=0).fit(X, y).save(tmp_path / "model")
    header, arrays = load_arrays(tmp_path / "model", "DeepFuzzyClassifier")
    header["rules"] = [[None, "a" * 50_000], [None, "b"]]
    save_arrays(tmp_path / "model", "DeepFuzzyClassifier", header, arrays)
    DeepFuzzyClassifier.load(tmp_path / "model")  # two of them are no harm
    for k in range(2, 30):
        header["rules"].append([None, str(k)])
        header["n_parts"].append(1)
        for key in list(arrays):
            if key.startswith("0/"):
                arrays[f"{k}/{key[2:]}"] = arrays[key]
    save_arrays(tmp_path / "model", "DeepFuzzyClassifier", header, arrays)
    assert peak_of_refusal(DeepFuzzyClassifier.load, tmp_path / "model") < 6 * MIB


@pytest.mark.parametrize("value", [[{}] * 400_000, [[]] * 400_000, "a" * 2_000_000])
def test_a_long_header_is_refused_before_it_is_parsed(tmp_path, value):
    path = altered(tmp_path, lambda header, arrays: header.update(feature_names=value))
    assert peak_of_refusal(Release.load, path) < 2 * path.stat().st_size + 2 * MIB


def test_unknown_keys_of_a_header_are_refused(tmp_path):
    path = altered(tmp_path, lambda header, arrays: header.update(more=[{}] * 3))
    with pytest.raises(ValueError, match="header holds more than a model"):
        Release.load(path)


def test_a_directory_of_nothing_is_refused_before_it_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb", "w") as archive:
        for k in range(40_000):
            archive.writestr(str(k), b"")
    path = tmp_path / "bomb"
    assert peak_of_refusal(Release.load, path) < path.stat().st_size / 4


def test_many_small_arrays_are_no_bomb(tmp_path):
    arrays = {f"{k}": np.zeros(1) for k in range(3000)}
    save_arrays(tmp_path / "many", "Thing", {}, arrays)
    assert len(load_arrays(tmp_path / "many", "Thing")[1]) == 3000


def test_the_header_of_a_large_file_may_be_large(tmp_path):
    names = [f"column {k}" for k in range(20_000)]
    assert len(json.dumps(names)) > 2**16
    save_arrays(tmp_path / "large", "Thing", {"names": names}, {"a": np.zeros((20_000, 100))})
    assert load_arrays(tmp_path / "large", "Thing")[0]["names"] == names

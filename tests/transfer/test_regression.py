"""No change of the layout changes a number: seeded transfers predict what they predicted.

``record_regression.py`` made the file before the owner's side and the target's were parted.
On one machine all scores are the same bit by bit. Another processor sums in another order,
and a row on the edge between two classes may fall on the other side of it: with the oldest
instructions that OpenBLAS knows, 2 of 199 rows in one of the 32 scenarios do.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
# Without a source the code is the same whatever the target's features; and that of a release of
# denoised rows with noisy labels is that of one with right labels as well.
LEFT_OUT = {
    *(f"other | none | {way}" for way in ("noise_aware", "alignment", "multitask")),
    *("other | 8, labels 3 | noise_aware", "same | 1 | noise_aware"),
}
pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


def test_seeded_transfers_predict_what_they_predicted():
    spec = importlib.util.spec_from_file_location("record", HERE / "record_regression.py")
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    with np.load(HERE / "data" / "regression.npz") as arrays:
        expected = {
            name: (predictions, guesses)
            for name, predictions, guesses in zip(
                arrays["names"].tolist(),
                arrays["predictions"],
                arrays["transductions"],
                strict=True,
            )
            if name not in LEFT_OUT
            and not any(f" | {level} | " in name for level in ("8", "inf"))  # the code of ε = 1
        }
    differ = {}
    for name, model, scores in record.scenarios(levels=(1.0,), left_out=LEFT_OUT):
        predictions, guesses = expected.pop(name)
        found = scores.argmax(axis=1) != predictions, model.transduction_ != guesses
        assert max(map(np.mean, found)) <= 0.015, name
        if any(map(np.any, found)):
            differ[name] = [int(each.sum()) for each in found]
    assert not expected
    assert len(differ) <= 2, differ

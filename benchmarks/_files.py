"""Tables and recordings of the folder that SKDP_DATA names, which skdp does not come with."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

FOLDER = Path(os.environ.get("SKDP_DATA", "SKDP_DATA"))
# Rows of the source: those with a value in a column, or so many at random.
VALUES = {"flchain": ("sex", "F"), "actg175": ("race", 0)}
SIZES = {"adult": 20_000, "whas500": 250, "actg320": 600, "randhie": 8_000}


def load_table(name, seed):
    """Return a table with its public schema, and rows of a source and of a target.

    Those that are not the source's are the target's. In a random order, the first of these are for
    training, where the first of each class are labeled, and the rest are the test set.
    """
    rng = np.random.RandomState(seed)
    about = json.loads((FOLDER / "tabular" / "schemas.json").read_text(encoding="utf-8"))[name]
    frame = pd.read_csv(FOLDER / "tabular" / f"{name}.csv.gz")
    y = frame.pop(about["label"]).to_numpy()
    if name in VALUES:
        column, value = VALUES[name]
        is_source = frame[column].to_numpy() == value
    else:
        is_source = np.zeros(len(frame), dtype=bool)
        is_source[rng.permutation(len(frame))[: SIZES[name]]] = True
    learning, test = np.split(rng.permutation(np.flatnonzero(~is_source)), [about["target_rows"]])
    classes = np.unique(y)
    shown = [learning[y[learning] == label][: about["labels_per_class"]] for label in classes]
    return Bunch(
        data=frame,
        target=y,
        schema={"version": 1, "columns": about["columns"], "classes": classes.tolist()},
        source=np.flatnonzero(is_source),
        learning=learning,
        labeled=np.concatenate(shown),
        test=test,
    )


def load_human_activity():
    """Return statistics of windows of recordings of thirty people, their activities and numbers.

    Derived from "Human Activity Recognition Using Smartphones" (UCI).
    """
    with np.load(FOLDER / "uci_har_features_derived.npz", allow_pickle=False) as arrays:
        data, target, groups = (
            np.concatenate([arrays[f"{part}_{side}"] for side in ("train", "test")])
            for part in ("X", "y", "subject")
        )
    return Bunch(data=data, target=target.astype(np.int64), groups=groups.astype(np.int64))

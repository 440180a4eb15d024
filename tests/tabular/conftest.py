import json
import os
from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture
def real_table():
    """Return rows, outcomes and the schema of a table of the folder that SKDP_DATA names."""

    def load(name):
        folder = Path(os.environ.get("SKDP_DATA", "SKDP_DATA"), "tabular")
        if not folder.is_dir():
            pytest.skip(f"SKDP_DATA={os.environ.get('SKDP_DATA')!r} names no folder of tables")
        about = json.loads((folder / "schemas.json").read_text(encoding="utf-8"))[name]
        frame = pd.read_csv(folder / f"{name}.csv.gz")
        y = frame.pop(about["label"]).to_numpy()
        classes = sorted(set(y.tolist()))
        return frame, y, {"version": 1, "columns": about["columns"], "classes": classes}

    return load

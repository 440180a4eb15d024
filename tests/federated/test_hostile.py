"""A thousand hostile answers: no exception, and all honest owners are merged."""

import warnings
from itertools import islice

import numpy as np
import pandas as pd
import pytest

from skdp import DPStatisticsSource
from skdp.federated import collect_answers, owner_answer
from skdp.utils._storage import load_arrays, save_arrays

HONEST = ("east", "north", "west")
# Most of them among linear models, whose merging takes less time.
N_HOSTILE, N_TOGETHER = {"linear": 300, "gradients": 40}, 150
SCHEMA = {
    "age": {"type": "numeric", "low": 20, "high": 90},
    "dose": {"type": "numeric", "low": 0, "high": 1, "missing": True},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
}
OTHER = {**SCHEMA, "age": {"type": "numeric", "low": 0, "high": 90}}
NUMBERS = (0.0, -1.0, 1e-300, 1e3, -1e6, 1e14, 1e17, -1e99, 1e300, np.inf, np.nan)
NAMES = ("east", "east\n", "a" * 200, "\x00", "\ud800", "", None, 3, 10**5000, (1,), b"x", 0.5)
OBJECTS = (None, 0, "release", b"release", [], [("release", b"")], {}, {"release": None}, object())
OBJECTS += (
    {"release": "text"},
    {"error": None},
    {"error": {}},
    {1: 2},
    {"release": b""},
    np.ones(2),
)


def made(seed, encoder=SCHEMA, model="linear", classes=("ill", "well")):
    rng = np.random.RandomState(seed)
    ill = rng.rand(150) < 0.4
    table = pd.DataFrame(
        {
            "age": 50 + 10 * ill + 10 * rng.randn(150),
            "dose": rng.rand(150),
            "ward": rng.choice(["a", "b", "c"], 150),
        }
    )
    y = np.where(ill, *classes)
    return lambda: DPStatisticsSource(4.0, encoder=encoder, classes=classes, model=model).fit(
        table, y
    )


@pytest.fixture(scope="module", params=["linear", "gradients"])
def model(request):
    return request.param


@pytest.fixture(scope="module")
def files(tmp_path_factory, model):
    """Files of three honest owners, and of others: of this schema, and of another one."""
    folder = tmp_path_factory.mktemp("owners")
    owners = {name: made(k, model=model) for k, name in enumerate(HONEST)}
    owners |= {"own": made(7, model=model), "linear": made(8), "other": made(9, OTHER)}
    owners["classes"] = made(10, classes=("fine", "ill"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = {
            name: owner_answer(make, path=folder / f"{name}.skdp")["release"]
            for name, make in owners.items()
        }
    return {
        name: (answers[name], *load_arrays(folder / f"{name}.skdp", "Release")) for name in owners
    }


def cut(rng, blob):
    a, b = sorted(rng.randint(0, len(blob), 2))
    return (blob[:a], blob[:a] + blob[b:], blob[a:], blob[:a] + rng.bytes(b - a) + blob[b:])[
        rng.randint(4)
    ]


def flip(rng, blob):
    blob = bytearray(blob)
    blob[rng.randint(len(blob))] ^= 1 << rng.randint(8)
    return bytes(blob)


def rewrite(rng, header, arrays, path):
    """Return a file with a checksum that fits, of which some arrays are others."""
    header, arrays = dict(header), {key: array.copy() for key, array in arrays.items()}
    for key in rng.choice(list(arrays), rng.randint(1, 4)):
        kind, array = rng.randint(5), arrays[key]
        number = NUMBERS[rng.randint(len(NUMBERS))]
        with np.errstate(all="ignore"):
            if kind == 0:
                arrays[key] = np.full(array.shape, number).astype(array.dtype)
            elif kind == 1:
                arrays[key] = (array * number).astype(array.dtype)
            elif kind == 2 and array.size:
                array.flat[rng.randint(array.size)] = np.asarray(number).astype(array.dtype)
            elif kind == 3:
                arrays[key] = np.concatenate([array, array], axis=-1)
            else:
                arrays[key] = (array + rng.randint(-3, 4)).astype(array.dtype)
    save_arrays(path, "Release", header, arrays)
    return path.read_bytes()


def hostile(rng, files, path):
    """Yield names and answers of owners who are up to no good."""
    # Without those of the honest: whoever has their file can be counted in their place.
    bad = [files[name] for name in ("own", "linear", "other", "classes")]
    while True:
        name = NAMES[rng.randint(len(NAMES))] if rng.rand() < 0.2 else f"a{rng.randint(10**9)}"
        blob, header, arrays = bad[rng.randint(len(bad))]
        kind = rng.randint(6)
        if kind == 0:
            yield name, OBJECTS[rng.randint(len(OBJECTS))]
        elif kind == 1:
            yield name, {"release": cut(rng, blob)}
        elif kind == 2:
            yield name, {"release": flip(rng, blob)}
        elif kind == 3:
            yield name, {"release": blob}
        else:
            yield name, {"release": rewrite(rng, header, arrays, path)}


@pytest.mark.slow
def test_no_owner_can_make_the_round_fail(files, model, tmp_path):
    rng = np.random.RandomState(0)
    answers = hostile(rng, files, tmp_path / "altered.skdp")
    honest = [(name, {"release": files[name][0]}) for name in HONEST]
    done = 0
    while done < N_HOSTILE[model]:
        # Other owners of the same name have a key of their own, as a framework gives them.
        batch = dict(islice(answers, N_TOGETHER))
        batch = {name: answer for name, answer in batch.items() if name not in HONEST}
        together = list({**batch, **dict(honest)}.items())
        rng.shuffle(together)
        collected = collect_answers(dict(together), disjoint=True)
        assert set(HONEST) <= set(collected.n_bytes), collected.refused
        assert len(collected.n_bytes) + len(collected.refused) == len(together)
        done += len(batch)

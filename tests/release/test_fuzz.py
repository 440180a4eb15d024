"""Two thousand altered files: each is refused by a ValueError, or is a release that works."""

import copy
import warnings
from pathlib import Path

import numpy as np
import pytest

from skdp import DPTransferClassifier, Release, SelfTrainingSchedule
from skdp.utils._storage import load_arrays, save_arrays

DATA = Path(__file__).parent / "data"
NAMES = ("denoised", "papers", "sums", "gradients", "mixtures", "time")
FILES = [DATA / f"version1_{name}.skdp" for name in NAMES]
ROWS = np.random.RandomState(0).rand(12, 4) * [3.0, 1.0, 1.0, 1.0]
N_BLOCKS, N_EACH = 4, 100

NUMBERS = [0, 1, -1, 2, 1e308, -1e308, 1e-308, 10**400, 2**63, 0.5, 8.0, -8.0]
OTHERS = ["", "element", "record", "label", "gaussian", "pure", "<f4", "<f8", "O", "float16"]
OTHERS += [None, True, [], {}, [[]], {"a": 1}, "NaN", "9" * 5000, float("nan"), float("inf")]


def flip_bits(rng, blob):
    blob = bytearray(blob)
    for _ in range(rng.randint(1, 4)):
        blob[rng.randint(len(blob))] ^= 1 << rng.randint(8)
    return bytes(blob)


def cut_and_paste(rng, blob):
    """Remove, repeat or move a piece, or cut the end off."""
    a, b = sorted(rng.randint(0, len(blob), 2))
    choices = [blob[:a] + blob[b:], blob[:b] + blob[a:], blob[a:], blob[:b]]
    choices += [blob[:a] + rng.bytes(b - a) + blob[b:], blob[b:] + blob[:b]]
    return choices[rng.randint(len(choices))]


def spots(thing):
    """Yield the container and key of everything in a JSON value."""
    items = thing.items() if isinstance(thing, dict) else enumerate(thing)
    for key, value in list(items):
        yield thing, key
        if isinstance(value, dict | list):
            yield from spots(value)


def edit_header(rng, header, arrays):
    for _ in range(rng.randint(1, 3)):
        places = list(spots(header))
        container, key = places[rng.randint(len(places))]
        kind = rng.randint(4)
        if kind == 0:
            del container[key]
        elif kind == 1:
            other, name = places[rng.randint(len(places))]
            container[key] = copy.deepcopy(other.get(name) if isinstance(other, dict) else 0)
        else:
            values = NUMBERS if kind == 2 else OTHERS
            container[key] = copy.deepcopy(values[rng.randint(len(values))])


def edit_array(rng, array):
    if not array.size:
        return np.ones(3)
    flat = array.copy().reshape(-1)
    spot = rng.randint(flat.size)
    kind = rng.randint(12)
    if kind == 0:
        return array[rng.randint(0, len(array) + 1) :]
    if kind == 1:
        return array[..., : rng.randint(0, array.shape[-1] + 1)]
    if kind == 2:
        return array.T
    if kind == 3:
        return array[np.newaxis]
    if kind == 4:
        return array.reshape(-1)
    if kind == 5:
        return array.astype(rng.choice(["f2", "f4", "f8", "i8", "u1", "c16", "U3", "?"]))
    if kind == 6:
        return np.concatenate([array, array])
    with np.errstate(all="ignore"):
        if kind == 7:
            values = [np.nan, np.inf, 1e30, -1e30, 1e-30, 0, -1, 1e99, 1e101]
            flat[spot] = np.array(rng.choice(values)).astype(flat.dtype)
        elif kind == 8:
            flat = (flat * rng.choice([-1, 0, 1e-40, 1e-12, 1e12, 1e30])).astype(flat.dtype)
        elif kind == 9:
            rng.shuffle(flat)
        elif kind == 10:
            flat[spot:] = flat[0]
        else:
            flat = (flat + rng.choice([1, -1, 1e6, 1e15])).astype(flat.dtype)
    return flat.reshape(array.shape)


def edit_arrays(rng, header, arrays):
    names = sorted(arrays)
    for _ in range(rng.randint(1, 3)):
        first, second = rng.choice(names, 2)
        kind = rng.randint(8)
        if kind == 0:
            arrays[first], arrays[second] = arrays[second], arrays[first]
        elif kind == 1:
            arrays.pop(first, None)
            names = sorted(arrays)
        elif kind == 2:
            arrays[f"{first}/{second}"] = arrays[second]
        else:
            arrays[first] = edit_array(rng, arrays[first])


def mutate(rng, path, out):
    """Write an altered copy; three of five with a checksum that fits it."""
    kind = rng.randint(5)
    if kind < 2:
        out.write_bytes([flip_bits, cut_and_paste][kind](rng, path.read_bytes()))
        return
    header, arrays = load_arrays(path, "Release")
    for edit in ([edit_header], [edit_arrays], [edit_header, edit_arrays])[kind - 2]:
        edit(rng, header, arrays)
    try:
        save_arrays(out, "Release", header, arrays)
    except (ValueError, OverflowError):
        out.write_bytes(b"")  # NumPy or JSON would not write this


def use(release):
    """Ask everything of a release that a target does; return numbers."""
    rows = np.resize(ROWS, (12, release.n_features)).astype(release.dtype)
    if any(part is not None for part in (release.classifier, release.linear, release.mixtures)):
        yield release.scores(rows)
        yield release.predict_proba(rows)
    if release.mixtures is not None:
        codes = release.subspace.encode(rows)
        noise = np.zeros(codes.shape[1])
        yield release.mixtures.log_likelihood(codes, noise)
        effective = release.moments.effective_sizes
        yield release.mixtures.adapt(
            codes, effective, release.subspace.noise(release.moments.noise)
        ).means
    if release.outcome.kind == "event":
        yield release.predict(rows)
        yield release.predict_survival_function(rows, return_array=True)
        yield release.model.hazards.concordance
    if release.moments is not None:
        yield release.moments.total_covariance()
        yield release.sample(3, random_state=0)[0]
    repr(release), release.summary(), release._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize("block", range(N_BLOCKS))
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_altered_files_are_refused_or_work(path, block, tmp_path):
    rng, out = np.random.RandomState(block), tmp_path / "altered"
    loaded = 0
    for k in range(N_EACH):
        mutate(rng, path, out)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                release = Release.load(out)
            except ValueError:
                continue
            loaded += 1
            for numbers in use(release):
                assert np.isfinite(numbers).all(), (block, k)
            if loaded % 8 == 0 and len(release.classes) == 3 and release.n_features == 4:
                learn_from(release, loaded // 8)
    assert loaded < N_EACH / 2


def learn_from(release, k):
    """Train a target on a release, with its features or with fewer, by one of the strategies."""
    rows = ROWS.astype(release.dtype)[:, : 4 - k % 2]
    y = release.classes[[0, 1, 2] * 4].astype(object)
    y[6:] = None
    strategy = ["noise_aware", "alignment", "multitask"][k % 3]
    if strategy != "noise_aware" and None in (release.row_classifier, release.alignment):
        strategy = "noise_aware"
    model = DPTransferClassifier(
        release,
        strategy=strategy,
        self_training=SelfTrainingSchedule(n_components=1, n_layers=1, n_folds=2),
        random_state=0,
    )
    problem = None
    try:
        model.fit(rows, y)
    except ValueError as error:
        problem = str(error)
    if problem is None:
        assert np.isfinite(model.decision_function(rows)).all()
    else:  # an altered release may lack an alignment, or have another scale
        assert "alignment" in problem or "floating-point arithmetic" in problem

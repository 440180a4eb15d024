"""Classifiers as arrays: what comes back, and what is refused."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from skdp import WideCDMMAClassifier
from skdp.membership import pack_classifier, unpack_classifier


@pytest.fixture(scope="module")
def fitted(digits):
    X, y = digits
    X, y = X[y < 3], y[y < 3]
    settings = {"subset_size": 100, "error_scale": "shared", "random_state": 0}
    return WideCDMMAClassifier(4, 20, 2, **settings).fit(X, y)


@pytest.fixture
def packed(fitted):
    header, arrays = pack_classifier(fitted)
    return json.loads(json.dumps(header)), dict(arrays)


@pytest.mark.parametrize("prefix", ["", "classifier/"])
@pytest.mark.parametrize("inference", ["gamma", "empirical"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("names", [[3, 5, 8], [1.0, 2.0, 4.0], ["a", "b", "c"], [False, True]])
def test_round_trip(digits, dtype, names, inference, prefix):
    X, y = digits
    kept = y < len(names)
    X, y = X[kept].astype(dtype), np.array(names)[y[kept]]
    settings = {"n_layers": 3, "inference": inference, "subset_size": 100, "random_state": 0}
    settings["error_scale"] = "shared"
    model = WideCDMMAClassifier(3, 15, **settings).fit(X, y)
    header, arrays = pack_classifier(model, prefix)
    assert all(key.startswith(prefix) for key in arrays)
    others = {"other/components": np.ones(3)}
    copy = unpack_classifier(json.loads(json.dumps(header)), arrays | others, prefix)
    assert copy.classes_.dtype.kind == model.classes_.dtype.kind
    assert_array_equal(copy.classes_, model.classes_)
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    again = pack_classifier(copy, prefix)
    assert again[0] == header
    for key, array in arrays.items():
        assert again[1][key].dtype == array.dtype
        assert_array_equal(again[1][key], array)


def test_keys_and_header_are_those_of_the_file_format(packed):
    header, arrays = packed
    assert set(header) == {"parameters", "classes", "dtype", "n_parts"}
    saved = {"n_components", "n_inducing", "n_layers", "inference", "subset_size"}
    assert set(header["parameters"]) == saved
    assert header["n_parts"] == [2, 2, 2]
    own = {key.removeprefix("0/1/") for key in arrays if key.startswith("0/1/")}
    layers = {
        f"{name}{depth}" for name in ("inducing_points", "weights", "coef") for depth in (0, 1)
    }
    assert own == {"components", "error_sums", "layers", *layers}


def test_layers_whose_scale_underflows_come_back(digits):
    # Deep layers of few rows see inputs that hardly vary, and Π(1 + w·s)^−½ becomes zero.
    X, y = digits
    rows = np.r_[np.flatnonzero(y == 8)[:25], np.flatnonzero(y == 1)[:25]]
    settings = {"error_scale": "shared", "random_state": 0}
    model = WideCDMMAClassifier(20, **settings).fit(X[rows], y[rows])
    header, arrays = pack_classifier(model)
    assert min(arrays[key][:, 0].min() for key in arrays if key.endswith("layers")) == 0
    copy = unpack_classifier(header, arrays)
    assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_an_unfitted_classifier_is_refused():
    with pytest.raises(NotFittedError):
        pack_classifier(WideCDMMAClassifier())


def change(name, function):
    """Return damage: an array replaced by what a function makes of a copy."""

    def damage(header, arrays):
        arrays[f"1/0/{name}"] = function(arrays[f"1/0/{name}"].copy())

    return damage


def put(name, index, value):
    """Return damage: one entry of an array replaced."""

    def function(array):
        array[index] = value
        return array

    return change(name, function)


def head(**changes):
    return lambda header, arrays: header.update(changes)


def parameter(**changes):
    return lambda header, arrays: header["parameters"].update(changes)


ARRAYS = ["components", "error_sums", "layers", "inducing_points1", "weights0", "coef1"]


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.astype(object),
        lambda a: a.astype(complex),
        lambda a: a.astype(str),
        lambda a: a.astype(np.float16),
        lambda a: a.astype(int),
        lambda a: a[:0],
        lambda a: a[:-1],
        lambda a: np.concatenate([a, a]),
        lambda a: a[..., np.newaxis],
        lambda a: a[0],
        lambda a: np.where(np.arange(len(a)).reshape(-1, *[1] * (a.ndim - 1)) == 0, np.nan, a),
        lambda a: np.where(np.arange(len(a)).reshape(-1, *[1] * (a.ndim - 1)) == 0, np.inf, a),
        lambda a: a.tolist(),
        lambda a: None,
    ],
    ids=[
        *("object", "complex", "text", "half", "integer", "empty", "shorter", "longer"),
        *("one more axis", "one axis less", "nan", "inf", "list", "none"),
    ],
)
def test_damaged_arrays_are_refused(packed, name, function):
    header, arrays = packed
    change(name, function)(header, arrays)
    with pytest.raises(ValueError, match=r"array .*1/0/|do not fit"):
        unpack_classifier(header, arrays)


@pytest.mark.parametrize("name", ARRAYS)
def test_missing_arrays_are_refused(packed, name):
    header, arrays = packed
    del arrays[f"1/0/{name}"]
    with pytest.raises(ValueError, match="array '1/0/"):
        unpack_classifier(header, arrays)


@pytest.mark.parametrize(
    "damage",
    [
        change("components", lambda a: a[:, :-1]),
        change("inducing_points0", lambda a: a[:, :-1]),
        change("coef0", lambda a: a[:, :-1]),
        put("weights0", 0, -1.0),
        put("layers", (0, 0), -1.0),
        put("layers", (1, 1), 0.0),
        put("layers", (1, 1), -2.0),
        put("layers", (0, 2), 2.5),
        put("layers", (0, 2), -1),
        put("error_sums", 0, 0),
        put("error_sums", 1, -1),
        put("error_sums", 2, -1e-9),
        lambda header, arrays: [
            arrays[key].__setitem__(slice(1, None), 1e308)
            for key in list(arrays)
            if key.endswith("error_sums")
        ],
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_do_not_fit_are_refused(packed, damage):
    header, arrays = packed
    arrays = {key: array.copy() for key, array in arrays.items()}
    damage(header, arrays)
    with pytest.raises(ValueError, match=r"do not fit|array '1/0/"):
        unpack_classifier(header, arrays)


def test_autoencoders_of_different_feature_spaces_are_refused(packed, digits):
    header, arrays = packed
    X, y = digits
    X, y = X[y < 3, :60], y[y < 3]
    settings = {"subset_size": 100, "error_scale": "shared", "random_state": 0}
    narrow = WideCDMMAClassifier(4, 20, 2, **settings).fit(X, y)
    _, others = pack_classifier(narrow)
    arrays |= {key: array for key, array in others.items() if key.startswith("2/")}
    with pytest.raises(ValueError, match="numbers of features do not fit"):
        unpack_classifier(header, arrays)


# Of each key of the header and each parameter, what it must not be.
WRONG_HEADERS = {
    "classes": [
        *([0, 1], [0, 1, 1], [1, 0, 2], [0, 1, "2"], [0, 1, None], [None, None, None]),
        *([0.0, 1.0, float("nan")], [0.0, 1.0, float("inf")], [[0], [1], [2]], [1, 2, 2**70]),
        *("abc", 3),
    ],
    "n_parts": [
        *([2, 2], [2, 0, 2], [2, -1, 2], [2, 1.0, 2], [2, "1", 2], [2, True, 2], [2, 3, 2], 2),
    ],
    "dtype": ["<f2", "<f4", "O", "no such type", None, 8],
    "parameters": [None, []],
}
WRONG_PARAMETERS = {
    "color": ["red"],
    "n_jobs": [2],
    "n_components": [0, 3, "many"],
    "n_inducing": [1.5, None],
    "n_layers": [0, 1, 3],
    "inference": ["magic"],
    "subset_size": [0],
}


@pytest.mark.parametrize(
    "damage",
    [
        *(lambda header, arrays, k=k: header.pop(k) for k in [*WRONG_HEADERS]),
        lambda header, arrays: header["parameters"].pop("inference"),
        *(head(**{k: value}) for k, values in WRONG_HEADERS.items() for value in values),
        *(head(classes=classes, n_parts=[2] * len(classes)) for classes in ([], [0])),
        *(parameter(**{k: value}) for k, values in WRONG_PARAMETERS.items() for value in values),
    ],
)
def test_damaged_headers_are_refused(packed, damage):
    header, arrays = packed
    damage(header, arrays)
    with pytest.raises(
        ValueError, match=r"do not fit|no working|array|parameter of WideCDMMAClassifier"
    ):
        unpack_classifier(header, arrays)


@pytest.mark.parametrize("header", [None, [], "text", 3, {}])
def test_what_is_no_header_is_refused(header):
    with pytest.raises(ValueError, match="no working WideCDMMAClassifier"):
        unpack_classifier(header, {})

from itertools import pairwise
from math import atan2, cos, exp, hypot, pi, sqrt

import numpy as np
import pytest

from skdp import OrientedGradients
from skdp.utils import _parallel


@pytest.fixture
def images(rng):
    return rng.rand(20, 11, 14)


def slow_means(image, width):
    """Gaussian means of each pixel's neighbors within the image, by direct sums."""
    if width == 0:
        return image
    height, breadth = image.shape
    means = np.zeros_like(image)
    for y in range(height):
        for x in range(breadth):
            total = weights = 0.0
            for v in range(height):
                for u in range(breadth):
                    if abs(v - y) <= 4 * width and abs(u - x) <= 4 * width:
                        weight = exp(-((v - y) ** 2 + (u - x) ** 2) / (2 * width**2))
                        total += weight * image[v, u]
                        weights += weight
            means[y, x] = total / weights
    return means


def slow_slope(values, i):
    before, after = max(i - 1, 0), min(i + 1, len(values) - 1)
    return (values[after] - values[before]) / max(after - before, 1)


def slow_points(size, width):
    n = max(1, int(size // (2 * width)))
    edges = [k * size / n - 0.5 for k in range(n + 1)]
    return [(low + high) / 2 for low, high in pairwise(edges)]


def slow_features(image, n_directions=8, scales=(1.75, 3.5), smoothing=0.5):
    """The formula of the docstring, pixel by pixel, of one image with channels."""
    image = (image - image.min()) / (image.max() - image.min())
    channels = [slow_means(image[:, :, c], smoothing) for c in range(image.shape[2])]
    height, breadth = image.shape[:2]
    found = []
    for width in scales:
        sums = []
        for py in slow_points(height, width):
            for px in slow_points(breadth, width):
                for d in range(n_directions):
                    total = 0.0
                    for y in range(height):
                        for x in range(breadth):
                            if abs(y - py) > 4 * width or abs(x - px) > 4 * width:
                                continue
                            slopes = [
                                (slow_slope(c[y], x), slow_slope(c[:, x], y)) for c in channels
                            ]
                            right, down = max(slopes, key=lambda s: hypot(*s))
                            turn = atan2(down, right) - 2 * pi * d / n_directions
                            share = hypot(right, down) * max(0.0, cos(turn)) ** 3
                            squared = (y - py) ** 2 + (x - px) ** 2
                            total += exp(-squared / (2 * width**2)) * share
                    sums.append(total)
        found += [sqrt(s / sum(sums) / len(scales)) for s in sums]
    return np.array(found)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_directions": 5, "scales": (2.0,), "smoothing": 0},
        {"scales": (1.0, 2.5, 9.0), "n_directions": 3, "smoothing": 1.2},
    ],
)
@pytest.mark.parametrize("n_channels", [1, 3])
def test_features_are_those_of_the_formula(rng, parameters, n_channels):
    shape = (9, 10, n_channels)
    X = rng.rand(2, np.prod(shape))
    found = OrientedGradients(shape, **parameters).fit_transform(X)
    expected = [slow_features(x.reshape(shape), **parameters) for x in X]
    np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize("shape", [(11, 14), (7, 11, 2), (1, 154), (154, 1)])
def test_a_row_depends_on_itself_alone(images, shape):
    X = images.reshape(20, -1)
    model = OrientedGradients(shape).fit(X)
    features = model.transform(X)
    alone = np.concatenate([model.transform(x[np.newaxis]) for x in X])
    np.testing.assert_array_equal(alone, features)
    others = np.concatenate([1000 * images[5:].reshape(15, -1), X[:5], np.zeros((9, 154))])
    np.testing.assert_array_equal(model.transform(others)[15:20], features[:5])


def test_a_row_does_not_depend_on_the_type_that_others_need(rng):
    X = rng.randint(256, size=(4, 64))
    features = OrientedGradients().fit_transform(X)
    for dtype in (np.uint8, np.int32, np.float32, np.float64, object):
        np.testing.assert_array_equal(OrientedGradients().fit_transform(X.astype(dtype)), features)


def test_chunks_do_not_matter(images, monkeypatch):
    X = np.tile(images.reshape(20, -1), (30, 1))
    features = OrientedGradients((11, 14)).fit_transform(X)
    monkeypatch.setattr(_parallel, "_WORKSPACE_BYTES", 2**17)
    np.testing.assert_array_equal(OrientedGradients((11, 14)).fit_transform(X), features)


@pytest.mark.parametrize("value", [0.0, 0.3, -7.0, 1e300, np.finfo(float).tiny])
def test_constant_images_have_no_features(value):
    features = OrientedGradients((11, 14)).fit_transform(np.full((3, 154), value))
    np.testing.assert_array_equal(features, 0)


@pytest.mark.parametrize(("factor", "offset"), [(255, 0), (1e300, -4e299), (1e-200, 0), (2, 50)])
def test_contrast_and_brightness_do_not_matter(images, factor, offset):
    X = images.reshape(20, -1)
    model = OrientedGradients((11, 14)).fit(X)
    np.testing.assert_allclose(model.transform(factor * X + offset), model.transform(X), atol=1e-5)


def test_names_say_scale_point_and_angle(images):
    model = OrientedGradients((11, 14), n_directions=7, scales=(2.0, 3)).fit(
        images.reshape(20, -1)
    )
    names = model.get_feature_names_out()
    assert len(set(names)) == len(names) == model.transform(images.reshape(20, -1)).shape[1]
    assert names[0] == "scale2_row2.25_column1.83333_angle0"
    assert names[-1] == "scale3_row5_column10_angle308.571"


def test_columns_that_are_no_square_are_one_line():
    X = np.arange(24.0).reshape(2, 12) ** 2
    with pytest.warns(UserWarning, match="12 pixels are not a square image"):
        found = OrientedGradients().fit_transform(X)
    np.testing.assert_array_equal(found, OrientedGradients((1, 12)).fit_transform(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"image_shape": (8,)}, r"'image_shape' .* got \(8,\). Pass two or three"),
        ({"image_shape": (-8, -8)}, r"'image_shape' .* got \(-8, -8\)"),
        ({"image_shape": (8.0, 8.0)}, "'image_shape' .* whole numbers"),
        ({"image_shape": (8, 9)}, r"'image_shape' .* 72 pixels, but X has 64 columns. Pass"),
        ({"scales": ()}, r"'scales' .* got \(\). Pass one or more"),
        ({"scales": (1.5, 1.5)}, "'scales' .* different positive widths"),
        ({"scales": (0.0,)}, "'scales' .* Pass one or more"),
        ({"scales": ("a",)}, "'scales' .* got"),
        ({"scales": [[1.5]]}, "'scales' .* got"),
        ({"n_directions": 2}, "'n_directions' parameter of OrientedGradients must be an int in"),
        ({"smoothing": -1.0}, "'smoothing' parameter of OrientedGradients must be a float in"),
    ],
)
def test_errors_name_parameter_value_and_remedy(parameters, message):
    X = np.zeros((2, 64))
    for method in ("fit", "transform"):
        with pytest.raises(ValueError, match=message):
            getattr(OrientedGradients(**parameters), method)(X)

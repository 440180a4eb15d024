"""Fitted classifiers as a JSON header and arrays, and back."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.membership._classifier import WideCDMMAClassifier
from skdp.membership._layer import Layer
from skdp.membership._wide import make_cdmma
from skdp.utils._storage import require, stored_array, stored_estimator, stored_labels

# Parameters that decide how a classifier was fitted.
_SAVED = ("n_components", "n_inducing", "n_layers", "inference", "subset_size")


def pack_classifier(classifier, prefix=""):
    """Return what a fitted :class:`~skdp.WideCDMMAClassifier` consists of.

    Parameters
    ----------
    classifier : WideCDMMAClassifier
        Fitted.

    prefix : str, default=""
        Every key of ``arrays`` starts with it.

    Returns
    -------
    header : dict
        JSON-serialisable: parameters, classes, dtype, and ``n_parts``, the number of
        autoencoders of each class.

    arrays : dict of str to ndarray
        Those of autoencoder i of class c are named ``"{prefix}{c}/{i}/..."``.

    Raises
    ------
    ValueError
        When it has ``error_scale="own"``: a file has no place for these scales.

    See Also
    --------
    unpack_classifier : The way back.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import WideCDMMAClassifier
    >>> from skdp.membership import pack_classifier
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> classifier = WideCDMMAClassifier(5, n_layers=1, random_state=0).fit(X / 16, y)
    >>> header, arrays = pack_classifier(classifier, prefix="classifier/")
    >>> header["classes"], header["n_parts"]
    ([0, 1, 2], [1, 1, 1])
    >>> arrays["classifier/2/0/components"].shape
    (5, 64)
    """
    check_is_fitted(classifier)
    if classifier.error_scale != "shared":
        raise ValueError(
            f"The 'error_scale' parameter of a {type(classifier).__name__} in a release or file "
            f"must be 'shared', got {classifier.error_scale!r}: scales of each class are not kept "
            "there. Call set_params(error_scale='shared') first."
        )
    groups = classifier.autoencoders_by_class()
    header = {
        "parameters": {name: getattr(classifier, name) for name in _SAVED},
        "classes": classifier.classes_.tolist(),
        "dtype": np.dtype(classifier.dtype_).str,
        "n_parts": [len(group) for group in groups],
    }
    arrays = {}
    for c, group in enumerate(groups):
        for i, autoencoder in enumerate(group):
            key = f"{prefix}{c}/{i}"
            arrays[f"{key}/components"] = autoencoder.components_
            arrays[f"{key}/error_sums"] = autoencoder.training_error_sums_
            arrays[f"{key}/layers"] = np.array(
                [[layer.scale, layer.precision, layer.n_iter] for layer in autoencoder._layers]
            )
            for depth, layer in enumerate(autoencoder._layers):
                arrays[f"{key}/inducing_points{depth}"] = layer.inducing_points
                arrays[f"{key}/weights{depth}"] = layer.weights
                arrays[f"{key}/coef{depth}"] = layer.coef
    return header, arrays


def unpack_classifier(header, arrays, prefix=""):
    """Return the :class:`~skdp.WideCDMMAClassifier` that :func:`pack_classifier` took apart.

    Both may come from an untrusted file: whatever could fail later is refused here.

    Parameters
    ----------
    header : dict
        As :func:`pack_classifier` returned it, or JSON made of it.

    arrays : dict of str to ndarray
        Likewise; those whose key does not start with the prefix are ignored.

    prefix : str, default=""
        What the keys start with.

    Returns
    -------
    classifier : WideCDMMAClassifier
        Fitted.

    Raises
    ------
    ValueError
        When the header or an array is missing or no such thing; when shapes, dtypes or
        numbers of layers do not agree, numbers are not finite or out of range, classes are
        not at least two different ones in order, or a parameter is not one that the
        classifier takes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import WideCDMMAClassifier
    >>> from skdp.membership import pack_classifier, unpack_classifier
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> classifier = WideCDMMAClassifier(5, n_layers=1, random_state=0).fit(X / 16, y)
    >>> copy = unpack_classifier(*pack_classifier(classifier))
    >>> bool((copy.predict(X) == classifier.predict(X)).all())
    True
    """
    try:
        return _unpack(header, arrays, prefix)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"no working WideCDMMAClassifier ({error!r})") from error


def frozen_classifier(classifier, copy=True):
    """Return a copy of a fitted classifier that holds what its file would, and no more.

    No seeds and no generator that drew them, and arrays that cannot be written to.

    Parameters
    ----------
    classifier : WideCDMMAClassifier
        Fitted.

    copy : bool, default=True
        Whether to copy arrays that can be written to, or else to take them from the original,
        which then cannot write to them either.

    Returns
    -------
    frozen : WideCDMMAClassifier
        Predicts the same, bit for bit.

    Raises
    ------
    ValueError
        When it is none that could be read from a file, see :func:`unpack_classifier`, or has
        ``error_scale="own"``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp import WideCDMMAClassifier
    >>> from skdp.membership import frozen_classifier
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> classifier = WideCDMMAClassifier(5, n_layers=1, random_state=0).fit(X / 16, y)
    >>> frozen = frozen_classifier(classifier)
    >>> frozen.random_state is None, frozen.autoencoders_[0].autoencoders_[0].random_state is None
    (True, True)
    """
    header, arrays = pack_classifier(classifier)
    for name, array in arrays.items():
        if array.flags.writeable:
            arrays[name] = array.copy(order="K") if copy else array
            arrays[name].flags.writeable = False
    return unpack_classifier(header, arrays)


def _unpack(header, arrays, prefix):
    classifier, dtype, counts = stored_estimator(WideCDMMAClassifier, header, _SAVED)
    classes = _check_classes(header["classes"])
    require(len(classes) == len(counts), "classes and n_parts")
    groups = [
        [_unpack_autoencoder(classifier, arrays, f"{prefix}{c}/{i}", dtype) for i in range(count)]
        for c, count in enumerate(counts)
    ]
    n_features = {autoencoder.n_features_in_ for group in groups for autoencoder in group}
    require(len(n_features) == 1, "numbers of features")
    classifier._assemble(classes, [classifier._make_wide(group) for group in groups])
    temperature = classifier.temperature_
    require(np.isfinite(temperature) and temperature > 0, "error_sums")
    return classifier


def _check_classes(labels):
    """Return the classes as an array: at least two, of one type, different and in order."""
    require(len({type(label) for label in labels}) == 1, "classes")
    classes = stored_labels(labels)
    require(classes.dtype.kind in "biufU" and classes.ndim == 1, "classes")
    require(classes.dtype.kind != "f" or np.isfinite(classes).all(), "classes")
    require(len(classes) > 1 and np.array_equal(np.unique(classes), classes), "classes")
    return classes


def _unpack_autoencoder(classifier, arrays, key, dtype):
    components = stored_array(arrays, f"{key}/components", dtype, (None, None))
    n, p = components.shape
    require(n <= min(classifier.n_components, p), f"{key}/components")
    sums = stored_array(arrays, f"{key}/error_sums", np.float64, (3,))
    require(sums.min() >= 0 and sums[0] > 0, f"{key}/error_sums")
    numbers = stored_array(arrays, f"{key}/layers", np.float64, (classifier.n_layers, 3))
    layers = []
    for depth, (scale, precision, n_iter) in enumerate(numbers):
        # A scale may be zero: Π(1 + w·s)^−½ underflows where inputs hardly vary, and the
        # coefficients hold the product already.
        require(scale >= 0 and precision > 0, f"{key}/layers")
        require(n_iter >= 0 and n_iter == int(n_iter), f"{key}/layers")
        width = max(n - depth, 1)
        points = stored_array(arrays, f"{key}/inducing_points{depth}", dtype, (None, width))
        weights = stored_array(arrays, f"{key}/weights{depth}", dtype, (width,))
        require(weights.min() >= 0, f"{key}/weights{depth}")
        coef = stored_array(arrays, f"{key}/coef{depth}", dtype, (len(points), p))
        layers.append(Layer(points, weights, coef, float(scale), float(precision), int(n_iter)))
    autoencoder = make_cdmma(classifier, None)
    autoencoder.training_error_sums_ = sums
    return autoencoder._assemble(components, layers, dtype)

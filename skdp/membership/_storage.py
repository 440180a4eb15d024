"""Models of groups of autoencoders as a JSON header and arrays, and back."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.membership._autoencoder import with_parameters_of
from skdp.membership._cdmma import CDMMA
from skdp.membership._classifier import WideCDMMAClassifier
from skdp.utils._storage import require, stored_labels

# Parameters that decide how a classifier was fitted.
_SAVED = ("n_components", "n_inducing", "n_layers", "inference", "subset_size")


def check_shared_scales(classifier, which):
    """Raise ValueError if a classifier has scales of errors, which hold for its own rows alone."""
    if classifier.error_scale != "shared":
        raise ValueError(
            f"The 'error_scale' parameter of {which} must be 'shared', got "
            f"{classifier.error_scale!r}: scales of each class hold for its own rows alone, and "
            "are not kept. Call set_params(error_scale='shared') first."
        )


def pack_model(model, saved, groups, prefix=""):
    """Return a fitted model of groups of autoencoders as a JSON header and arrays.

    Parameters
    ----------
    model : estimator
        Fitted, with ``dtype_``.

    saved : tuple of str
        Names of the parameters that decide how it was fitted.

    groups : list of list of autoencoders
        Its autoencoders.

    prefix : str, default=""
        Every key of ``arrays`` starts with it.

    Returns
    -------
    header : dict
        JSON-serialisable: parameters, dtype, and ``n_parts``, the number of autoencoders of
        each group.

    arrays : dict of str to ndarray
        Those of autoencoder i of group k are named ``"{prefix}{k}/{i}/..."``.
    """
    header = {
        "parameters": {name: getattr(model, name) for name in saved},
        "dtype": np.dtype(model.dtype_).str,
        "n_parts": [len(group) for group in groups],
    }
    arrays = {
        f"{prefix}{k}/{i}/{name}": array
        for k, group in enumerate(groups)
        for i, autoencoder in enumerate(group)
        for name, array in autoencoder._to_arrays().items()
    }
    return header, arrays


def unpack_model(cls, kind, saved, header, arrays, prefix=""):
    """Rebuild a model and its groups from what :func:`pack_model` returned.

    Parameters
    ----------
    cls : type
        Of the model.

    kind : type
        Of its autoencoders.

    saved, header, arrays, prefix
        See :func:`pack_model`; header and arrays may come from an untrusted file.

    Returns
    -------
    model : estimator
        Its parameters are such as it takes; with ``dtype_`` and ``n_features_in_``, and else
        not fitted.

    groups : list of list of autoencoders
        Fitted.

    Raises
    ------
    Exception
        Of nearly any kind where they are no such model; callers say what that means.
    """
    require(set(header["parameters"]) == set(saved), "parameters")
    model = cls(**header["parameters"])
    model._validate_params()
    require(isinstance(header["dtype"], str), "dtype")
    model.dtype_ = np.dtype(header["dtype"])
    require(model.dtype_ in (np.float32, np.float64), "dtype")
    counts = header["n_parts"]
    require(all(type(count) is int and count > 0 for count in counts), "n_parts")
    groups = [
        [
            with_parameters_of(model, kind)._from_arrays(arrays, f"{prefix}{k}/{i}/", model.dtype_)
            for i in range(count)
        ]
        for k, count in enumerate(counts)
    ]
    n_features = {autoencoder.n_features_in_ for group in groups for autoencoder in group}
    require(len(n_features) == 1, "numbers of features")
    (model.n_features_in_,) = n_features
    return model, groups


def pack_classifier(classifier, prefix=""):
    """Return a fitted :class:`~skdp.WideCDMMAClassifier` as a JSON header and arrays.

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
    check_shared_scales(classifier, f"a {type(classifier).__name__} in a release or file")
    groups = classifier.autoencoders_by_class()
    header, arrays = pack_model(classifier, _SAVED, groups, prefix)
    header["classes"] = classifier.classes_.tolist()
    return header, arrays


def unpack_classifier(header, arrays, prefix=""):
    """Rebuild a :class:`~skdp.WideCDMMAClassifier` from what :func:`pack_classifier` returned.

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
        classes = stored_labels(header["classes"])
        require(len(classes) > 1 and np.array_equal(np.unique(classes), classes), "classes")
        classifier, groups = unpack_model(
            WideCDMMAClassifier, CDMMA, _SAVED, header, arrays, prefix
        )
        require(len(classes) == len(groups), "classes and n_parts")
        classifier.classes_ = classes
        classifier._assemble(groups)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"no working WideCDMMAClassifier ({error!r})") from error
    return classifier


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

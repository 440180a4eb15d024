"""Public names that are imported when they are asked for."""

from importlib import import_module


def lazy_names(package, names_of):
    """Return ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Whoever learns from a release need not import what makes one, and does not.

    Parameters
    ----------
    package : str
        Its ``__name__``.

    names_of : dict of str to list of str
        Public names, by the module that each comes from.

    Returns
    -------
    getattr_, dir_ : callables

    Examples
    --------
    >>> from skdp.utils._lazy import lazy_names
    >>> getattr_, dir_ = lazy_names("mine", {"fractions": ["Fraction"]})
    >>> getattr_("Fraction")(1, 2)
    Fraction(1, 2)
    """
    homes = {name: module for module, names in names_of.items() for name in names}

    def getattr_(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return getattr_, lambda: sorted(homes)

"""What a mechanism audit can ask: inputs that are neighbours, and outputs for each."""

from typing import Protocol

import numpy as np
from sklearn.base import clone

from skdp.privacy import PrivacyGuarantee


class Subject(Protocol):
    """Something that turns either of two neighbours into outputs.

    Attributes
    ----------
    guarantee : PrivacyGuarantee
        What is claimed.

    pairs : dict of {(int, int): str}
        Inputs that are neighbours, and in which way. Input 0 is in at least one of them.

    atoms : tuple of float
        Outputs that may have a probability of their own.

    on_grid : bool
        Whether outputs are to lie on one grid, wherever the input lies.

    joint : bool
        Whether one move changes all columns.

    chance : float
        Greatest probability with which a right mechanism moves two outputs alike.
    """

    guarantee: PrivacyGuarantee
    pairs: dict
    atoms: tuple
    on_grid: bool
    joint: bool
    chance: float

    def draw(self, which, n):
        """Return independent outputs of one input.

        Parameters
        ----------
        which : int
            The input.

        n : int
            How many.

        Returns
        -------
        outputs : ndarray of shape (n, n_columns)
            0 is what input 0 would be without noise.
        """


def make_subject(transformer, n_features, value):
    """Return what is to be audited, fitted.

    Parameters
    ----------
    transformer : noise transformer or label randomiser
        Is cloned.

    n_features, value
        See :func:`audit_mechanism`.

    Returns
    -------
    subject : Subject

    Raises
    ------
    ValueError
        When it states no guarantee, or no two inputs are known to be neighbours.
    """
    transformer = clone(transformer)
    if "classes" in transformer.get_params(deep=False):
        return LabelSubject(transformer)
    return NoiseSubject(transformer, n_features, float(value))


def _stated_guarantee(transformer):
    guarantee = getattr(transformer, "guarantee_", None)
    if guarantee is None:
        raise ValueError(
            f"The 'transformer' parameter of audit_mechanism must state a guarantee_, got "
            f"{transformer!r}. Audit a noise transformer such as skdp.OptimalDPNoise."
        )
    return guarantee


class NoiseSubject:
    """A noise transformer; outputs are in units of the sensitivity.

    Parameters
    ----------
    transformer : noise transformer
        Is fitted.

    n_features : int
        Elements of a row.

    value : float
        Where the first neighbour lies.
    """

    atoms = (0.0, 1.0)
    on_grid = True
    chance = 0.0

    def __init__(self, transformer, n_features, value):
        transformer.fit(np.full((1, n_features), value))
        self.guarantee = _stated_guarantee(transformer)
        # With perturb="fit", what is guaranteed is what fit_transform returns.
        passes = getattr(transformer, "perturb", "always") == "fit"
        self._perturb = transformer.fit_transform if passes else transformer.transform
        self._low, self._distance = _neighbours(transformer, self.guarantee, n_features, value)
        self.joint = self.guarantee.unit == "record"
        if self.joint or n_features == 1:
            self.pairs = {(0, 1): "all columns moved"}
        else:
            self.pairs = {(0, j + 1): f"column {j} moved" for j in range(n_features)}

    def draw(self, which, n):
        """Return outputs of the row (0), or of what a move makes of it; see :class:`Subject`."""
        row = self._low.copy()
        if which:
            moved = slice(None) if self.joint else which - 1
            row[moved] += self._distance[moved]
        rows = np.broadcast_to(row, (n, len(row))).copy()
        return (self._perturb(rows) - self._low) / self._distance


def _neighbours(transformer, guarantee, n_features, value):
    """Return where the first neighbour lies, and how far each element may move."""
    if guarantee.sensitivity is not None:
        return np.full(n_features, value), np.full(n_features, guarantee.sensitivity)
    if isinstance(transformer.bounds, str):
        raise ValueError(
            f"The 'transformer' parameter of audit_mechanism has bounds={transformer.bounds!r}: "
            "no two data sets are known to be neighbours. Give it public bounds."
        )
    low, high = (np.broadcast_to(end, n_features).astype(float) for end in transformer.bounds)
    return low, high - low


class LabelSubject:
    """A label randomiser; inputs and outputs are class indices.

    Parameters
    ----------
    response : RandomizedResponse
        Is fitted: with its ``classes``, or with two where it names none.
    """

    on_grid = False
    joint = False
    # Of two classes at ε = 0: half of all labels are replaced, by the same one.
    chance = 0.5

    def __init__(self, response):
        response.fit([0, 1] if response.classes is None else response.classes)
        self.guarantee = _stated_guarantee(response)
        self._response = response
        names = [repr(label) for label in response.classes_.tolist()]
        self.pairs = {
            (a, b): f"labels {names[a]} and {names[b]}"
            for b in range(len(names))
            for a in range(b)
        }
        self.atoms = tuple(float(k) for k in range(len(names)))

    def draw(self, which, n):
        """Return outputs of one class, see :class:`Subject`."""
        classes = self._response.classes_
        labels = self._response.transform(np.full(n, classes[which]))
        return np.searchsorted(classes, labels)[:, np.newaxis].astype(np.float64)

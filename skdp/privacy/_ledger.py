"""What one data set has spent so far, kept outside any estimator."""

import json
import threading
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from skdp.privacy._guarantee import PrivacyGuarantee


class BudgetExceededError(RuntimeError):
    """A release that would cost more than the owner set aside; nothing was released."""


class PrivacyLedger:
    """Add up what several releases of the same data guarantee together.

    One ledger belongs to one data set. Pass releases through :meth:`release`, which refuses
    before it perturbs, or enter guarantees by :meth:`spend`. Copying or cloning whatever
    holds a ledger hands on the same one: a budget cannot be forked.

    Parameters
    ----------
    epsilon : float, default=None
        Largest total ε. By default, nothing is refused.

    delta : float, default=None
        Largest total δ.

    path : str or path-like, default=None
        JSON file that is read if it exists, and written after every entry, so that the
        account outlives the process. One process at a time.

    Attributes
    ----------
    entries : list of (str, PrivacyGuarantee)
        What was released.

    total : PrivacyGuarantee or None
        What all entries guarantee together, None before the first.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import OptimalDPNoise
    >>> from skdp.privacy import PrivacyLedger
    >>> ledger = PrivacyLedger(epsilon=1.0)
    >>> X = np.zeros((4, 3))
    >>> noisy = ledger.release(OptimalDPNoise(0.4), X, "spring survey")
    >>> noisy = ledger.release(OptimalDPNoise(0.4), X, "again")
    >>> round(ledger.total.epsilon, 3), len(ledger.entries)
    (0.8, 2)
    >>> ledger.release(OptimalDPNoise(0.4), X)
    Traceback (most recent call last):
    ...
    skdp.privacy._ledger.BudgetExceededError: This release would bring epsilon to 1.2, above ...
    """

    def __init__(self, epsilon=None, delta=None, *, path=None):
        self.epsilon, self.delta = epsilon, delta
        self._path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self.entries = []
        if self._path is not None and self._path.exists():
            written = json.loads(self._path.read_text(encoding="utf-8"))
            self.entries = [(name, PrivacyGuarantee(**fields)) for name, fields in written]

    @property
    def total(self):
        """What all entries guarantee together, None before the first."""
        guarantees = [guarantee for _, guarantee in self.entries]
        return sum(guarantees[1:], guarantees[0]) if guarantees else None

    def spend(self, guarantee, name=""):
        """Enter a release.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            Of the release, such as ``noise.guarantee_``.

        name : str, default=""
            What it was.

        Returns
        -------
        total : PrivacyGuarantee
            With this release.

        Raises
        ------
        BudgetExceededError
            When the total would exceed the budget; the release is not entered.

        ValueError
            When it speaks about other neighbours than the entries do.
        """
        with self._lock:
            total = guarantee if self.total is None else self.total + guarantee
            for what in ("epsilon", "delta"):
                limit, value = getattr(self, what), getattr(total, what)
                # A sum of floats may miss its limit by a rounding.
                if limit is not None and value > limit * (1 + 1e-12):
                    raise BudgetExceededError(
                        f"This release would bring {what} to {value:g}, above the {limit:g} of "
                        "the ledger. Release less, or with more noise."
                    )
            self.entries.append((name, guarantee))
            self._write()
            return total

    def release(self, noise, X, name=""):
        """Enter a noisy copy of X, and make it.

        Parameters
        ----------
        noise : noise transformer
            Is fitted; what it states is entered, and only then is noise added.

        X : array-like of shape (n_samples, n_features)
            The data of this ledger.

        name : str, default=""
            What it is.

        Returns
        -------
        X_noisy : ndarray of shape (n_samples, n_features)
        """
        self.spend(noise.fit(X).guarantee_, name)
        return noise.fit_transform(X)

    def to_frame(self):
        """Return the entries, with running totals, as a table.

        Returns
        -------
        frame : pandas.DataFrame
            One row for each entry.
        """
        rows, total = [], None
        for name, guarantee in self.entries:
            total = guarantee if total is None else total + guarantee
            rows.append(
                {
                    "name": name,
                    "mechanism": guarantee.mechanism,
                    "unit": guarantee.unit,
                    "epsilon": guarantee.epsilon,
                    "delta": guarantee.delta,
                    "total_epsilon": total.epsilon,
                    "total_delta": total.delta,
                }
            )
        return pd.DataFrame(rows)

    def _write(self):
        if self._path is None:
            return
        written = [(name, asdict(guarantee)) for name, guarantee in self.entries]
        # The old account stays whole until the new one is.
        draft = self._path.with_name(self._path.name + ".new")
        draft.write_text(json.dumps(written, indent=1), encoding="utf-8")
        draft.replace(self._path)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __sklearn_clone__(self):
        return self

    def __reduce__(self):
        raise TypeError(
            "A PrivacyLedger cannot be pickled: the copy would spend the same budget again. Use "
            "path= to keep it between processes."
        )

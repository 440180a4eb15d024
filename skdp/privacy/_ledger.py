"""The privacy budget that one data set has spent, kept outside any estimator."""

import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from numbers import Real
from pathlib import Path

import pandas as pd

from skdp.privacy._guarantee import PrivacyGuarantee

# Seconds to wait for another process (rule of thumb).
_PATIENCE = 10.0
# Seconds between two looks at the lock (rule of thumb).
_PAUSE = 0.01
# A sum of floats may miss its limit by a rounding, relative to the limit.
_ROUNDING = 1e-12


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
        JSON file that holds the account between processes. It is read and written with every
        entry, under a lock, so that several ledgers on one file are one account.

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
        for name, limit in (("epsilon", epsilon), ("delta", delta)):
            if limit is not None and not (isinstance(limit, Real) and float(limit) >= 0):
                raise ValueError(
                    f"The {name!r} parameter of PrivacyLedger must be a number >= 0 or None, got "
                    f"{limit!r}."
                )
        self.epsilon, self.delta = epsilon, delta
        self._path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self._entries: list = []
        with self._account():
            pass

    @property
    def entries(self):
        """What was released, as a list of (name, guarantee)."""
        return list(self._entries)

    @property
    def total(self):
        """What all entries guarantee together, None before the first."""
        return _sum(guarantee for _, guarantee in self._entries)

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
            When it is about other neighbours than the entries are, or no guarantee at all.
        """
        if not isinstance(guarantee, PrivacyGuarantee):
            raise ValueError(
                "The 'guarantee' parameter of PrivacyLedger.spend must be a PrivacyGuarantee, "
                f"such as noise.guarantee_, got a {type(guarantee).__name__}."
            )
        guarantee = replace(guarantee)  # checked again: even a frozen object can be forced
        guarantee.check_losses()
        with self._account() as write:
            entries = [*self._entries, (str(name), guarantee)]
            total = _sum(guarantee for _, guarantee in entries)
            for what in ("epsilon", "delta"):
                limit, value = getattr(self, what), getattr(total, what)
                # not >, so that NaN is refused
                if limit is not None and not value <= limit * (1 + _ROUNDING):
                    raise BudgetExceededError(
                        f"This release would bring {what} to {value:g}, above the {limit:g} of "
                        "the ledger. Release less, or with more noise."
                    )
            write(entries)
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
        rows = []
        for k, (name, guarantee) in enumerate(self._entries):
            total = _sum(guarantee for _, guarantee in self._entries[: k + 1])
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

    @contextmanager
    def _account(self):
        """Hold the account alone, as it is on file; yield what writes a new one."""
        with self._lock, self._file_lock():
            if self._path is not None and self._path.exists():
                written = json.loads(self._path.read_text(encoding="utf-8"))
                self._entries = [(name, PrivacyGuarantee(**fields)) for name, fields in written]
            yield self._write

    @contextmanager
    def _file_lock(self):
        if self._path is None:
            yield
            return
        lock = self._path.with_name(self._path.name + ".lock")
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
                break
            except FileExistsError:
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"Another process holds {str(lock)!r}. If none does any more, delete it."
                    ) from None
                time.sleep(_PAUSE)
        try:
            yield
        finally:
            lock.unlink()

    def _write(self, entries):
        if self._path is not None:
            written = [(name, asdict(guarantee)) for name, guarantee in entries]
            # The old account stays whole until the new one is.
            draft = self._path.with_name(self._path.name + ".new")
            draft.write_text(json.dumps(written, indent=1), encoding="utf-8")
            draft.replace(self._path)
        self._entries = entries

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


def _sum(guarantees):
    """Return what guarantees hold together, None if there are none.

    Those of Gaussian noise are added first: among themselves they add up to less.
    """
    ordered = sorted(guarantees, key=lambda g: any(loss.kind != "gaussian" for loss in g.losses))
    return sum(ordered[1:], ordered[0]) if ordered else None

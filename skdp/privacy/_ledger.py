"""The privacy budget of a data set, kept outside estimators, and its file."""

import json
import os
import threading
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from numbers import Real
from pathlib import Path
from typing import Any, Self

import pandas as pd
from numpy.typing import ArrayLike

from skdp.privacy._guarantee import (
    PrivacyGuarantee,
    below_sum,
    pack_guarantee,
    unpack_guarantee,
)
from skdp.utils._files import PRIVATE, OtherVersionError, checksum, locked, write_whole
from skdp.utils._frames import as_frame
from skdp.utils._html import as_html, grid
from skdp.utils._validation import inline
from skdp.utils._warnings import warn

# Seconds to wait for the lock, which is held for milliseconds.
_PATIENCE = 10.0
# Dates of entries: ISO 8601, in UTC.
_DATE = "%Y-%m-%dT%H:%M:%SZ"


class BudgetExceededError(RuntimeError):
    """Error of a release that would exceed the privacy budget; nothing was released.

    Examples
    --------
    >>> from skdp import OptimalDPNoise
    >>> from skdp.privacy import BudgetExceededError, PrivacyLedger
    >>> ledger = PrivacyLedger(epsilon=1.0)
    >>> try:
    ...     noisy = ledger.release(OptimalDPNoise(epsilon=2.0, bounds=(0, 1)), [[0.2, 0.8]])
    ... except BudgetExceededError as error:
    ...     print(error)
    This release would bring epsilon to 2, above the 1 of the ledger. Release less, or with ...
    >>> ledger.entries
    []
    """


class PrivacyLedger:
    """Account for the privacy budget that several releases of the same data spend.

    Use one ledger per data set. :meth:`release` makes a release and refuses one beyond the budget
    before noise is drawn; :meth:`spend` charges a guarantee. A source with a ledger
    (``DPSource(ledger=…)``, ``DPStatisticsSource(ledger=…)``) charges each of its fits, including
    clones in a search. If some entries are about replaced records and others about added or
    removed ones, the total is about replaced ones (:meth:`PrivacyGuarantee.to_replace_one`).

    A budget cannot be copied: copies and clones of an object share its ledger. A pickle contains
    only the path of the ledger's file; without a file it cannot be pickled.

    Parameters
    ----------
    epsilon : float, default=None
        Largest total ε. Default: the limit in the file; without a limit, nothing is refused.

    delta : float, default=None
        Largest total δ, likewise.

    path : str or path-like, default=None
        JSON file of limits and entries, shared between processes. Every entry reads and writes
        it under a lock, so several ledgers on one file are one account; an entry is on disk
        before the release is made. The path is resolved once. A new file is readable by its
        owner only; an existing one keeps its permissions. Never delete or truncate the file or
        replace it by an older copy. The empty file with ".lock" after its name is the lock and
        stays.

    Attributes
    ----------
    epsilon, delta : float or None
        The limits. If a file has none, the next ledger that has limits sets them; afterwards
        they cannot be changed.

    entries : list of (str, PrivacyGuarantee)
        Name and guarantee of each release.

    dates : list of (str or None)
        When each entry was charged.

    total : PrivacyGuarantee or None
        Joint guarantee of all entries, None before the first.

    Raises
    ------
    ValueError
        If a limit is not a number ≥ 0 or differs from the file's, the file is damaged, or
        ``path`` is not a path.

    OSError
        If the file can be neither read nor created, such as in a folder that does not exist.

    Notes
    -----
    A ledger only knows the releases charged to it. Two ledgers without a file, or with different
    files, are two accounts, and anyone who can write the file can change the account.

    Dates are in UTC, from the clock of the computer that charged the entry. The checksum, which
    includes them, detects damage but not forgery. No release is refused because of a date.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import OptimalDPNoise
    >>> from skdp.privacy import PrivacyLedger
    >>> ledger = PrivacyLedger(epsilon=1.0)
    >>> X = np.zeros((4, 3))
    >>> noise = OptimalDPNoise(0.4, bounds=(0, 1))
    >>> noisy = ledger.release(noise, X, name="spring survey")
    >>> noisy = ledger.release(noise, X, name="again")
    >>> ledger
    PrivacyLedger(spent (0.8, 0) of (1, unlimited) per element, 2 entries)
    >>> ledger.release(noise, X)
    Traceback (most recent call last):
    ...
    skdp.privacy._ledger.BudgetExceededError: This release would bring epsilon to 1.2, above ...
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
    ):
        given = {"epsilon": epsilon, "delta": delta}
        self._limits = {name: _check_limit(name, limit) for name, limit in given.items()}
        self._entries: list = []
        self._process = self._lock_process = os.getpid()
        self._lock = threading.Lock()
        self._file = None if path is None else _LedgerFile(path)
        if self._file is not None:
            with self._file.lock():
                self._continue(self._file)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Return the ledger of an existing file, with the file's limits.

        Parameters
        ----------
        path : str or path-like
            JSON file of a ledger.

        Returns
        -------
        ledger : PrivacyLedger

        Raises
        ------
        FileNotFoundError
            If the file does not exist; none is created because it would have no limits.

        ValueError
            If it is damaged, or ``path`` is not a path.

        Warns
        -----
        UserWarning
            If the file has no limits, so that nothing is refused.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from skdp.privacy import PrivacyLedger
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "ward.ledger")
        ...     ledger = PrivacyLedger(epsilon=2.0, delta=1e-5, path=path)
        ...     same = PrivacyLedger.open(path)
        >>> same.epsilon, same.delta
        (2.0, 1e-05)
        """
        ledger = cls()
        ledger._file = file = _LedgerFile(path)
        try:
            os.stat(file.path)  # before there is a file for its lock
            with file.lock():
                ledger._limits, ledger._entries = file.read()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"The ledger {str(file.path)!r} does not exist. Create it once with its limits: "
                "PrivacyLedger(epsilon=..., path=...). If it was deleted, restore it: its "
                "budget remains spent."
            ) from error
        if set(ledger._limits.values()) == {None}:
            warn(
                f"The ledger {str(file.path)!r} has no limits and refuses nothing. Set them once: "
                "PrivacyLedger(epsilon=..., delta=..., path=...)."
            )
        return ledger

    def _continue(self, file):
        """Continue the account in the file, or start one."""
        given = self._limits
        try:
            written, self._entries = file.read()
        except FileNotFoundError:
            file.write(given, [])
            return
        for name, limit in given.items():
            if None not in (limit, written[name]) and limit != written[name]:
                raise ValueError(
                    f"The {name!r} parameter of PrivacyLedger is {limit:g}, but the file "
                    f"{str(file.path)!r} has {written[name]:g}. Omit it: the limits "
                    "of an account cannot be changed."
                )
        self._limits = {k: given[k] if v is None else v for k, v in written.items()}
        if self._limits != written:
            file.write(self._limits, self._entries)

    @property
    def epsilon(self) -> float | None:
        """Largest total ε, or None."""
        return self._limits["epsilon"]

    @property
    def delta(self) -> float | None:
        """Largest total δ, or None."""
        return self._limits["delta"]

    @property
    def entries(self) -> list[tuple[str, PrivacyGuarantee]]:
        """Releases, as a list of (name, guarantee)."""
        return [(name, guarantee) for name, guarantee, _ in self._current_entries()]

    @property
    def dates(self) -> list[str | None]:
        """When each entry was charged, in UTC; None in files of older versions of skdp."""
        return [date for *_, date in self._current_entries()]

    @property
    def total(self) -> PrivacyGuarantee | None:
        """Joint guarantee of all entries, None before the first."""
        return _sum(guarantee for _, guarantee in self.entries)

    def spend(self, guarantee: PrivacyGuarantee, name: str = "") -> PrivacyGuarantee:
        """Charge a release.

        Parameters
        ----------
        guarantee : PrivacyGuarantee
            Guarantee of the release, such as ``noise.guarantee_``.

        name : str, default=""
            Description of the release.

        Returns
        -------
        total : PrivacyGuarantee
            Joint guarantee of all entries, including this release.

        Raises
        ------
        BudgetExceededError
            If the total would exceed the budget; the release is not charged.

        ValueError
            If the guarantee has other neighbors than the entries, or the file is damaged.

        FileNotFoundError
            If the file has disappeared.

        RuntimeError
            If the ledger has no file and was created by another process.

        Examples
        --------
        >>> from skdp import OptimalDPNoise
        >>> from skdp.privacy import PrivacyLedger
        >>> ledger = PrivacyLedger(epsilon=1.0)
        >>> noise = OptimalDPNoise(epsilon=0.4, bounds=(0, 1)).fit([[0.2, 0.8]])
        >>> total = ledger.spend(noise.guarantee_, name="spring survey")
        >>> ledger.spend(noise.guarantee_, name="summer survey").epsilon
        0.8
        """
        if not isinstance(guarantee, PrivacyGuarantee):
            raise ValueError(
                "The 'guarantee' parameter of PrivacyLedger.spend must be a PrivacyGuarantee, "
                f"such as noise.guarantee_, got a {type(guarantee).__name__}."
            )
        # Rebuilt, since even a frozen object can be manipulated, and a subclass can override sums.
        guarantee = unpack_guarantee(pack_guarantee(guarantee))
        with self._account():
            entries = [*self._entries, (str(name), guarantee, _now())]
            total = _sum(guarantee for _, guarantee, _ in entries)
            _refuse_above(self._limits, total, [guarantee for _, guarantee, _ in entries])
            if self._file is not None:
                self._file.write(self._limits, entries)
            self._entries = entries
            return total

    def release(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        name: str = "",
    ) -> Any:
        """Charge a release, and make it.

        The guarantee of the estimator is charged before noise is drawn; a source charges it
        itself, after all checks. If fitting fails afterwards, the budget remains spent, because
        the failure may already have revealed something about the data.

        Parameters
        ----------
        estimator : object
            With a method ``guarantee_for(X, y)`` that returns the guarantee of ``fit(X, y)``
            without drawing noise: a noise transformer, :class:`~skdp.RandomizedResponse` (with
            labels in place of X), :class:`~skdp.DPStatisticsSource`, or :class:`~skdp.DPSource`
            (with ``label_noise``, for records with their labels).

        X : array-like of shape (n_samples, n_features)
            The data of this ledger.

        y : array-like of shape (n_samples,), default=None
            Labels, if the estimator takes them.

        groups : array-like of shape (n_samples,), default=None
            Group of each row, such as a person, if the estimator takes them.

        name : str, default=""
            Description of the release.

        Returns
        -------
        result : object
            The noisy copy from ``fit_transform``, or the fitted estimator if it does not
            transform.

        Raises
        ------
        BudgetExceededError
            If the total would exceed the budget; nothing is charged and no noise is drawn.

        ValueError
            If the estimator cannot state its guarantee in advance or has its own ledger, or
            as for :meth:`spend`.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import RandomizedResponse
        >>> from skdp.privacy import PrivacyLedger
        >>> ledger = PrivacyLedger(epsilon=1.0)
        >>> labels = np.array(["no", "yes", "no"])
        >>> response = RandomizedResponse(epsilon=0.5, classes=["no", "yes"])
        >>> noisy = ledger.release(response, labels, name="poll")
        >>> noisy.shape, ledger.total.epsilon
        ((3,), 0.5)
        """
        state = getattr(estimator, "guarantee_for", None)
        if state is None:
            raise ValueError(
                "The 'estimator' parameter of PrivacyLedger.release, a "
                f"{type(estimator).__name__}, has no guarantee_for(X, y), so its cost is unknown "
                "before fitting. Charge its guarantee with spend() first."
            )
        if getattr(estimator, "ledger", None) is not None:
            raise ValueError(
                "The 'estimator' parameter of PrivacyLedger.release, a "
                f"{type(estimator).__name__}, has its own 'ledger' and would be charged twice. "
                "Call its fit, or omit that 'ledger'."
            )
        if isinstance(y, str):
            raise ValueError(
                "The 'y' parameter of PrivacyLedger.release must be labels, got one string. Pass "
                "the name of the release as name=..."
            )
        X = as_frame(X)  # read once, for the guarantee and the fit
        data = (X,) if y is None else (X, y)
        grouping = {} if groups is None else {"groups": groups}
        if hasattr(estimator, "ledger"):  # it charges by itself, when nothing can fail any more
            estimator.ledger = _NamedLedger(self, name)
            try:
                return estimator.fit(*data, **grouping)
            finally:
                estimator.ledger = None
        self.spend(state(*data, **grouping), name)
        transforms = hasattr(estimator, "fit_transform")
        return (estimator.fit_transform if transforms else estimator.fit)(*data, **grouping)

    def to_frame(self) -> pd.DataFrame:
        """Return the entries and running totals as a table.

        Returns
        -------
        frame : pandas.DataFrame
            One row per entry; ``date`` is in UTC, and empty if not recorded.

        Examples
        --------
        >>> from skdp import OptimalDPNoise
        >>> from skdp.privacy import PrivacyLedger
        >>> ledger = PrivacyLedger()
        >>> noise = OptimalDPNoise(epsilon=0.5, bounds=(0, 1))
        >>> for name in ("spring", "summer"):
        ...     noisy = ledger.release(noise, [[0.2, 0.8]], name=name)
        >>> ledger.to_frame()[["name", "epsilon", "total_epsilon"]]
             name  epsilon  total_epsilon
        0  spring      0.5            0.5
        1  summer      0.5            1.0
        """
        rows, entries = [], self._current_entries()
        for k, (name, guarantee, date) in enumerate(entries):
            total = _sum(guarantee for _, guarantee, _ in entries[: k + 1])
            fields = ("mechanism", "unit", "relation", "epsilon", "delta")
            row = {"date": date or "", "name": name}
            row |= {field: getattr(guarantee, field) for field in fields}
            rows.append(row | {"total_epsilon": total.epsilon, "total_delta": total.delta})
        return pd.DataFrame(rows)

    def _current_entries(self):
        """Return name, guarantee and date of each entry of the current account."""
        with self._own_lock():
            self._read()
            return list(self._entries)

    def _own_lock(self):
        """Return the lock among threads of this process."""
        if self._lock_process != os.getpid():
            # Another thread of the parent may have held it during the fork. The account still
            # belongs to the process that created it.
            self._lock_process, self._lock = os.getpid(), threading.Lock()
        return self._lock

    @contextmanager
    def _account(self):
        """Hold the current account exclusively."""
        if self._process != os.getpid() and self._file is None:
            raise RuntimeError(
                f"This PrivacyLedger was created in process {self._process}; in process "
                f"{os.getpid()} it is a copy that would spend the same budget again. Create it "
                "with path=, so that all processes share one account."
            )
        with self._own_lock(), nullcontext() if self._file is None else self._file.lock():
            self._read()
            yield

    def _read(self):
        """Update the account from its file, which must contain all known entries."""
        if self._file is None:
            return
        path = str(self._file.path)
        try:
            limits, entries = self._file.read()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"The ledger file {path!r} has disappeared. Its budget remains spent: restore it "
                "from a backup."
            ) from error
        changed = any(limit not in (None, limits[k]) for k, limit in self._limits.items())
        if changed or entries[: len(self._entries)] != self._entries:
            raise ValueError(
                f"The ledger file {path!r} was replaced: entries are missing or limits have "
                "changed. Restore the newest copy."
            )
        self._limits, self._entries = limits, entries

    def __str__(self) -> str:
        lines = (
            f"  {date or 'no date':20}  ({guarantee.epsilon:g}, {guarantee.delta:g})  "
            f"{inline(name)}".rstrip()
            for name, guarantee, date in self._entries
        )
        note = below_sum(self.total, [guarantee for _, guarantee, _ in self._entries])
        return "\n".join([repr(self), *lines, *([f"  together {note}"] if note else [])])

    def __repr__(self) -> str:
        total = _sum(guarantee for _, guarantee, _ in self._entries)
        spent = "nothing" if total is None else f"({total.epsilon:g}, {total.delta:g})"
        limits = ("unlimited" if v is None else f"{v:g}" for v in self._limits.values())
        unit = "" if total is None else f" per {total.unit}"
        if total is not None and total.relation != "replace-one":
            unit += f" ({total.relation})"
        file = "" if self._file is None else f", path={str(self._file.path)!r}"
        n = len(self._entries)
        return (
            f"PrivacyLedger(spent {spent} of ({', '.join(limits)}){unit}, "
            f"{n} {'entry' if n == 1 else 'entries'}{file})"
        )

    def _repr_html_(self):
        table = self.to_frame()
        names = [name.replace("_", " ") for name in table.columns]
        return f"<p>{as_html(repr(self))}</p>{grid(names, table.to_numpy().tolist())}"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __reduce__(self) -> Any:
        if self._file is not None:
            return PrivacyLedger.open, (str(self._file.path),)
        raise TypeError(
            "A PrivacyLedger without a file cannot be pickled: the copy would spend the same "
            "budget again. Create it with path=."
        )


class _NamedLedger(PrivacyLedger):
    """The account of a ledger with a fixed name for its entries."""

    def __init__(self, ledger, name):
        vars(self).update(vars(ledger))
        self._ledger, self._name = ledger, name

    def spend(self, guarantee, name=""):
        return self._ledger.spend(guarantee, self._name)


def _refuse_above(limits, total, guarantees):
    """Raise BudgetExceededError if the sum of guarantees is above a limit."""
    for what, limit in limits.items():
        value = getattr(total, what)
        # With a tolerance for rounding; not >, so that NaN is refused.
        if limit is not None and not value <= limit * (1 + 1e-12):
            why = below_sum(total, guarantees) if what == "epsilon" else ""
            raise BudgetExceededError(
                f"This release would bring {what} to {value:g}{f' ({why})' if why else ''}, "
                f"above the {limit:g} of the ledger. Release less, or with more noise."
            )


def _sum(guarantees):
    """Return the joint guarantee, of replaced records if any are; None for no guarantees."""
    # Gaussian ones are added first, as their sum is smaller.
    guarantees = list(guarantees)
    if len({g.relation for g in guarantees}) > 1:
        guarantees = [g.to_replace_one() for g in guarantees]
    ordered = sorted(guarantees, key=lambda g: g.gaussian_distance is None)
    return sum(ordered[1:], ordered[0]) if ordered else None


class _LedgerFile:
    """Limits and entries of a ledger on disk."""

    def __init__(self, path):
        try:
            self.path = Path(os.path.realpath(os.fsdecode(path)))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The 'path' parameter of PrivacyLedger must be a path, got {path!r} ({error}). "
                "Name a file."
            ) from error

    @contextmanager
    def lock(self):
        """Hold the account exclusively among all processes and threads, or raise an OSError."""
        file = self.path.with_name(self.path.name + ".lock")
        with ExitStack() as stack:
            with self._named():
                stack.enter_context(locked(file, _PATIENCE))
            yield

    @contextmanager
    def _named(self):
        """Report errors of the operating system as errors of the path."""
        try:
            yield
        except TimeoutError:  # another process holds the lock
            raise
        except OSError as error:
            raise type(error)(
                f"The 'path' parameter of PrivacyLedger, {str(self.path)!r}, cannot be used: "
                f"{error.strerror or error}. Name a readable and writable file in an existing "
                "folder."
            ) from error

    def read(self):
        """Return limits and entries; raise if the file is missing, damaged or hard-linked."""
        with self._named(), open(self.path, "rb") as file:
            shared = os.fstat(file.fileno()).st_nlink > 1
            text = file.read()
        if shared:
            raise ValueError(
                f"The ledger file {str(self.path)!r} has another name (a hard link), which would "
                "keep the old account when a new one is written. Delete one of them."
            )
        try:
            return _parse(text, f"The ledger file {str(self.path)!r}")
        except OtherVersionError:
            raise
        except (
            *(ArithmeticError, AttributeError, LookupError),
            *(RecursionError, TypeError, ValueError),
        ) as error:
            state = "damaged" if text.strip() else "empty"
            raise ValueError(
                f"The ledger file {str(self.path)!r} is {state} ({error}). Its budget remains "
                "spent: restore it from a backup. For data never released before, name a new "
                "file."
            ) from error

    def write(self, limits, entries):
        """Replace the file; the new account is on disk when this returns.

        A new file is readable by its owner only; a replaced one keeps its permissions.
        """
        content = {
            "format": "skdp ledger",
            "version": 2,
            "limits": limits,
            "entries": [(name, pack_guarantee(stated), date) for name, stated, date in entries],
        }
        content["sha256"] = checksum(content)
        with self._named(), write_whole(self.path, mode=PRIVATE) as file:
            file.write(json.dumps(content, indent=1).encode())


def _check_limit(name, limit):
    """Return a limit as a float or None; raise unless it is None or a number ≥ 0."""
    if limit is None:
        return None
    try:
        number = float(limit) if isinstance(limit, Real) and not isinstance(limit, bool) else -1.0
    except OverflowError:
        number = -1.0
    if not number >= 0:
        raise ValueError(
            f"The {name!r} parameter of PrivacyLedger must be a number >= 0 or None, got "
            f"{limit!r}."
        )
    return number


def _parse(text, what):
    """Return limits and entries of a file; raise if it holds anything else."""
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it is not a ledger of skdp")
    if content["format"] != "skdp ledger":
        raise ValueError("it is not a ledger of skdp")
    if content["version"] not in (1, 2):
        raise OtherVersionError(what, content["version"], "1 and 2")
    stated = content.pop("sha256")
    if stated != checksum(content):
        raise ValueError("its checksum does not match")
    limits = {name: content["limits"][name] for name in ("epsilon", "delta")}
    for name, limit in limits.items():
        _check_limit(name, limit)
    entries = [
        # Version 1 has no dates.
        (str(name), unpack_guarantee(stored), _check_date(*date))
        for name, stored, *date in content["entries"]
    ]
    return limits, entries


def _now():
    """Return the time of this computer's clock in UTC, in ISO format."""
    return datetime.now(UTC).strftime(_DATE)


def _check_date(date=None):
    """Return a date of a file, or None; raise unless it is in the format of :func:`_now`."""
    return None if date is None else datetime.strptime(date, _DATE).strftime(_DATE)

"""The server of a federation: one merged release, and the reasons for refused answers."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdp.release import Release, merge_problem, rows_problem
from skdp.tabular import as_schema
from skdp.utils._files import to_json, write_whole

# Longest name of an owner, and longest reason, in a report.
_LONGEST, _LONGEST_REASON = 80, 500
# The reason for unexpected failures.
_UNUSABLE = "an answer that cannot be used"


@dataclass(frozen=True)
class CollectedReleases:
    """The answers that a server collected in one round, or in a secure sum.

    Attributes
    ----------
    release : Release or None
        Merged release of all owners whose answers could be merged, or None.

    n_bytes : dict of str to int
        Size of the release of each merged owner, or of all its messages in a secure sum.

    refused : dict of str to str
        Reasons for refusing the answers of other owners, by owner.

    Examples
    --------
    >>> from skdp.federated import CollectedReleases
    >>> CollectedReleases(None, {}, {"Zurich": "no answer in time"}).refused
    {'Zurich': 'no answer in time'}
    """

    release: Release | None
    n_bytes: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def save(
        self, path: str | os.PathLike[str], report_path: str | os.PathLike[str] | None = None
    ) -> None:
        """Write the merged release and, optionally, a report on its owners.

        Parameters
        ----------
        path : str or path-like
            Path of the release, see :meth:`~skdp.Release.save`; not written if it is None.

        report_path : str, path-like or None, default=None
            Path of a JSON file with ``n_bytes`` and ``refused``.

        Examples
        --------
        >>> import json
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from skdp.federated import CollectedReleases
        >>> collected = CollectedReleases(None, {}, {"Zurich": "no answer in time"})
        >>> with TemporaryDirectory() as folder:
        ...     report = Path(folder, "report.json")
        ...     collected.save(Path(folder, "merged.skdp"), report)
        ...     json.loads(report.read_text())["refused"]
        {'Zurich': 'no answer in time'}
        """
        if report_path is not None:
            with write_whole(report_path) as file:
                file.write(to_json({"n_bytes": self.n_bytes, "refused": self.refused}))
        if self.release is not None:
            self.release.save(path)

    def __str__(self) -> str:
        """Return one line per owner."""
        lines = [f"{name}: {size:,} bytes" for name, size in self.n_bytes.items()]
        return "\n".join(lines + [f"{name}: refused, {why}" for name, why in self.refused.items()])


def collect_answers(
    answers: Mapping[str, Any],
    *,
    disjoint: bool,
    schema: Any = None,
    classes: ArrayLike | None = None,
    max_rows: int | None = None,
    max_bytes: int = 2**26,
) -> CollectedReleases:
    """Check the answers of owners, and merge the releases that can be merged.

    An unusable answer is refused with a reason, and the others are merged: no owner can make the
    round fail. Releases are validated like files and cannot execute code. Validation does not
    show that a release is truthful: an owner can send arbitrary sums and states its own number
    of rows; ``max_rows`` limits both.

    Parameters
    ----------
    answers : dict of str to dict or None
        By name of the owner: the result of :func:`owner_answer`, or None without an answer.
        Names that look equal in a line of print are numbered.

    disjoint : bool
        Whether nobody has rows at two of the owners, see :meth:`~skdp.Release.merge`.

    schema : Schema, mapping, str, path-like or None, default=None
        The agreed schema: releases of tables with other columns are refused. None: the schema
        that most of the releases share; in a tie, of the first name.

    classes : array-like or None, default=None
        The agreed classes; None: the classes of the schema, if it has any.

    max_rows : int or None, default=None
        Public bound of the rows of one owner, or of its people if people are protected. A
        release is refused if it states more rows, apart from noise, if its sums are impossible
        for so many rows, or if its noise outweighs them. None: an owner counts for as many rows
        as it states.

    max_bytes : int, default=2**26
        Largest size of one release.

    Returns
    -------
    collected : CollectedReleases
        The merged release, with sizes and reasons for refusals.

    Raises
    ------
    ValueError
        If a parameter other than ``answers`` is invalid, or ``answers`` is not a dict.

    See Also
    --------
    owner_answer : Makes the answer of an owner.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> from skdp.federated import collect_answers, owner_answer
    >>> rng = np.random.RandomState(0)
    >>> def answer(n_columns, path):
    ...     X, y = rng.rand(300, n_columns), rng.randint(2, size=300)
    ...     X[:, 0] = (X[:, 0] + y) / 2
    ...     return owner_answer(lambda: DPStatisticsSource(classes=[0, 1]).fit(X, y), path=path)
    >>> answers = {"north": answer(2, "north.skdp"), "east": answer(2, "east.skdp")}
    >>> answers |= {"south": {"error": "no release"}, "west": None}
    >>> collected = collect_answers(answers, disjoint=True, max_rows=1000)
    >>> collected.release
    Release(... rows, 2 classes, 2 features, epsilon 1, delta 1e-05 per labeled record, ...)
    >>> collected.refused
    {'south': 'no release at the owner', 'west': 'no answer in time'}
    """
    _check_parameters(answers, disjoint, max_rows)
    if schema is not None:
        schema = as_schema(schema)
        classes = schema.classes if classes is None else classes
    refused, releases, n_bytes = {}, {}, {}
    with TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of numbers that owners chose
        for name, answer in _by_name(answers).items():
            try:
                release, size = _release(answer, Path(folder, "release.skdp"), max_bytes)
                _check_agreed(release, schema, classes, max_rows)
                releases[name], n_bytes[name] = release, size
            except _RefusedError as refusal:
                refused[name] = _printable(refusal, _LONGEST_REASON)
            except Exception:  # objects of others may raise anything
                refused[name] = _UNUSABLE
        release, merged, others = _merge(releases, disjoint)
    return CollectedReleases(release, {name: n_bytes[name] for name in merged}, refused | others)


class _RefusedError(Exception):
    """Reason for refusing an answer."""


def _check_parameters(answers, disjoint, max_rows):
    """Raise ValueError with the parameter unless the server's own parameters are valid."""
    if not isinstance(answers, Mapping):
        raise ValueError(
            "The 'answers' parameter of collect_answers must be a dict of answers by owner, got a "
            f"{type(answers).__name__}."
        )
    if not isinstance(disjoint, bool):
        raise ValueError(
            "The 'disjoint' parameter of collect_answers must be True if nobody has rows at two "
            f"of the owners, otherwise False, got {disjoint!r:.100}."
        )
    count = isinstance(max_rows, Integral) and not isinstance(max_rows, bool)
    if max_rows is not None and not (count and int(max_rows) >= 1):
        raise ValueError(
            "The 'max_rows' parameter of collect_answers must be a whole number >= 1 or None, got "
            f"{max_rows!r:.100}."
        )


def _by_name(answers):
    """Return answers by printable, different names, in the order of the names.

    The order does not depend on who answered first, so neither do sums nor numbers of names.
    """
    named, others = {}, []
    for name, answer in answers.items():
        if type(name) is str and _printable(name) == name:
            named[name] = answer
        else:
            others.append((_printable(name), name if type(name) is str else "", answer))
    for text, _, answer in sorted(others, key=lambda other: other[:2]):
        name, number = text, 1
        while name in named:
            number += 1
            name = f"{text} ({number})"
        named[name] = answer
    return dict(sorted(named.items()))


def _printable(thing, longest=_LONGEST):
    """Return a text without control characters, short enough for a line."""
    try:
        text = str(thing)
    except Exception:  # objects of others may raise anything
        text = type(thing).__name__
    return "".join(c if c.isprintable() else "?" for c in text[:longest])


def _release(answer, file, max_bytes):
    """Return the release of an answer and its size, or raise."""
    if answer is None:
        raise _RefusedError("no answer in time")
    if not isinstance(answer, Mapping):
        raise _RefusedError("an answer that is not a dict")
    if "error" in answer:
        raise _RefusedError("no release at the owner")
    data = answer.get("release")
    if not isinstance(data, bytes):
        raise _RefusedError("an answer without a release")
    if len(data) > max_bytes:
        raise _RefusedError(f"a release of {len(data)} bytes, more than max_bytes={max_bytes}")
    file.write_bytes(data)
    try:
        release = Release.load(file)
    except ValueError:
        raise _RefusedError("bytes that are not a release, or a damaged one") from None
    if release.statistics is None:
        raise _RefusedError("a release without noisy sums, from another source or model")
    return release, len(data)


def _check_agreed(release, schema, classes, max_rows):
    """Raise unless a release has the agreed columns, classes and rows."""
    if classes is not None and sorted(map(str, classes)) != sorted(
        map(str, release.outcome.groups)
    ):
        raise _RefusedError(f"other classes: {list(release.outcome.groups)}")
    problem = None if max_rows is None else rows_problem(release, max_rows)
    if problem:
        raise _RefusedError(problem)
    if schema is None:
        return
    if release.encoder is None:
        raise _RefusedError("no schema, though one was agreed on")
    differences = schema.difference(release.encoder)
    if differences:
        raise _RefusedError(f"another schema: {'; '.join(differences[:5])}")


def _merge(releases, disjoint):
    """Return the largest mergeable set of releases, merged, their names, and other reasons.

    Each is merged with the earlier ones at once, to find out which one cannot be merged.
    """
    groups: list = []  # of names, and their merged release
    for name, release in releases.items():
        if all(_join(group, name, release, disjoint) for group in groups):
            groups.append([[name], release])
    if not groups:
        return None, [], {}
    largest = max(groups, key=lambda group: len(group[0]))
    others = {}
    for name, release in releases.items():
        if name not in largest[0] and (reason := _join(largest, name, release, disjoint)):
            text = f"it cannot be added to {largest[0][0]}: {reason}"
            others[name] = _printable(text, _LONGEST_REASON)
    merged = sorted(largest[0])
    try:  # together, as Release.merge does, which differs by rounding
        release = Release.merge([releases[name] for name in merged], disjoint=disjoint)
    except Exception:
        release = largest[1]
    return release, merged, others


def _join(group, name, release, disjoint):
    """Add a release to a group, or return why this is impossible."""
    try:
        problem = merge_problem(group[1], release)
        if problem:
            return problem
        merged = Release.merge([group[1], release], disjoint=disjoint)
    except Exception:  # nobody but this owner loses the round
        return _UNUSABLE
    group[0].append(name)
    group[1] = merged
    return None

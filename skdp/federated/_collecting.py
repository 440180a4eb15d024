"""The server of a federation: one merged release, and the reasons for refused answers."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numpy.typing import ArrayLike

from skdp.release import Release, merge_problem
from skdp.tabular import as_schema
from skdp.utils._files import to_json, write_whole

# Most characters of an owner's name, or of the type of an error, that a report repeats.
_LONGEST = 80
# Most columns that a reason lists.
_MOST = 5


@dataclass(frozen=True)
class CollectedReleases:
    """The answers that a server collected in one round.

    Attributes
    ----------
    release : Release or None
        Merged release of all owners whose answers could be merged; None if there is none.

    n_bytes : dict of str to int
        Size of the release of each of these owners.

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
        """Write the merged release, and optionally a report on its owners.

        Parameters
        ----------
        path : str or path-like
            Path of the release, see :meth:`~skdp.Release.save`; not written if there is none.

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
        """Return one line for each owner."""
        lines = [f"{name}: {size:,} bytes" for name, size in self.n_bytes.items()]
        return "\n".join(lines + [f"{name}: refused, {why}" for name, why in self.refused.items()])


def collect_answers(
    answers: Mapping[str, Mapping[str, Any] | None],
    *,
    disjoint: bool,
    schema: Any = None,
    classes: ArrayLike | None = None,
    max_bytes: int = 2**26,
) -> CollectedReleases:
    """Check the answers of owners, and merge the releases that can be merged.

    An answer that cannot be used is refused with a reason, and the others are merged. Releases are
    validated like any file, and cannot execute code. Validation does not establish that a release
    is truthful: an owner can send arbitrary sums.

    Parameters
    ----------
    answers : dict of str to dict or None
        By name of the owner: the result of :func:`owner_answer`, or None if there was no answer.

    disjoint : bool
        Whether nobody has rows at two of the owners, see :meth:`~skdp.Release.merge`.

    schema : Schema, mapping, str, path-like or None, default=None
        The agreed schema: releases of tables with other columns are refused. None: the schema that
        most of the releases share; in case of a tie, that of the first name.

    classes : array-like or None, default=None
        The agreed classes, likewise; None: those of the schema, if it has any.

    max_bytes : int, default=2**26
        Largest size of one release.

    Returns
    -------
    collected : CollectedReleases
        The merged release, with sizes and reasons for refusals.

    See Also
    --------
    owner_answer : The answer of an owner.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPStatisticsSource
    >>> from skdp.federated import collect_answers, owner_answer
    >>> rng = np.random.RandomState(0)
    >>> def answer(n_columns):
    ...     X, y = rng.rand(300, n_columns), rng.randint(2, size=300)
    ...     X[:, 0] = (X[:, 0] + y) / 2
    ...     return owner_answer(lambda: DPStatisticsSource(classes=[0, 1]).fit(X, y))
    >>> answers = {"north": answer(2), "east": answer(2), "south": {"error": "OSError"}}
    >>> collected = collect_answers({**answers, "west": None}, disjoint=True)
    >>> collected.release
    Release(2 classes, 2 features, (1, 1e-05)-DP per labelled record, add/remove)
    >>> collected.refused
    {'south': 'OSError at the owner', 'west': 'no answer in time'}
    """
    if schema is not None:
        schema = as_schema(schema)
        classes = schema.classes if classes is None else classes
    named: dict[str, Any] = {_printable(name): each for name, each in answers.items()}
    refused, releases, n_bytes = {}, {}, {}
    # In the order of names, so that sums do not depend on who answered first.
    for name, answer in sorted(named.items()):
        try:
            releases[name] = _release(answer, max_bytes)
            _check_agreed(releases[name], schema, classes)
            n_bytes[name] = len(answer["release"])
        except _RefusedError as refusal:
            releases.pop(name, None)
            refused[name] = str(refusal)
    merged, others = _largest_group(releases)
    refused |= others
    release = (
        Release.merge([releases[name] for name in merged], disjoint=disjoint) if merged else None
    )
    return CollectedReleases(release, {name: n_bytes[name] for name in merged}, refused)


class _RefusedError(Exception):
    """Reason for refusing an answer."""


def _printable(text):
    """Return a name without control characters, and not too long for a line."""
    return "".join(c if c.isprintable() else "?" for c in str(text))[:_LONGEST]


def _release(answer, max_bytes):
    """Return the release of an answer, or raise."""
    if answer is None:
        raise _RefusedError("no answer in time")
    if "error" in answer:
        error = answer["error"]
        named = isinstance(error, str) and error.isidentifier()
        raise _RefusedError(f"{error[:_LONGEST] if named else 'an error'} at the owner")
    data = answer.get("release")
    if not isinstance(data, bytes):
        raise _RefusedError("an answer without a release")
    if len(data) > max_bytes:
        raise _RefusedError(f"a release of {len(data)} bytes, more than max_bytes={max_bytes}")
    try:
        with TemporaryDirectory() as folder:
            file = Path(folder, "release.skdp")
            file.write_bytes(data)
            release = Release.load(file)
    except ValueError:
        raise _RefusedError("bytes that are no release, or damaged ones") from None
    if release.statistics is None:
        raise _RefusedError("a release without noisy sums, that is of another source or model")
    return release


def _check_agreed(release, schema, classes):
    """Raise unless a release has the columns and classes that were agreed on."""
    if classes is not None and sorted(map(str, classes)) != sorted(map(str, release.classes)):
        raise _RefusedError(f"other classes: {release.classes.tolist()}")
    if schema is None:
        return
    if release.encoder is None:
        raise _RefusedError("no schema, where one was agreed on")
    differences = schema.difference(release.encoder)
    if differences:
        raise _RefusedError(f"another schema: {'; '.join(differences[:_MOST])}")


def _largest_group(releases):
    """Return the names of the most releases that can be merged, and why the others cannot."""
    groups: list[list[str]] = []
    for name, release in releases.items():
        for group in groups:
            if _problem([releases[member] for member in group], release) is None:
                group.append(name)
                break
        else:
            groups.append([name])
    merged = max(groups, key=len, default=[])
    others = [releases[name] for name in merged]
    return merged, {
        name: f"it cannot be added to {merged[0]}: {_problem(others, release)}"
        for name, release in releases.items()
        if name not in merged
    }


def _problem(group, release):
    """Return why a release cannot be merged with those of a group, or None."""
    return next(filter(None, (merge_problem(member, release) for member in group)), None)

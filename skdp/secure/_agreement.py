"""A public file that all parties of a protocol have agreed on, by its digest."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, ClassVar, Self

from skdp.secure._identity import PublicIdentity
from skdp.utils._files import checksum, to_json, write_whole

# Largest size of a file in bytes (rule of thumb): parsed text takes up to thirty times its size,
# and a session of 100 participants and 100 classes has less than a twentieth.
_MOST_BYTES = 2**22
# What fields of any type and size can raise; numbers beyond floats are arithmetic errors.
_UNREADABLE = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
)


class Agreement:
    """Base of frozen dataclasses that all parties have in common, stored as JSON.

    A file is not signed, since it defines whose signatures are valid: all parties compare
    ``digest`` over another channel. Every message contains it.
    """

    # What a file is, as in its field "format".
    _format: ClassVar[str]

    @cached_property
    def digest(self) -> str:
        """Hexadecimal SHA-256 digest of the content."""
        return checksum(self._content())

    def to_bytes(self) -> bytes:
        """Return the content of the file.

        Returns
        -------
        content : bytes
            JSON.
        """
        return to_json(self._content())

    def _content(self):
        return {"format": self._format, "version": 1, **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        """Return the agreement of the fields of a file; may raise what such a lookup raises."""
        raise NotImplementedError

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the agreement of a file's content.

        Parameters
        ----------
        content : bytes
            From :meth:`to_bytes`.

        Returns
        -------
        agreement : Session or SecureSum

        Raises
        ------
        ValueError
            If it is truncated, altered or something else.

        Examples
        --------
        >>> from skdp.secure import Identity, ScoreScale, Session
        >>> names = ["key holder", "server", "ward 1", "ward 2"]
        >>> holder, server, *wards = (Identity.generate(name).public for name in names)
        >>> parties = holder, server, wards
        >>> session = Session.create([0, 1], ScoreScale(0, 1), *parties, backend="plain")
        >>> Session.from_bytes(session.to_bytes()).digest == session.digest
        True
        """
        foreign = (
            f"The bytes are no {cls._format}: they are truncated, altered, or another program's. "
            "Ask whoever made it for a new copy."
        )
        if not isinstance(content, bytes) or len(content) > _MOST_BYTES:
            raise ValueError(foreign)
        try:
            fields = json.loads(content)
            if fields.pop("format") != cls._format or fields.pop("version") != 1:
                raise ValueError(foreign)
            return cls._read(fields)
        except _UNREADABLE as error:
            raise ValueError(foreign) from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agreement to a file.

        Parameters
        ----------
        path : str or path-like
            Where to write.
        """
        with write_whole(path) as file:
            file.write(self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], digest: str | None = None) -> Self:
        """Read an agreement from a file.

        Parameters
        ----------
        path : str or path-like
            The file.

        digest : str or None, default=None
            The expected ``digest``, obtained over another channel from whoever made it. With
            ``None``, compare it yourself.

        Returns
        -------
        agreement : Session or SecureSum

        Raises
        ------
        ValueError
            If it is something else, or has another digest.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from skdp.secure import Identity, ScoreScale, Session
        >>> names = ["key holder", "server", "ward 1", "ward 2"]
        >>> holder, server, *wards = (Identity.generate(name).public for name in names)
        >>> parties = holder, server, wards
        >>> session = Session.create([0, 1], ScoreScale(0, 1), *parties, backend="plain")
        >>> with TemporaryDirectory() as folder:
        ...     session.save(Path(folder, "session.json"))
        ...     same = Session.load(Path(folder, "session.json"), session.digest)
        >>> same == session
        True
        """
        with open(path, "rb") as file:
            agreement = cls.from_bytes(file.read(_MOST_BYTES + 1))
        if digest is not None and agreement.digest != digest:
            raise ValueError(
                f"{str(path)!r} holds the {cls._format} {agreement.digest}, not {digest}. Ask "
                "whoever made it for the file, and for its digest over another channel."
            )
        return agreement


def check_distinct(owner: str, parties: Sequence[PublicIdentity]) -> None:
    """Raise ValueError if two parties have the same name or key."""
    for what in ("name", "key"):
        if len({getattr(party, what) for party in parties}) < len(parties):
            raise ValueError(
                f"The parties of a {owner} must have a {what} each that no other has, got "
                f"{[party.name for party in parties]}. Give each an Identity of its own."
            )

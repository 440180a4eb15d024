"""Agreements of all parties of a protocol: public files identified by their digests."""

import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.secure._backends import make_backend
from skdp.secure._identity import PublicIdentity
from skdp.secure._scale import ScoreScale
from skdp.utils._files import OtherVersionError, checksum, to_json, write_whole

# Largest size of a file in bytes: parsed text takes up to thirty times its size,
# and a session of 100 participants and 100 classes has less than a twentieth of this size.
_MOST_BYTES = 2**22
# Errors that fields of any type and size can raise; numbers beyond floats are arithmetic errors.
_UNREADABLE = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
)


class Agreement:
    """Base of frozen dataclasses that all parties share, stored as JSON.

    A file is not signed, because it defines whose signatures are valid: all parties compare
    ``digest`` over another channel. Every message contains it.
    """

    # Kind of the file, as in its field "format".
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
        """Return the agreement of the fields of a file; may raise errors of such a lookup."""
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
            f"The bytes are not an intact {cls._format}: they are truncated, altered, or from "
            "another program. Ask its maker for a new copy."
        )
        if not isinstance(content, bytes) or len(content) > _MOST_BYTES:
            raise ValueError(foreign)
        try:
            fields = json.loads(content)
            if fields.pop("format") != cls._format:
                raise ValueError(foreign)
            if (version := fields.pop("version")) != 1:
                raise OtherVersionError(f"The {cls._format}", version, 1)
            return cls._read(fields)
        except OtherVersionError:
            raise
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
            The expected ``digest``, obtained from its maker over another channel. With
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
                "its maker for the file, and for its digest over another channel."
            )
        return agreement


def check_distinct(owner: str, parties: Sequence[PublicIdentity]) -> None:
    """Raise ValueError if two parties have the same name or key."""
    for what in ("name", "key"):
        if len({getattr(party, what) for party in parties}) < len(parties):
            raise ValueError(
                f"The parties of a {owner} must have different {what}s, got "
                f"{[party.name for party in parties]}. Give each its own Identity."
            )


def check_nonce(owner: str, nonce: Any) -> None:
    """Raise ValueError unless a nonce can make each agreement unique."""
    if not isinstance(nonce, str) or not re.fullmatch("[0-9a-f]{32}", nonce):
        raise ValueError(
            f"The 'nonce' of a {owner} must be 32 hexadecimal digits, got {nonce!r:.100}. Make it "
            f"with {owner}.create."
        )


@dataclass(frozen=True)
class Session(Agreement):
    """Agreement of all parties on classes, scale and circuit: public, and equal for all.

    The key holder makes it with ``create`` and distributes the file. It is not signed, because it
    defines whose signatures are valid: **all parties must compare** ``digest`` over another
    channel before they use it. Every message contains this digest, and other sessions refuse it.

    Parameters
    ----------
    classes : list of int or list of str
        At least two labels, in the order of the scores.

    scale : ScoreScale
        Scale on which scores are rounded to 8 bits.

    key_holder, server : PublicIdentity
        The party that generates keys and decrypts, and the party that computes.

    participants : list of PublicIdentity
        At least two parties with local models, in the order of the circuit's inputs.

    backend : {"plain", "fhe"}, default="fhe"
        "fhe" encrypts. "plain" has the same roles and files but **protects nothing**; it is for
        tests.

    circuit : str
        Public description of the circuit by the backend's library, made by ``create``.

    nonce : str
        32 random hexadecimal digits, made by ``create``.

    Attributes
    ----------
    digest : str
        Hexadecimal SHA-256 digest of the session.

    Raises
    ------
    ValueError
        If the parameters contradict each other.

    Examples
    --------
    >>> from skdp.secure import Identity, ScoreScale, Session
    >>> names = ["key holder", "server", "ward 1", "ward 2"]
    >>> holder, server, *wards = (Identity.generate(name).public for name in names)
    >>> session = Session.create(
    ...     ["benign", "malignant"], ScoreScale(0, 1), holder, server, wards, backend="plain"
    ... )
    >>> session
    <Session of 2 participants and 2 classes, backend 'plain' (NO ENCRYPTION)>
    >>> Session.from_bytes(session.to_bytes()) == session
    True
    """

    classes: list[int] | list[str] | list[bool]
    scale: ScoreScale
    key_holder: PublicIdentity
    server: PublicIdentity
    participants: list[PublicIdentity]
    backend: str
    circuit: str
    nonce: str

    _format: ClassVar[str] = "skdp.secure session"

    def __post_init__(self) -> None:
        _check_classes(self.classes)
        members = [self.key_holder, self.server, *self.participants]
        if len(self.participants) < 2:
            raise ValueError(
                "The 'participants' parameter of Session must have at least two, got "
                f"{len(self.participants)}. One model needs no combination."
            )
        check_distinct("Session", members)
        expected = {"participants": len(self.participants), "classes": len(self.classes)}
        try:
            described = json.loads(self.circuit)
            fits = {name: described[name] for name in expected} == expected
        except (KeyError, TypeError, ValueError, RecursionError):
            fits = False
        if not fits:
            raise ValueError(
                "The 'circuit' of the Session is not for its participants and classes. Make "
                "sessions with Session.create."
            )
        check_nonce("Session", self.nonce)
        make_backend(self.backend)

    def __repr__(self) -> str:
        warning = " (NO ENCRYPTION)" if self.backend == "plain" else ""
        return (
            f"<Session of {len(self.participants)} participants and {len(self.classes)} classes, "
            f"backend {self.backend!r}{warning}>"
        )

    @classmethod
    def create(
        cls,
        classes: ArrayLike,
        scale: ScoreScale,
        key_holder: PublicIdentity,
        server: PublicIdentity,
        participants: Sequence[PublicIdentity],
        *,
        backend: str = "fhe",
    ) -> Self:
        """Return a new session, and compile its circuit.

        Parameters
        ----------
        classes, scale, key_holder, server, participants, backend
            See :class:`Session`.

        Returns
        -------
        session : Session

        Raises
        ------
        ImportError
            If the backend's library is not installed.

        ValueError
            If the parameters contradict each other.

        Examples
        --------
        >>> from skdp.secure import Identity, ScoreScale, Session
        >>> names = ["key holder", "server", "ward 1", "ward 2"]
        >>> holder, server, *wards = (Identity.generate(name).public for name in names)
        >>> parties = holder, server, wards
        >>> session = Session.create([0, 1], ScoreScale(0, 1), *parties, backend="plain")
        >>> session.classes, session.backend
        ([0, 1], 'plain')
        """
        labels, members = np.asarray(classes).tolist(), list(participants)
        _check_classes(labels)
        circuit = make_backend(backend).specify(len(members), len(labels))
        nonce = secrets.token_hex(16)
        return cls(labels, scale, key_holder, server, members, backend, circuit, nonce)

    def parties(self, role: str) -> list[PublicIdentity]:
        """Return the parties with a role.

        Parameters
        ----------
        role : {"key holder", "server", "participant"}

        Returns
        -------
        parties : list of PublicIdentity

        Examples
        --------
        >>> from skdp.secure import Identity, ScoreScale, Session
        >>> names = ["key holder", "server", "ward 1", "ward 2"]
        >>> holder, server, *wards = (Identity.generate(name).public for name in names)
        >>> parties = holder, server, wards
        >>> session = Session.create([0, 1], ScoreScale(0, 1), *parties, backend="plain")
        >>> [party.name for party in session.parties("participant")]
        ['ward 1', 'ward 2']
        """
        return {
            "key holder": [self.key_holder],
            "server": [self.server],
            "participant": self.participants,
        }[role]

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        fields["scale"] = ScoreScale(**fields["scale"])
        for name in ("key_holder", "server"):
            fields[name] = PublicIdentity(**fields[name])
        fields["participants"] = [PublicIdentity(**party) for party in fields["participants"]]
        return cls(**fields)


def _check_classes(classes):
    kinds = {type(label) for label in classes} if isinstance(classes, list) else set()
    if kinds not in ({int}, {str}, {bool}) or len(set(classes)) < max(2, len(classes)):
        raise ValueError(
            "The 'classes' parameter of Session must be a list of at least two different labels, "
            f"all whole numbers or all text, got {classes!r}. Take the classes_ of a local model."
        )

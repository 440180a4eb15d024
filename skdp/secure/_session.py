"""The agreement of all parties, in one public file."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from skdp.secure._agreement import Agreement, check_distinct
from skdp.secure._backends import make_backend
from skdp.secure._identity import PublicIdentity
from skdp.secure._scale import ScoreScale


@dataclass(frozen=True)
class Session(Agreement):
    """Agreement of all parties on classes, scale and circuit: public, and equal for all.

    The key holder creates it with ``create`` and distributes the file. It is not signed, since it
    defines whose signatures are valid: **all parties must compare** ``digest`` over another
    channel before they use it. Every message contains that digest, and is refused in any other
    session.

    Parameters
    ----------
    classes : list of int or list of str
        At least two labels, in the order of the scores.

    scale : ScoreScale
        Scale on which scores are rounded to 8 bits.

    key_holder, server : PublicIdentity
        The party that generates keys and decrypts, and the party that computes.

    participants : list of PublicIdentity
        The parties with local models, at least two; their order is that of the circuit's inputs.

    backend : {"plain", "fhe"}, default="fhe"
        "fhe" encrypts. "plain" has the same roles and files but **protects nothing**; it is meant
        for tests.

    circuit : str
        Public description of the circuit by the backend's library, made by ``create``.

    nonce : str
        Random hexadecimal string, made by ``create``.

    Attributes
    ----------
    digest : str
        Hexadecimal SHA-256 digest of the session.

    Raises
    ------
    ValueError
        If the parameters do not fit together.

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
                "The 'participants' parameter of Session must hold at least two, got "
                f"{len(self.participants)}. One model needs no combination."
            )
        check_distinct("Session", members)
        expected = {"participants": len(self.participants), "classes": len(self.classes)}
        try:
            described = json.loads(self.circuit)
            fits = {name: described[name] for name in expected} == expected
        except (KeyError, TypeError, ValueError, RecursionError):
            fits = False
        if not fits or not isinstance(self.nonce, str):
            raise ValueError(
                "The 'circuit' of the Session is not for its participants and classes. Make "
                "sessions with Session.create."
            )
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
            If the parameters do not fit together.

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

"""Named Ed25519 keys of the parties, for signatures."""

import os
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from skdp.utils._files import PRIVATE, write_whole

# Bytes of a signature.
SIGNATURE_BYTES = 64
# First bytes of a file with a private key, which identify it.
_MAGIC = b"skdp-id1"
# Characters of a name, far more than real ones have.
LONGEST_NAME = 200
# The curve −x² + y² = 1 + D x² y² modulo P, of which Ed25519 keys are points (RFC 8032).
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P


@dataclass(frozen=True)
class PublicIdentity:
    """Name and public signing key of a party.

    Parameters
    ----------
    name : str
        Unique within a session.

    key : str
        The Ed25519 public key, 64 hexadecimal digits. Obtain it from its owner over an
        authenticated channel: only this key identifies the owner's files.

    Raises
    ------
    ValueError
        If the name is empty, or the key invalid.

    Examples
    --------
    >>> from skdp.secure import Identity
    >>> Identity.generate("ward 1").public.name
    'ward 1'
    """

    name: str
    key: str

    def __post_init__(self) -> None:
        named = isinstance(self.name, str) and 0 < len(self.name) <= LONGEST_NAME
        if not named or not self.name.isprintable():
            raise ValueError(
                "The 'name' parameter of PublicIdentity must be printable text of 1 to "
                f"{LONGEST_NAME} characters. Name the party."
            )
        try:
            raw = bytes.fromhex(self.key)
            sound = raw.hex() == self.key and _is_key(raw)
        except (TypeError, ValueError):
            sound = False
        if not sound:
            raise ValueError(
                f"The 'key' parameter of PublicIdentity {self.name!r} must be an Ed25519 public "
                "key of 64 lower-case hexadecimal digits. Copy it from the 'public' attribute of "
                "its owner's Identity."
            )

    def verifies(self, signature: bytes, content: bytes) -> bool:
        """Return whether a signature was made by this party.

        Parameters
        ----------
        signature, content : bytes
            The signature, and the signed bytes.

        Returns
        -------
        valid : bool

        Examples
        --------
        >>> from skdp.secure import Identity
        >>> ward = Identity.generate("ward 1")
        >>> ward.public.verifies(ward.sign(b"content"), b"other content")
        False
        """
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.key))
            key.verify(signature, content)
        except InvalidSignature:
            return False
        return True


def _is_key(raw):
    """Return whether bytes are a point of the curve, of an order above 8.

    The library accepts any 32 bytes, and with points of low order forged signatures are valid.
    """
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    numerator, denominator = y * y - 1, _D * y * y + 1  # of x²
    # Of order 1 or 2, 4, or 8, where doubling gives y = 0.
    low = numerator * y * (_D * y**4 + 2 * y * y - 1) % _P == 0
    is_square = pow(numerator * denominator, (_P - 1) // 2, _P) == 1
    return len(raw) == 32 and y < _P and is_square and not low


class Identity:
    """Private signing key of a party, which must not be shared.

    It signs files and does not encrypt. ``generate`` creates a new one; ``save`` and ``load``
    use a file that only its owner can read.

    Parameters
    ----------
    name : str
        The party's name.

    private_key : bytes
        32 bytes of an Ed25519 private key.

    Attributes
    ----------
    name : str
        The party's name.

    public : PublicIdentity
        Name and public key, to share.

    Raises
    ------
    ValueError
        If the key is invalid.

    Examples
    --------
    >>> from skdp.secure import Identity
    >>> ward = Identity.generate("ward 1")
    >>> ward.public.verifies(ward.sign(b"content"), b"content")
    True
    >>> ward
    <Identity 'ward 1', signing key not shown>
    """

    name: str
    public: PublicIdentity

    def __init__(self, name: str, private_key: bytes):
        if not isinstance(private_key, bytes) or len(private_key) != 32:
            raise ValueError(
                "The 'private_key' parameter of Identity must be 32 bytes. Use "
                "Identity.generate(name) or Identity.load(path)."
            )
        self._key = Ed25519PrivateKey.from_private_bytes(private_key)
        self.name = name
        self.public = PublicIdentity(name, self._key.public_key().public_bytes_raw().hex())

    def __repr__(self) -> str:
        return f"<Identity {self.name!r}, signing key not shown>"

    @classmethod
    def generate(cls, name: str) -> Self:
        """Return a new identity.

        Parameters
        ----------
        name : str
            The party's name.

        Returns
        -------
        identity : Identity

        Examples
        --------
        >>> from skdp.secure import Identity
        >>> Identity.generate("ward 1").name
        'ward 1'
        """
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    def sign(self, content: bytes) -> bytes:
        """Return the signature of some bytes.

        Parameters
        ----------
        content : bytes

        Returns
        -------
        signature : bytes
            64 of them.

        Examples
        --------
        >>> from skdp.secure import Identity
        >>> len(Identity.generate("ward 1").sign(b"content"))
        64
        """
        return self._key.sign(content)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the private key to a new file that only this user can read.

        Parameters
        ----------
        path : str or path-like
            A file that does not exist yet.

        Raises
        ------
        FileExistsError
            If the file exists.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from skdp.secure import Identity
        >>> ward = Identity.generate("ward 1")
        >>> with TemporaryDirectory() as folder:
        ...     ward.save(Path(folder, "ward.id"))
        ...     again = Identity.load(Path(folder, "ward.id"))
        >>> again.public == ward.public
        True
        """
        with write_whole(path, overwrite=False, mode=PRIVATE) as file:
            file.write(_MAGIC + self._key.private_bytes_raw() + self.name.encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an identity that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        identity : Identity

        Raises
        ------
        ValueError
            If it is not such a file.
        """
        with open(path, "rb") as file:
            content = file.read(len(_MAGIC) + 32 + 4 * LONGEST_NAME + 1)
        key = content.removeprefix(_MAGIC)
        try:
            if key == content:
                raise ValueError("the first bytes are others")
            return cls(key[32:].decode(), key[:32])
        except ValueError as error:
            raise ValueError(
                f"{str(path)!r} is not an intact identity: it is truncated, or another file. Load "
                "a file that Identity.save wrote."
            ) from error

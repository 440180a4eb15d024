"""Masks that cancel in the sum over all owners, from keys shared by every pair.

This is the construction of Bonawitz et al. (2017) without recovery from dropouts: each pair of
owners agrees on a key by X25519, HKDF-SHA256 derives a key for each round and context, and one
owner adds the keystream of ChaCha20 that the other subtracts, modulo 2^64.
"""

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from skdp.utils._files import to_json

# Bytes of a key of X25519, private or public.
KEY_BYTES = 32
# A key is used for one stream only, so its counter and nonce may start at zero.
_NONCE = bytes(16)


def new_key():
    """Return the bytes of a new private key and of its public key."""
    private = X25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw()


def mask(private, public_keys, name, context, size):
    """Return the sum of an owner's masks with all others, an array of uint64.

    ``public_keys`` are bytes by owner. ``context``, a digest of everything that owners must
    share, is in every key, so masks of owners who saw different things never cancel.
    """
    key, total = X25519PrivateKey.from_private_bytes(private), np.zeros(size, dtype=np.uint64)
    for other, public in public_keys.items():
        if other == name:
            continue
        try:
            secret = key.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError as error:  # of low order, which would make the secret known
            raise ValueError(
                f"The key of {other!r} is not a valid X25519 key. Start a new secure sum without "
                "this owner."
            ) from error
        first, second = sorted((name, other))
        stream = _stream(secret, to_json([first, second]), context, size)
        total += stream if name == first else -stream
    return total


def _stream(secret, pair, context, size):
    """Return uniform integers shared by two owners, from their names and a context."""
    derive = HKDF(hashes.SHA256(), KEY_BYTES, salt=bytes.fromhex(context), info=pair)
    cipher = Cipher(algorithms.ChaCha20(derive.derive(secret), _NONCE), mode=None)
    return np.frombuffer(cipher.encryptor().update(bytes(8 * size)), dtype="<u8")

"""Random bits that nobody can foresee: the keystream of AES-256 in counter mode."""

import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from sklearn.utils import check_random_state

# Length of a key of AES-256.
_KEY_BYTES = 32
# Length of an integer of 64 bits.
_INTEGER_BYTES = 8


class RandomBits:
    """A stream of independent, uniform random bits, drawn 64 at a time.

    Parameters
    ----------
    key : bytes of length 32, default=None
        Key of the cipher. By default, entropy of the operating system.

    Examples
    --------
    >>> hex(RandomBits(key=bytes(32)).draw(1)[0])
    '0x898940a278c095dc'
    """

    def __init__(self, key=None):
        key = os.urandom(_KEY_BYTES) if key is None else key
        # The key is used for this one stream, so that a counter from zero never repeats.
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def draw(self, n):
        """Return the next integers of 64 random bits.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        integers : ndarray of shape (n,), dtype uint64
        """
        zeros = bytes(n * _INTEGER_BYTES)
        return np.frombuffer(self._encryptor.update(zeros), dtype="<u8")


def random_bits(random_state):
    """Return the stream that a ``random_state`` stands for.

    None is fresh entropy of the operating system, never NumPy's global state, which a
    forgotten ``np.random.seed`` would make predictable.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        As everywhere in scikit-learn.

    Returns
    -------
    bits : RandomBits

    Examples
    --------
    >>> (random_bits(0).draw(2) == random_bits(0).draw(2)).tolist()
    [True, True]
    """
    if random_state is None:
        return RandomBits()
    return RandomBits(check_random_state(random_state).bytes(_KEY_BYTES))

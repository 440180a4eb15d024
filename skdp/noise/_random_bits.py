"""Random bits that nobody can foresee: the keystream of AES-256 in counter mode."""

import multiprocessing
import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from sklearn.utils import check_random_state

# Length of a key of AES-256.
_KEY_BYTES = 32
# Length of an integer of 64 bits.
_INTEGER_BYTES = 8
# The process that imported this module. A child that is forked from it has another number.
_PROCESS = os.getpid()


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


def draw_key(random_state):
    """Return the key that a ``random_state`` draws next.

    None is fresh entropy of the operating system, never NumPy's global state, which a
    forgotten ``np.random.seed`` would make predictable. So is a generator in a child process:
    whether it came by fork or in a pickle, it is a copy, and would repeat what the parent and
    all its other children draw. Nothing else can tell the copies apart.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        As everywhere in scikit-learn.

    Returns
    -------
    key : bytes of length 32, or None
        None for entropy of the operating system.
    """
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState) and _is_child():
        return None
    return check_random_state(random_state).bytes(_KEY_BYTES)


def _is_child():
    return os.getpid() != _PROCESS or multiprocessing.parent_process() is not None


def random_bits(random_state):
    """Return the stream that a ``random_state`` stands for.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        See :func:`draw_key`.

    Returns
    -------
    bits : RandomBits

    Examples
    --------
    >>> (random_bits(0).draw(2) == random_bits(0).draw(2)).tolist()
    [True, True]
    """
    return RandomBits(draw_key(random_state))

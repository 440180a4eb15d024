"""Random bits that nobody can foresee: the keystream of AES-256 in counter mode."""

import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from sklearn.utils import check_random_state

_KEY_BYTES, _WORD_BYTES = 32, 8


class RandomWords:
    """A stream of independent, uniform 64-bit words.

    Parameters
    ----------
    key : bytes of length 32, default=None
        Where the stream starts. By default, entropy of the operating system.
    """

    def __init__(self, key=None):
        key = os.urandom(_KEY_BYTES) if key is None else key
        # The key is used for this one stream, so that a counter from zero never repeats.
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def draw(self, n_words):
        """Return the next words.

        Parameters
        ----------
        n_words : int
            How many.

        Returns
        -------
        words : ndarray of shape (n_words,), dtype uint64
        """
        zeros = bytes(n_words * _WORD_BYTES)
        return np.frombuffer(self._encryptor.update(zeros), dtype="<u8")


def random_words(random_state):
    """Return the stream that a ``random_state`` stands for.

    None is fresh entropy of the operating system, never NumPy's global state, which a
    forgotten ``np.random.seed`` would make predictable.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        As everywhere in scikit-learn.

    Returns
    -------
    words : RandomWords
    """
    if random_state is None:
        return RandomWords()
    return RandomWords(check_random_state(random_state).bytes(_KEY_BYTES))

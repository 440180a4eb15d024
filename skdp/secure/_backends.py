"""What encrypts: one small protocol, and where its implementations are."""

from typing import Any, Protocol

from skdp.secure import _fhe, _plain


class Client(Protocol):
    """Who has the secret key: encrypts scores, decrypts classes."""

    def encrypt(self, position: int, dissimilarities) -> list[bytes]:
        """Return a ciphertext for each query of the participant at a position."""

    def decrypt(self, results: list[bytes]) -> list[int]:
        """Return the class index of each query."""


class Evaluator(Protocol):
    """Who has the evaluation keys alone."""

    def evaluate(self, ciphertexts: tuple[bytes, ...]) -> bytes:
        """Return the encrypted class index of one query, from one ciphertext a participant."""


class Backend(Protocol):
    """One library: a circuit, keys, and who works with them."""

    def specify(self, n_participants: int, n_classes: int) -> str:
        """Return the public specification of the circuit, JSON."""

    def generate(self, circuit: str) -> tuple[bytes, bytes]:
        """Return a new secret key and its evaluation keys."""

    def client(self, circuit: str, secret: bytes) -> Client:
        """Return who encrypts and decrypts."""

    def evaluator(self, circuit: str, evaluation: bytes) -> Evaluator:
        """Return who computes."""


_BACKENDS: dict[str, Any] = {"plain": _plain.PlainBackend, "fhe": _fhe.FHEBackend}


def make_backend(name) -> Backend:
    """Return a backend by its name.

    Raises
    ------
    ValueError
        When there is none of that name.
    """
    if not isinstance(name, str) or name not in _BACKENDS:
        raise ValueError(
            f"The 'backend' parameter must be one of {sorted(_BACKENDS)}, got {name!r}. Use 'fhe' "
            "to encrypt, 'plain' for tests."
        )
    return _BACKENDS[name]()

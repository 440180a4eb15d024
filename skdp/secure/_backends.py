"""Encryption backends: one small protocol, with an encrypted and a plain implementation.

A backend specifies a circuit, generates keys, and returns two workers: a client with the secret
key, which encrypts the scores of a participant and decrypts classes, and an evaluator with the
evaluation keys only.

The plain backend protects nothing; it tests the other, which is TFHE by concrete-python, imported
when used. No code comes from files: each server compiles the circuit itself and compares the
compiler's choices with the session's file. The library's encryption is symmetric: whoever
encrypts can decrypt.
"""

import inspect
import json
import secrets
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from skdp.secure._circuit import encode, examples, make_circuit
from skdp.secure._scale import combine_scores

# Format of a class index.
_INDEX = np.dtype("<u4")
# Largest probability that a query's class comes out wrong. 2**-40 costs 7% more than the
# library's default of 1e-5 (the compiler's estimate for 3 participants and 10 classes).
ERROR_PROBABILITY = 2.0**-40


class PlainBackend:
    """Roles and files of the encrypted combination, with everything in clear."""

    def specify(self, n_participants, n_classes):
        """Return the public specification, JSON."""
        return json.dumps({"participants": n_participants, "classes": n_classes})

    def generate(self, circuit):
        """Return two empty keys."""
        return b"", b""

    def client(self, circuit, secret):
        """Return the client, without encryption."""
        return PlainClient()

    def evaluator(self, circuit, evaluation):
        """Return the evaluator, without encryption."""
        return PlainEvaluator(json.loads(circuit)["classes"])


class PlainClient:
    """Writes dissimilarities and reads class indices, in clear."""

    def encrypt(self, position, dissimilarities):
        """Return the bytes of each query."""
        return [row.tobytes() for row in np.asarray(dissimilarities, dtype=np.uint8)]

    def decrypt(self, results):
        """Return the class index of each query."""
        if any(len(result) != _INDEX.itemsize for result in results):
            raise RuntimeError("a result is not a class index")
        indices = [np.frombuffer(result, _INDEX) for result in results]
        return [int(index[0]) for index in indices]


class PlainEvaluator:
    """Combines dissimilarities in clear."""

    def __init__(self, n_classes):
        self.n_classes = n_classes

    def evaluate(self, ciphertexts):
        """Return the class index of one query."""
        if any(len(part) != self.n_classes for part in ciphertexts):
            raise RuntimeError("the scores are not one for each class")
        rows = np.array([np.frombuffer(part, np.uint8) for part in ciphertexts])
        return combine_scores(rows[:, None]).astype(_INDEX).tobytes()


def import_fhe():
    """Return ``concrete.fhe``, or raise an ImportError with the remedy."""
    try:
        from concrete import fhe
    except ImportError as error:
        raise ImportError(
            "The backend 'fhe' needs concrete-python 2.11, which needs Python 3.11, numpy<2 and "
            "setuptools<80. Install it (pip install 'skdp[secure]') in a separate environment. "
            f"({error})"
        ) from error
    return fhe


class FHEBackend:
    """Circuits and keys of concrete-python."""

    def specify(self, n_participants, n_classes):
        """Return the parameters that the compiler chose, JSON."""
        compiled = _compile(n_participants, n_classes)
        return json.dumps(
            {
                "participants": n_participants,
                "classes": n_classes,
                "library": f"concrete-python {version('concrete-python')}",
                "specs": json.loads(compiled.client_specs.serialize()),
            },
            sort_keys=True,
        )

    def generate(self, circuit):
        """Return a new secret key and its evaluation keys."""
        keys = _make_keys(json.loads(circuit)["specs"])
        return _secret_part(circuit, keys), keys.get_server_keys().serialize()

    def client(self, circuit, secret):
        """Return the client."""
        return FHEClient(circuit, secret)

    def evaluator(self, circuit, evaluation):
        """Return the evaluator."""
        return FHEEvaluator(circuit, evaluation)


class FHEClient:
    """Encrypts scores and decrypts classes with the secret key."""

    def __init__(self, circuit, secret):
        fhe = import_fhe()
        self._n_participants = json.loads(circuit)["participants"]
        self._client = fhe.Client(_specs(circuit))
        self._client.keys = fhe.Keys.deserialize(secret)

    def encrypt(self, position, dissimilarities):
        """Return a ciphertext for each query."""
        ciphertexts = []
        for row in dissimilarities:
            inputs = [None] * self._n_participants
            inputs[position] = encode(row)
            ciphertexts.append(self._client.encrypt(*inputs)[position].serialize())
        return ciphertexts

    def decrypt(self, results):
        """Return the class index of each query."""
        values = map(import_fhe().Value.deserialize, results)
        return [int(self._client.decrypt(value)) for value in values]


class FHEEvaluator:
    """Computes on ciphertexts with the evaluation keys."""

    def __init__(self, circuit, evaluation):
        self._fhe = import_fhe()
        self._circuit, self._keys = circuit, self._fhe.EvaluationKeys.deserialize(evaluation)

    @cached_property
    def _server(self):
        described = json.loads(self._circuit)
        server = _compile(described["participants"], described["classes"])
        if json.loads(server.client_specs.serialize()) != described["specs"]:
            raise ValueError(
                "The circuit compiled here, with concrete-python "
                f"{version('concrete-python')}, has other parameters than the session's, from "
                f"{described.get('library')!r}. Install the same version everywhere."
            )
        return server

    def evaluate(self, ciphertexts):
        """Return the encrypted class index of one query."""
        values = [self._fhe.Value.deserialize(part) for part in ciphertexts]
        return self._server.run(*values, evaluation_keys=self._keys).serialize()


def _compile(n_participants, n_classes):
    """Return the library's server for a circuit; the same parameters on every machine."""
    fhe = import_fhe()
    names = [f"scores{position}" for position in range(n_participants)]
    circuit = make_circuit(fhe, names, n_classes)
    # The library takes the names of inputs from the signature.
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    circuit.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
    compiler = fhe.Compiler(circuit, dict.fromkeys(names, "encrypted"))
    compiled = compiler.compile(
        examples(n_participants, n_classes),
        compress_evaluation_keys=True,
        compress_input_ciphertexts=True,
        global_p_error=ERROR_PROBABILITY,
    )
    return compiled.server


def _specs(circuit):
    text = json.dumps(json.loads(circuit)["specs"]).encode()
    return import_fhe().ClientSpecs.deserialize(text)


def _make_keys(specs, initial=None):
    """Return new keys of the library, from the operating system's random bits."""
    from concrete.compiler import Keyset

    fhe = import_fhe()
    program = fhe.ClientSpecs.deserialize(json.dumps(specs).encode()).program_info
    return Keyset(program, None, *(secrets.randbits(64) for _ in range(4)), initial)


def _secret_part(circuit, keys):
    """Return secret keys without the evaluation keys, which are a thousand times larger."""
    from concrete.compiler import LweSecretKey

    specs = json.loads(circuit)["specs"]
    for name in ("lweBootstrapKeys", "lweKeyswitchKeys", "packingKeyswitchKeys"):
        specs["keyset"][name] = []
    secret = keys.get_client_keys().get_secret_keys()
    copies = {
        position: LweSecretKey.deserialize(key.serialize(), key.param)
        for position, key in enumerate(secret)
    }
    return _make_keys(specs, copies).serialize()


def make_backend(name):
    """Return a backend by its name."""
    backends: dict[str, Any] = {"plain": PlainBackend, "fhe": FHEBackend}
    if not isinstance(name, str) or name not in backends:
        raise ValueError(
            f"The 'backend' parameter must be one of {sorted(backends)}, got {name!r}. Use 'fhe' "
            "to encrypt, 'plain' for tests."
        )
    return backends[name]()

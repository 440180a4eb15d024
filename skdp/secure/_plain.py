"""The backend without encryption, by which the other is tested. It protects nothing."""

import json

import numpy as np

from skdp.secure._scale import combine_scores

# How a class index is written.
_INDEX = np.dtype("<u4")


class PlainBackend:
    """Roles and files of the encrypted combination, with everything in clear."""

    def specify(self, n_participants, n_classes):
        """Return the public specification, JSON."""
        return json.dumps({"participants": n_participants, "classes": n_classes})

    def generate(self, circuit):
        """Return two empty keys."""
        return b"", b""

    def client(self, circuit, secret):
        """Return who would encrypt and decrypt."""
        return PlainClient()

    def evaluator(self, circuit, evaluation):
        """Return who computes, in clear."""
        return PlainEvaluator(json.loads(circuit)["classes"])


class PlainClient:
    """Writes dissimilarities and reads class indices, in clear."""

    def encrypt(self, position, dissimilarities):
        """Return the bytes of each query."""
        return [row.tobytes() for row in np.asarray(dissimilarities, dtype=np.uint8)]

    def decrypt(self, results):
        """Return the class index of each query."""
        if any(len(result) != _INDEX.itemsize for result in results):
            raise RuntimeError("a result is no class index")
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

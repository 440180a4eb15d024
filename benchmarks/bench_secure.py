"""What a combination of local models under encryption costs, and whether it equals that in clear.

In an environment with concrete-python (the extra secure). Of each circuit the first query, which
unpacks the evaluation keys, is timed apart. "digits": three CDMMAClassifier, each on its own third
of 1,200 digits. "ties": dissimilarities drawn from eight values, so that many classes tie.
"""

import json

import _bench
import numpy as np
from sklearn.datasets import load_digits

from skdp import CDMMAClassifier
from skdp.secure import (
    Identity,
    KeyHolder,
    Participant,
    ScoreScale,
    Server,
    Session,
    class_scores,
    combine_scores,
)

# Squared distances of digits, scaled to [0, 1], from their reconstructions.
DIGITS = ScoreScale(-25.0, 0.0)
# Queries, participants and classes.
GRID = (("ties", 2, 2), ("ties", 3, 2), ("ties", 2, 10))
GRID += (("digits", 3, 10), ("ties", 3, 10), ("ties", 5, 10))
MANY = GRID[3:5]


def queries_of(name, n_participants, n_classes, n_queries):
    """Return the scale and the scores of each participant."""
    if name == "ties":
        values = np.random.RandomState(0).randint(0, 256, 8)
        shape = (n_participants, n_queries, n_classes)
        scores = np.random.RandomState(1).choice(values, shape)
        return ScoreScale(0, 255, larger_is_likelier=False), scores.astype(float)
    X, y = load_digits(return_X_y=True)
    X = X / 16
    models = [
        CDMMAClassifier(**_bench.PAPERS, n_layers=2, random_state=0).fit(X[i:1200:3], y[i:1200:3])
        for i in range(3)
    ]
    queries = X[1200 : 1200 + n_queries]
    return DIGITS, np.array([class_scores(m, queries, "decision_function") for m in models])


def parameters(session):
    """Return what the compiler chose for security: dimensions and noise of all keys."""
    keyset = json.loads(session.circuit)["specs"]["keyset"]
    bootstraps = [key["params"] for key in keyset["lweBootstrapKeys"]]
    names = ("inputLweDimension", "glweDimension", "polynomialSize", "variance")
    return [{name: params[name] for name in names} for params in bootstraps]


def measure(options, name, n_participants, n_classes):
    n_queries = options.queries if (name, n_participants, n_classes) in MANY else options.few
    scale, scores = queries_of(name, n_participants, n_classes, n_queries)
    names = ["key holder", "server", *(f"participant {i}" for i in range(n_participants))]
    holder, server, *others = map(Identity.generate, names)
    parties = holder.public, server.public, [other.public for other in others]
    classes, ids = list(range(n_classes)), [str(i) for i in range(n_queries)]
    with _bench.Timer() as compiling:
        session = Session.create(classes, scale, *parties)
    with _bench.Timer() as making:
        secret_key, evaluation_keys = KeyHolder(session, holder).generate_keys()
    participants = [Participant(session, other, secret_key) for other in others]

    def encrypted(scores, ids):
        pairs = zip(participants, scores, strict=True)
        return [each.encrypt(own, classes=classes, query_ids=ids) for each, own in pairs]

    with _bench.Timer() as encrypting:
        messages = encrypted(scores, ids)
    warm = encrypted(scores[:, :1], ["first"])
    combiner = Server(session, server, evaluation_keys)
    with _bench.Timer() as first:
        combiner.combine(warm)
    with _bench.processor() as cpu, _bench.Timer() as combining:
        result = combiner.combine(messages)
    found = KeyHolder(session, holder).decrypt(result, secret_key, ids)
    plain = combine_scores([scale.dissimilarities(own) for own in scores])
    yield {
        "queries": name,
        "participants": n_participants,
        "classes": n_classes,
        "n_queries": n_queries,
        "n_equal": int(np.sum(found == plain)),
        "compile_seconds": compiling.seconds,
        "keys_seconds": making.seconds,
        "encrypt_seconds": encrypting.seconds / n_queries / n_participants,
        "first_seconds": first.seconds,
        "query_seconds": combining.seconds / n_queries,
        "query_cpu_seconds": cpu.seconds / n_queries,
        "secret_key_bytes": len(secret_key),
        "evaluation_keys_bytes": len(evaluation_keys),
        "scores_bytes": len(messages[0]) / n_queries,
        "class_bytes": len(result) / n_queries,
        "library": json.loads(session.circuit)["library"],
        "parameters": parameters(session),
    }


if __name__ == "__main__":
    _bench.run("secure", measure, __doc__, over=GRID, queries=100, few=20)

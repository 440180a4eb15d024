"""Parties of a small session, with either backend."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

from skdp.secure import Identity, KeyHolder, Participant, ScoreScale, Server, Session

needs_concrete = pytest.mark.skipif(
    importlib.util.find_spec("concrete") is None,
    reason="concrete-python is not installed; nox -s secure runs this",
)


def make_parties(n_participants, n_classes, backend):
    """Return a session on whole dissimilarities, keys, and all roles."""
    names = ["key holder", "server", *(f"ward {i}" for i in range(n_participants))]
    holder, server, *wards = map(Identity.generate, names)
    session = Session.create(
        list(range(n_classes)),
        ScoreScale(0, 255, larger_is_likelier=False),
        holder.public,
        server.public,
        [ward.public for ward in wards],
        backend=backend,
    )
    key_holder = KeyHolder(session, holder)
    secret_key, evaluation_keys = key_holder.generate_keys()
    return SimpleNamespace(
        session=session,
        identities=[holder, server, *wards],
        key_holder=key_holder,
        secret_key=secret_key,
        evaluation_keys=evaluation_keys,
        participants=[Participant(session, ward, secret_key) for ward in wards],
        server=Server(session, server, evaluation_keys),
    )


def encrypt_all(parties, scores, ids=None):
    """Return the message of each participant; scores have the shape of combine_scores."""
    ids = ids or [f"query {i}" for i in range(np.shape(scores)[1])]
    classes = parties.session.classes
    return [
        participant.encrypt(own, classes=classes, query_ids=ids)
        for participant, own in zip(parties.participants, scores, strict=True)
    ]


def ask(parties, scores):
    """Return the classes of queries by way of all roles."""
    ids = [f"query {i}" for i in range(np.shape(scores)[1])]
    result = parties.server.combine(encrypt_all(parties, scores, ids))
    return parties.key_holder.decrypt(result, parties.secret_key, ids).tolist()


@pytest.fixture(
    scope="module", params=["plain", pytest.param("fhe", marks=needs_concrete)], ids=str
)
def parties(request):
    return make_parties(2, 3, request.param)


@pytest.fixture(scope="module")
def plain():
    return make_parties(3, 4, "plain")

"""Signed bytes that go from one party to another: a header, parts, and a signature.

The encryption library receives a message only after checks of its signature, kind, sender's role
and session. The signature shows who sent the bytes, not that their content is right.
"""

import json
import struct
from typing import NamedTuple

from skdp.secure._identity import LONGEST_NAME, SIGNATURE_BYTES
from skdp.utils._files import OtherVersionError, to_json

_MAGIC = b"skdp-sec"
# Magic, version, and the lengths of the header and of all parts.
_START = struct.Struct("<8sIIQ")
# Largest header in bytes: it is parsed before its signature can be checked, and
# parsed text takes up to thirty times its size. It has room for 50,000 queries with ids of 64
# characters.
_MOST_HEADER = 2**22
# Text fields of a header.
_TEXTS = ("kind", "sender", "session", "key_id")
# Which role may send what.
SENDERS = {
    "secret key": "key holder",
    "evaluation keys": "key holder",
    "scores": "participant",
    "classes": "server",
    # Of a secure sum.
    "key": "owner",
    "answer": "owner",
}


class Message(NamedTuple):
    """The checked content of a message."""

    sender: str
    parts: list[bytes]
    query_ids: list[str]
    key_id: str


def write_message(kind, session, identity, parts, query_ids=(), *, key_id):
    """Return signed bytes with parts of a kind, for a session and its queries.

    The ``key_id`` identifies the keys in the parts or behind them.
    """
    # Keys that were made twice for one session do not fit together, and decryption would give
    # arbitrary classes.
    header = {
        "kind": kind,
        "sender": identity.name,
        "session": session.digest,
        "key_id": key_id,
        "query_ids": list(query_ids),
        "lengths": [len(part) for part in parts],
    }
    text = to_json(header)
    if len(text) > _MOST_HEADER:
        raise ValueError(
            f"A message of {len(header['query_ids'])} queries has a header of {len(text)} bytes, "
            f"more than {_MOST_HEADER}. Ask fewer queries at a time, or use shorter "
            "'query_ids'."
        )
    start = _START.pack(_MAGIC, 1, len(text), sum(header["lengths"]))
    signed = b"".join([start, text, *parts])
    return signed + identity.sign(signed)


def read_message(message, kind, session, key_id=None):
    """Return the checked content of a message.

    ``key_id`` identifies the keys that it must belong to, None if it contains the keys.
    """
    header, start = _header(message, kind)
    if header["kind"] != kind:
        raise ValueError(
            f"The message holds {header['kind']!r}, not {kind!r}. Pass each file to the role that "
            "it is for."
        )
    if header["session"] != session.digest:
        raise ValueError(
            f"The message with {kind!r} belongs to another session "
            f"({header['session'][:12]}..., not {session.digest[:12]}...). Use files that were "
            "made with this session's file."
        )
    senders = {party.name: party for party in session.parties(SENDERS[kind])}
    sender = senders.get(header["sender"])
    if sender is None:
        raise ValueError(
            f"The message with {kind!r} was sent by {header['sender']!r}, who is no "
            f"{SENDERS[kind]} of this session. Only {', '.join(map(repr, senders))} may send it."
        )
    if not sender.verifies(message[-SIGNATURE_BYTES:], message[:-SIGNATURE_BYTES]):
        raise ValueError(
            f"The signature of the message with {kind!r} is not from {sender.name!r}: it was "
            f"altered, or signed by another party. Ask {sender.name!r} for a new copy."
        )
    if key_id not in (None, header["key_id"]):
        raise ValueError(
            f"The message with {kind!r} of {sender.name!r} was made with other keys of this "
            "session than the other messages. Use the keys that all parties have used."
        )
    parts = []
    for length in header["lengths"]:
        parts.append(message[start : start + length])
        start += length
    return Message(sender.name, parts, header["query_ids"], header["key_id"])


def split_messages(content):
    """Yield kind and bytes of each of several consecutive messages.

    The kind is what a message states; :func:`read_message` checks it.
    """
    if not isinstance(content, bytes):
        _header(content, "an answer")
    start = 0
    while start < len(content):
        end = len(content)
        if end - start >= _START.size:
            _, _, n_header, n_parts = _START.unpack_from(content, start)
            end = start + _START.size + n_header + n_parts + SIGNATURE_BYTES
        message = content[start:end]
        header, _ = _header(message, "an answer")
        yield header["kind"], message
        start = end


def _header(message, kind):
    """Return the parsed header, and where the parts start."""
    foreign = (
        f"The message that should hold {kind!r} is not intact: it is truncated, "
        "altered, or was written by another program. Ask its sender for a new copy."
    )
    ours = isinstance(message, bytes) and message.startswith(_MAGIC)
    if not ours or len(message) < _START.size + SIGNATURE_BYTES:
        raise ValueError(foreign)
    _, version, n_header, n_parts = _START.unpack_from(message)
    if version != 1:
        raise OtherVersionError("The message", version, 1)
    start = _START.size + n_header
    if n_header > _MOST_HEADER or len(message) != start + n_parts + SIGNATURE_BYTES:
        raise ValueError(foreign)
    try:
        header = json.loads(message[_START.size : start])
        sound = _is_sound(header, n_parts)
    except (ValueError, RecursionError) as error:
        raise ValueError(foreign) from error
    if not sound:
        raise ValueError(foreign)
    return header, start


def _is_sound(header, n_parts):
    """Return whether a header has all required fields, in the required types."""
    if not isinstance(header, dict) or set(header) != {*_TEXTS, "query_ids", "lengths"}:
        return False
    ids, lengths = header["query_ids"], header["lengths"]
    if not isinstance(ids, list) or not isinstance(lengths, list):
        return False
    texts = [header[name] for name in _TEXTS]
    # Errors quote these before their signature is checked: nothing long, nothing for terminals.
    quotable = all(
        isinstance(t, str) and len(t) <= LONGEST_NAME and t.isprintable() for t in texts
    )
    named = all(isinstance(query_id, str) for query_id in ids)
    sized = all(type(length) is int and length >= 0 for length in lengths)
    return quotable and named and sized and sum(lengths) == n_parts

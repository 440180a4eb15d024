"""The checked messages of the owners of a secure sum: keys, and answers in rounds."""

import hashlib
import struct
from typing import Any

import numpy as np

from skdp.federated._masks import KEY_BYTES
from skdp.secure import read_message, split_messages

# Kinds of the messages.
KEY, ANSWER = "key", "answer"
# A history of sums: magic, the number of rounds, their sizes, and all sums.
_MAGIC, _WORD = b"skdp-history", struct.Struct("<Q")
# Most rounds of a history: those of sums, steps of gradients, and the table of scores.
_MOST_ROUNDS = 2**10
_NOT_INTACT = "A request is not intact: it is truncated, or altered. Ask for it again."


class Transcript:
    """Keys of the owners who take part, and the sums of their answers in each finished round.

    Parameters
    ----------
    plan : SecureSum

    contents : iterable of bytes
        Contents of one or more messages, in any order: keys, and all answers, or the history of
        sums in a request and the answers that follow it.

    Attributes
    ----------
    owners : list of str
        Names of the owners who take part.

    public_keys : dict of str to bytes
        Keys by owner.

    totals : list of ndarray of int64
        Sums of the answers of each finished round, in which the masks have canceled.

    answers : dict of str to ndarray of uint64
        Answers to the last finished round, by owner.

    next_round : Round or None
        What the owners answer next; None after the last round.

    context : str
        Digest of the plan, of all keys and of all sums.

    Raises
    ------
    ValueError
        If a message is altered, not from an owner in the plan, or made for other messages; or if
        messages are missing, whose owners it names.
    """

    # Each answer is signed with the context of what its owner has seen. So the answers to the last
    # round confirm all earlier sums: whoever passes messages on can only leave some out. Leaving
    # out or adding a message for one owner changes its context, and then its masks do not cancel.

    def __init__(self, plan: Any, contents: Any) -> None:
        given: dict[str, list[bytes]] = {KEY: [], ANSWER: []}
        history: list[np.ndarray] = []
        for content in contents:
            history, content = _split_history(content, history)
            for kind, message in split_messages(content):
                if kind not in given:
                    raise ValueError(
                        f"A message with {kind!r} does not belong to a secure sum. Leave it out."
                    )
                given[kind].append(message)
        joined = _by_owner(plan, KEY, given[KEY])
        absent = [repr(owner.name) for owner in plan.owners if owner.name not in joined]
        if len(joined) < plan.least_owners:
            raise ValueError(
                f"Only {len(joined)} of at least {plan.least_owners} owners have joined. Missing: "
                f"{', '.join(absent)}. Wait for their keys, or make a plan for fewer owners."
            )
        self.owners = sorted(joined)
        self.public_keys = {name: _part(joined, name, KEY, KEY_BYTES) for name in self.owners}
        self.sums = plan.sums(len(self.owners))
        self.totals: list[np.ndarray] = []
        self.answers: dict[str, np.ndarray] = {}
        self._keys = [joined[name][0] for name in self.owners]
        self._messages: list[bytes] = []
        self._plan = plan
        digest = hashlib.sha256(bytes.fromhex(plan.digest))
        for key in self._keys:
            digest.update(hashlib.sha256(key).digest())
        self.context = digest.hexdigest()
        try:
            for total in history:
                self._add(total)
            self.next_round = self.sums.next_round(self.totals)
        except (ValueError, RuntimeError, IndexError) as error:
            raise ValueError(_NOT_INTACT) from error
        self._add_rounds(given[ANSWER])
        if history and not self._messages:
            raise ValueError(
                "A request without the answers to its last round is not confirmed by the owners. "
                "Ask for it again."
            )

    @property
    def content(self) -> bytes:
        """The history of all rounds but the last, all keys, and the answers to the last round."""
        return _history(self.totals[:-1]) + b"".join(self._keys + self._messages)

    def message_of(self, name: str) -> bytes | None:
        """Return the answer of an owner to the last round, or its key; None of others."""
        place = self.owners.index(name) if name in self.owners else None
        return None if place is None else (self._messages or self._keys)[place]

    def _add_rounds(self, messages):
        """Add the rounds that messages answer, from all who take part."""
        by_context: dict = {}
        for content in dict.fromkeys(messages):
            context = read_message(content, ANSWER, self._plan).key_id
            by_context.setdefault(context, []).append(content)
        while self.next_round is not None and self.context in by_context:
            received = _by_owner(self._plan, ANSWER, by_context.pop(self.context))
            if set(self.owners) - set(received):
                self._refuse_others(by_context)
            self._add_round(received)
        self._refuse_others(by_context)

    def _refuse_others(self, by_context):
        """Raise ValueError if there are answers of owners who have seen other messages."""
        for content, *_ in by_context.values():
            read_message(content, ANSWER, self._plan, self.context)
            raise ValueError("The answers to all rounds are there already. Leave out others.")

    def _add_round(self, received):
        """Add the answers to a round, from all who take part."""
        number = len(self.totals) + 1
        others = [repr(name) for name in received if name not in self.owners]
        if others:
            raise ValueError(
                f"There is an answer of {', '.join(others)} without a key. Leave it out."
            )
        missing = [repr(name) for name in self.owners if name not in received]
        if missing:
            raise ValueError(
                f"The answer of {', '.join(missing)} to round {number} is missing. Wait for it, "
                "or start a new secure sum without these owners, for which all others are charged "
                "again."
            )
        n_bytes = 8 * self.next_round.size
        parts = {name: _part(received, name, ANSWER, n_bytes) for name in self.owners}
        self.answers = {name: np.frombuffer(part, "<u8") for name, part in parts.items()}
        total = np.sum(list(self.answers.values()), axis=0, dtype=np.uint64)
        self._add(total.view(np.int64))
        self._messages = [received[name][0] for name in self.owners]
        self.next_round = self.sums.next_round(self.totals)

    def _add(self, total):
        """Add the sum of a round, also to the context."""
        self.totals.append(total)
        digest = hashlib.sha256(bytes.fromhex(self.context))
        digest.update(hashlib.sha256(total.astype("<i8").tobytes()).digest())
        digest.update(self.sums.derived(self.totals))
        self.context = digest.hexdigest()


def _history(totals):
    """Return the bytes of the sums of finished rounds; nothing without any."""
    if not totals:
        return b""
    words = [len(totals), *map(len, totals)]
    sums = [total.astype("<i8").tobytes() for total in totals]
    return b"".join([_MAGIC, *map(_WORD.pack, words), *sums])


def _split_history(content, history):
    """Return the history at the start of a content, or the one before, and the rest."""
    if not isinstance(content, bytes) or not content.startswith(_MAGIC):
        return history, content
    try:
        (n,) = _WORD.unpack_from(content, len(_MAGIC))
        sizes = struct.unpack_from(f"<{min(n, _MOST_ROUNDS)}Q", content, len(_MAGIC) + 8)
        start, found = len(_MAGIC) + 8 * (1 + len(sizes)), []
        for size in sizes:
            found.append(np.frombuffer(content, "<i8", size, start).astype(np.int64))
            start += 8 * size
    except (struct.error, ValueError, OverflowError) as error:
        raise ValueError(_NOT_INTACT) from error
    if history and not _history(history) == _history(found):
        raise ValueError("Two requests have different histories. Use the last one alone.")
    return found, content[start:]


def _by_owner(plan, kind, messages):
    """Return the bytes and the parts of checked messages by their owners."""
    received: dict = {}
    for content in messages:
        sender, parts, _, _ = read_message(content, kind, plan)
        if received.setdefault(sender, (content, parts))[0] != content:
            raise ValueError(
                f"There are two different messages with {kind!r} of {sender!r}. Ask this owner "
                "which one is right, and leave the other out."
            )
    return received


def _part(received, name, kind, n_bytes):
    """Return the only part of an owner's message."""
    _, parts = received[name]
    if [len(part) for part in parts] != [n_bytes]:
        raise ValueError(
            f"The message with {kind!r} of {name!r} does not have {n_bytes} bytes. Use the same "
            "version of skdp everywhere."
        )
    return parts[0]

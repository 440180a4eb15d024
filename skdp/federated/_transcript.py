"""The checked messages of the owners of a secure sum: keys, and answers in rounds."""

import hashlib
from typing import Any

import numpy as np

from skdp.federated._masks import KEY_BYTES
from skdp.secure import read_message, split_messages

# Kinds of the messages: keys, and the answers of each round.
KEY = "key"
ANSWERS = ("first answer", "second answer")


class Transcript:
    """Messages of the owners who take part: their keys, and the answers of each finished round.

    Parameters
    ----------
    plan : SecureSum

    contents : iterable of bytes
        Contents of one or more messages, in any order.

    Attributes
    ----------
    owners : list of str
        Names of the owners who take part.

    public_keys : dict of str to bytes
        Keys by owner.

    answers : list of dict of str to ndarray of uint64
        Answers by owner, for each finished round.

    context : str
        Digest of the plan and of all messages.

    Raises
    ------
    ValueError
        If a message is altered, not from an owner in the plan, or made for other messages; or if
        messages are missing, whose owners it names.
    """

    # An owner who sees all messages can check all of them: whoever passes them on can only leave
    # some out. Leaving out or adding a message for one owner only changes its context, and then
    # its masks do not cancel.

    def __init__(self, plan: Any, contents: Any) -> None:
        given: dict[str, list[bytes]] = {kind: [] for kind in (KEY, *ANSWERS)}
        for content in contents:
            for kind, message in split_messages(content):
                if kind not in given:
                    raise ValueError(
                        f"A message with {kind!r} does not belong to a secure sum. Leave it out."
                    )
                given[kind].append(message)
        joined = _by_owner(plan, KEY, given.pop(KEY))
        absent = [repr(owner.name) for owner in plan.owners if owner.name not in joined]
        if len(joined) < plan.least_owners:
            raise ValueError(
                f"Only {len(joined)} of at least {plan.least_owners} owners have joined. Missing: "
                f"{', '.join(absent)}. Wait for their keys, or make a plan for fewer owners."
            )
        self.owners = sorted(joined)
        self.public_keys = {name: _part(joined, name, KEY, KEY_BYTES) for name in self.owners}
        self.sums = plan.sums(len(self.owners))
        self.answers: list[dict[str, np.ndarray]] = []
        self._messages: list[bytes] = []
        self._plan, self.context = plan, plan.digest
        self._add(joined)
        for number, kind in enumerate(ANSWERS):
            if any(given.values()):
                self._add_round(kind, given.pop(kind), 8 * self.sums.size(number))

    @property
    def content(self) -> bytes:
        """All messages, one after the other."""
        return b"".join(self._messages)

    @property
    def totals(self) -> list[np.ndarray]:
        """Sums of the answers of each finished round, in which the masks have canceled; int64."""
        stacked = [np.stack(list(answers.values())) for answers in self.answers]
        return [answers.sum(axis=0, dtype=np.uint64).view(np.int64) for answers in stacked]

    def message_of(self, name: str, number: int) -> bytes | None:
        """Return the key of an owner (number 0) or its answer to a round from 1, or None."""
        place = self.owners.index(name) if name in self.owners else None
        return None if place is None else self._messages[number * len(self.owners) + place]

    def _add_round(self, kind, messages, n_bytes):
        """Add the answers of a round from all who take part."""
        received = _by_owner(self._plan, kind, messages, self.context)
        others = [repr(name) for name in received if name not in self.owners]
        if others:
            raise ValueError(
                f"There is a {kind} of {', '.join(others)} without a key. Leave it out."
            )
        missing = [repr(name) for name in self.owners if name not in received]
        if missing:
            raise ValueError(
                f"The {kind} of {', '.join(missing)} is missing. Wait for it, or start a new "
                "secure sum without these owners, for which all others are charged again."
            )
        parts = {name: _part(received, name, kind, n_bytes) for name in self.owners}
        self.answers.append({name: np.frombuffer(part, "<u8") for name, part in parts.items()})
        self._add(received)

    def _add(self, received):
        """Add one message of each owner, also to the context."""
        digest = hashlib.sha256(bytes.fromhex(self.context))
        for name in self.owners:
            content, _ = received[name]
            digest.update(hashlib.sha256(content).digest())
            self._messages.append(content)
        digest.update(self.sums.derived(self.totals))
        self.context = digest.hexdigest()


def _by_owner(plan, kind, messages, context=None):
    """Return the bytes and the parts of checked messages by their owners."""
    received: dict = {}
    for content in messages:
        sender, parts, _, _ = read_message(content, kind, plan, context)
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

"""The rounds of a secure sum over a framework: what an owner answers, and a server makes of it.

The server never sends a plan: each owner has a copy of its own, and the digest that it approved.
"""

from collections.abc import Mapping

from skdp.federated._collecting import (
    _LONGEST_REASON,
    _UNUSABLE,
    CollectedReleases,
    _printable,
    _RefusedError,
)
from skdp.federated._owner import answered, loaded
from skdp.federated._secure_sum import SecureSum
from skdp.federated._secure_sum_owner import SecureSumOwner
from skdp.federated._transcript import ANSWERS, KEY, Transcript
from skdp.secure import Identity, read_message
from skdp.source import StatisticsAccumulator

# What the configuration of an owner names besides its loader: four files and the plan's digest.
OWN = ("plan", "digest", "identity", "folder", "ledger")


def secure_answer(request, loader, own, error_path=None):
    """Return the owner's key to an empty request, and its masked answer to another one.

    ``"module:function"`` returns, from the owner's name and the plan, ``(X, y)``, or with
    ``groups``, or an accumulator of the plan.
    """

    def make_message():
        missing = [key for key in OWN if not own[key]]
        if missing:
            raise ValueError(f"The configuration of this owner lacks {', '.join(missing)}.")
        plan = SecureSum.load(own["plan"], own["digest"])
        identity = Identity.load(own["identity"])
        owner = SecureSumOwner(plan, identity, own["folder"], ledger=own["ledger"])
        if not request:
            return owner.join()
        rows = loaded(loader)(identity.name, plan)
        if isinstance(rows, StatisticsAccumulator):
            return owner.answer(request, rows)
        accumulator = plan.accumulator()
        accumulator.add(*rows)
        return owner.answer(request, accumulator)

    return answered("message", make_message, error_path)


def collect_secure_sum(plan, ask):
    """Return the release of a secure sum, and the reasons for refused answers.

    ``ask(nodes, request)`` returns answers by node; ``nodes`` is None for the first, empty request
    to all. Owners without a key are left out, if the plan allows it. If a later answer is missing,
    there is no release, and the reason says whose; to repeated requests, owners send the same.
    """
    refused: dict[str, str] = {}
    names: dict = {}  # of owners, by node
    sent: dict[str, int] = {}
    messages: list[bytes] = []
    nodes, context = None, None
    try:
        for kind in (KEY, *ANSWERS):
            for node, answer in ask(nodes, b"".join(messages)).items():
                try:
                    message = _message(answer)
                    sender = names[node] = read_message(message, kind, plan, context).sender
                except (_RefusedError, ValueError) as error:
                    reason = _printable(error, _LONGEST_REASON)
                except Exception:  # objects of others may raise anything
                    reason = _UNUSABLE
                else:
                    messages.append(message)
                    sent[sender] = sent.get(sender, 0) + len(message)
                    continue
                refused[names.get(node, f"node {node}")] = f"{kind}: {reason}"
            transcript = Transcript(plan, messages)
            messages, context, nodes = [transcript.content], transcript.context, list(names)
            for party in plan.owners:
                if party.name not in sent:
                    refused[party.name] = "left out, as it has sent no key in time"
        return CollectedReleases(plan.combine(messages), sent, refused)
    except ValueError as error:  # which names whose message is missing or wrong
        reason = _printable(error, _LONGEST_REASON)
        return CollectedReleases(None, {}, {**refused, "the secure sum": reason})


def _message(answer):
    """Return the message of an answer, or raise."""
    if answer is None:
        raise _RefusedError("no answer in time")
    if not isinstance(answer, Mapping) or "message" not in answer:
        raise _RefusedError("no message at the owner")
    return answer["message"]

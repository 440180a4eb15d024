"""``skdp sum``: one release of the rows of several owners, with the noise of one, by files."""

import json
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from skdp.commands._arguments import (
    add_commands,
    add_ledger,
    add_loss,
    add_output,
    check_budget,
    checked_output,
    ledger_of,
    read_schema,
    spending_shown,
)
from skdp.commands._check import add_accept, add_labeled_rows, check_features, checked_rows
from skdp.commands._tables import check_output
from skdp.federated import ANSWERS, KEY, SecureSum, SecureSumOwner
from skdp.privacy import PrivacyLedger
from skdp.release import Release, result_lines
from skdp.secure import Identity, PublicIdentity, read_message, split_messages
from skdp.utils._files import write_whole
from skdp.utils._validation import listed

NAME = "sum"
HELP = """Make one release of the rows of several owners with the noise of one, by e-mail.

example:
  skdp sum identity "ward 1" -o ward1.id                      each owner
  skdp sum plan schema.json ward1.pub ward2.pub ward3.pub --epsilon 1 -o plan.json
  skdp sum join plan.json --identity ward1.id --folder ours -o ward1.key.msg    each owner
  skdp sum combine plan.json *.key.msg -o request1.msg
  skdp sum answer plan.json request1.msg rows.csv --label outcome --identity ward1.id \\
      --folder ours --ledger budget.json -o ward1.first.msg   each owner
  skdp sum combine plan.json request1.msg *.first.msg -o request2.msg
  skdp sum answer plan.json request2.msg rows.csv ... -o ward1.second.msg       each owner
  skdp sum combine plan.json request2.msg *.second.msg -o all.skdp

Nobody sees the sums of an owner: each answer is masked, and only the sum of all answers can be
read. Whoever combines needs no secret. The plan may allow that some owners do not join; once the
first request is sent, all of those in it must answer. Tables are checked as by skdp release, and
the ledger is charged with the first answer, for both. Repeated answers are the same and free."""
# Said before the digest of a plan.
_DIGEST = "All owners must read out the same digest, as by phone, before anybody joins:\n  "


def add_arguments(parser):
    """Add the steps, as commands of this one."""
    steps = [
        SimpleNamespace(NAME=name, HELP=about, add_arguments=add, run=run)
        for name, (about, add, run) in _STEPS.items()
    ]
    add_commands(parser, steps, "STEP")


def _add_identity(parser):
    parser.add_argument("name", metavar="NAME", help="of the owner, as all others will see it")
    text = "the private identity (.id); the public one is written beside it (.pub)"
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=text)


def _identity(arguments, note):
    """Write a new identity, and its public part."""
    target = check_output(arguments.output, [".id"], force=True, inputs=[])
    public = target.with_suffix(".pub")
    if target.exists() or public.exists():
        raise ValueError(
            f"{str(target)!r} or {public.name!r} exists. Identities are not replaced."
        )
    identity = Identity.generate(arguments.name)
    identity.save(target)
    _write(public, json.dumps(vars(identity.public)).encode() + b"\n")
    return (
        f"Wrote {str(target)!r}, which is private: whoever has it can sign as {identity.name!r}.\n"
        f"Wrote {str(public)!r}. Send this one to whoever makes the plan."
    )


def _add_plan(parser):
    parser.add_argument(
        "schema", metavar="SCHEMA", help="public schema with classes, or an outcome (.json)"
    )
    text = "public identities of all owners (.pub)"
    parser.add_argument("owners", metavar="PUB", nargs="+", help=text)
    add_loss(parser, "a record, or of a person, of any owner")
    text = "what is protected: a row (default), or a person with all rows"
    parser.add_argument("--unit", choices=("record", "group"), default="record", help=text)
    whole = {"type": int, "metavar": "NUMBER"}
    text = "of owners who may reveal all that they know (default: 1); the noise grows with it"
    parser.add_argument("--colluding", default=1, help=text, **whole)
    text = "of owners who must take part (default: all)"
    parser.add_argument("--least", help=text, **whole)
    text = "state that nobody has rows at two owners; with --unit group"
    parser.add_argument("--disjoint", action="store_true", help=text)
    add_output(parser, "the plan", ".json")


def _plan(arguments, note):
    """Write a plan, and return its digest."""
    target = checked_output(arguments, ".json")
    schema = read_schema(arguments.schema, with_outcome=True)
    owners = [_read_public(path) for path in arguments.owners]
    least = len(owners) if arguments.least is None else arguments.least
    if not 1 <= arguments.colluding < least <= len(owners):
        raise ValueError(
            f"--colluding {arguments.colluding} must be 1 or more, and less than --least {least}, "
            f"which must be at most the number of owners, {len(owners)}. Change one of them."
        )
    plan = SecureSum.create(
        *(schema, owners),
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        privacy_unit=arguments.unit,
        n_colluding=arguments.colluding,
        least_owners=least,
        disjoint=arguments.disjoint,
    )
    _write(target, plan.to_bytes(), arguments)
    return (
        f"Wrote {str(target)!r}: {_described(plan)}\n{_DIGEST}{plan.digest}\n"
        "Send the plan and the schema to all owners, who check their tables by skdp check and "
        "join by skdp sum join."
    )


def _add_agreed(parser):
    parser.add_argument("plan", metavar="PLAN", help="the plan that all have agreed on (.json)")


def _add_secrets(parser):
    text = "the owner's private identity (.id)"
    parser.add_argument("--identity", required=True, metavar="FILE", help=text)
    text = "private folder for this plan alone: what was sent, and a key until the last answer"
    parser.add_argument("--folder", required=True, metavar="FOLDER", help=text)


def _add_join(parser):
    _add_agreed(parser)
    _add_secrets(parser)
    add_output(parser, "the message", ".msg")


def _join(arguments, note):
    """Write the message by which an owner joins."""
    target = checked_output(arguments, ".msg")
    plan = _read_plan(arguments.plan)
    identity = _read_identity(plan, arguments)
    # Nothing is charged, and so the ledger of the rows is of no use yet.
    owner = SecureSumOwner(plan, identity, arguments.folder, ledger=PrivacyLedger())
    with _naming(f"--folder {arguments.folder!r}", " Name a new folder."):
        message = owner.join()
    _write(target, message, arguments)
    return (
        f"Wrote {str(target)!r}, by which {identity.name!r} joins: {_described(plan)}\n"
        f"{_DIGEST}{plan.digest}\nIf all have the same, send {target.name!r} to whoever combines. "
        f"Keep {arguments.folder!r} private, and the identity. Nothing was charged."
    )


def _add_answer(parser):
    _add_agreed(parser)
    text = "the request of whoever combines (.msg)"
    parser.add_argument("request", metavar="REQUEST", help=text)
    add_labeled_rows(parser, "that of the plan")
    add_accept(parser)
    _add_secrets(parser)
    add_ledger(parser, required=True)
    add_output(parser, "the answer", ".msg")


def _answer(arguments, note):
    """Check all that can be checked; charge the ledger; write the masked answer."""
    check_budget(arguments)
    target = checked_output(arguments, ".msg")
    plan = _read_plan(arguments.plan)
    request = Path(arguments.request).read_bytes()
    kind = ANSWERS[ANSWERS[0] in _senders(plan, request, arguments.request)]
    identity = _read_identity(plan, arguments)
    if not Path(arguments.folder).is_dir():
        raise ValueError(f"--folder {arguments.folder!r} is none. Name the one of skdp sum join.")
    accumulator = _sums(plan, arguments, note)
    ledger = ledger_of(arguments)
    owner = SecureSumOwner(plan, identity, arguments.folder, ledger=ledger)
    named = f"{arguments.request!r}, --folder {arguments.folder!r}"
    with spending_shown(ledger, note), _naming(named):
        message = owner.answer(request, accumulator)
    _write(target, message, arguments)
    after = "and wait for the second request" if kind == ANSWERS[0] else "which is the last step"
    return (
        f"Wrote {str(target)!r}: the {kind} of {identity.name!r}, masked.\n"
        f"Send it to whoever combines, {after}. Keep the table, the ledger and "
        f"{arguments.folder!r} private."
    )


def _sums(plan, arguments, note):
    """Return the exact sums of a table that was checked as by skdp release."""
    where = f"the plan {arguments.plan!r}"
    if (arguments.group is None) != (plan.privacy_unit == "record"):
        raise ValueError(
            f"{where} protects {'rows: leave --group out' if arguments.group else 'people'}."
            f"{'' if arguments.group else ' Name the column of their IDs by --group.'}"
        )
    check_features(plan.schema, arguments, where)
    rows = checked_rows(arguments, plan.schema, note, where)
    accumulator = plan.accumulator()
    accumulator.add(*rows)
    return accumulator


def _add_combine(parser):
    _add_agreed(parser)
    text = "keys; or the last request, and all answers to it (.msg)"
    parser.add_argument("messages", metavar="MESSAGE", nargs="+", help=text)
    add_output(parser, "the next request (.msg), or the release", ".skdp")


def _combine(arguments, note):
    """Write the next request, or the release."""
    plan = _read_plan(arguments.plan)
    contents = [Path(path).read_bytes() for path in arguments.messages]
    senders: dict[str, set[str]] = {kind: set() for kind in (KEY, *ANSWERS)}
    for path, content in zip(arguments.messages, contents, strict=True):
        for kind, names in _senders(plan, content, path).items():
            senders[kind] |= names
    target = checked_output(arguments, ".skdp" if senders[ANSWERS[1]] else ".msg")
    if not senders[KEY]:
        raise ValueError("There is no key among the MESSAGEs. Name the last request, too.")
    expected = {owner.name for owner in plan.owners}
    for kind, names in senders.items():
        if names:
            absent = expected - names
            lacking = f"; missing: {_names(absent)}" if absent else ""
            note(f"{kind}: of {len(names)} of {len(expected)} owners{lacking}")
            expected = senders[KEY]
    combined = plan.combine(contents)
    if isinstance(combined, Release):
        combined.save(target, overwrite=arguments.force)
        lines = [f"Wrote {str(target)!r}, the release: {combined!r}.", *result_lines(combined)]
        lines.append(f"It may be published. Read the guarantee: skdp describe {target.name}")
        return "\n".join(lines)
    _write(target, combined, arguments)
    number = "second" if senders[ANSWERS[0]] else "first"
    return (
        f"Wrote {str(target)!r}, the {number} request, not yet a release. Send it to "
        f"{_names(senders[KEY])}, who answer by skdp sum answer. Then combine it with all "
        "their answers."
    )


def _read_public(path):
    """Return the public identity of a file."""
    try:
        return PublicIdentity(**json.loads(Path(path).read_bytes()))
    except (RecursionError, TypeError, ValueError):
        raise ValueError(
            f"{path!r} holds no public identity: it is altered, or another file. Ask its owner "
            "for the file that ends in .pub, which skdp sum identity has written."
        ) from None


@contextmanager
def _naming(what, remedy=""):
    """Let errors name a file, or an argument."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what}: {error}{remedy}") from None


def _read_plan(path):
    """Return the plan of a file."""
    with _naming(repr(path)):
        return SecureSum.load(path)


def _read_identity(plan, arguments):
    """Return the identity of an owner of the plan."""
    identity = Identity.load(arguments.identity)
    if identity.public not in plan.owners:
        raise ValueError(
            f"--identity {arguments.identity!r} is of {identity.name!r}, who with this key is no "
            f"owner of {arguments.plan!r}. Ask for a plan that is made of the file "
            "that skdp sum identity wrote beside it."
        )
    return identity


def _senders(plan, content, path):
    """Return the senders of a file's messages by kind, each checked; errors name the file."""
    senders: dict[str, set[str]] = {}
    with _naming(repr(path)):
        for kind, message in split_messages(content):
            if kind not in (KEY, *ANSWERS):
                raise ValueError(f"A message with {kind!r} belongs to no secure sum.")
            senders.setdefault(kind, set()).add(read_message(message, kind, plan).sender)
        if not senders:
            raise ValueError("The file is empty. Ask its sender for a new copy.")
    return senders


def _described(plan):
    """Return what an owner agrees to, in a line."""
    of = "record" if plan.privacy_unit == "record" else "person"
    return (
        f"epsilon {plan.epsilon:g} and delta {plan.delta:g} for each {of}; owners "
        f"{_names([owner.name for owner in plan.owners])}, at least {plan.least_owners} of them, "
        f"of whom {plan.n_colluding} may collude."
    )


def _write(target, content, arguments=None):
    """Write a file that may be sent."""
    with write_whole(target, overwrite=getattr(arguments, "force", False)) as file:
        file.write(content)


def _names(names):
    return listed(sorted(names), shown=len(names))


# What each step does, its arguments, and its function.
_STEPS = {
    "identity": ("Make an owner's identity, which signs its messages.", _add_identity, _identity),
    "plan": ("Make the plan, which owners compare by its digest.", _add_plan, _plan),
    "join": ("Agree to a plan, as an owner; no row is read.", _add_join, _join),
    "answer": ("Answer a request, as an owner, by masked noisy sums.", _add_answer, _answer),
    "combine": ("Combine messages into the next request, or the release.", _add_combine, _combine),
}

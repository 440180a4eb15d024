"""One round over Flower: the apps that a Flower project refers to (extra ``flower``).

The project is a folder with this ``pyproject.toml`` and no code::

    [project]
    name = "hospitals"
    version = "1.0"

    [tool.flwr.app]
    publisher = "consortium"

    [tool.flwr.app.components]
    serverapp = "skdp.federated.flower:server"
    clientapp = "skdp.federated.flower:client"

    [tool.flwr.app.config]
    n-owners = 4
    release-path = "merged.skdp"

Further keys of the server: ``report-path``; ``schema``, the path of a schema; ``max-rows``, see
:func:`~skdp.federated.collect_answers`; ``start-timeout``, seconds to wait for the given number of
owners; and ``timeout``, seconds to wait for their answers. ``disjoint = true`` claims that nobody
is in two sources. The answer of an owner is configured by its owner: the node configuration of its
SuperNode has ``owner``, its name, ``loader``, the function that loads its source and rows, and
``path``, the file of its release, and may have ``error-path``, see
:func:`~skdp.federated.owner_answer`.

**A secure sum** instead of merged releases (:class:`~skdp.federated.SecureSum`): with
``secure-sum``, the path of a plan, the server asks the plan's owners for keys and twice for
answers. It needs ``release-path`` and takes ``report-path`` and both timeouts, that of answers for
each request. Nothing is answered for a plan that its owner has not approved: the node
configuration has ``plan``, the owner's copy, and ``digest``, which all owners have compared, and
``identity``, ``folder`` and ``ledger`` of :class:`~skdp.federated.SecureSumOwner`. The function
``loader`` gets the owner's name and the plan, and returns ``(X, y)``, or with ``groups``, or an
accumulator of the plan.
"""

import time
from logging import INFO
from typing import Any

from skdp.federated._collecting import collect_answers, true_or_false
from skdp.federated._owner import loaded_answer
from skdp.federated._secure_rounds import OWN, collect_secure_sum, secure_answer
from skdp.federated._secure_sum import SecureSum
from skdp.tabular import as_schema

try:
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.common import log
    from flwr.serverapp import ServerApp
except ImportError as _error:
    raise ImportError(
        "skdp.federated.flower needs Flower, which is not installed here. Install it with pip "
        "install 'skdp[flower]'; skdp.federated.owner_answer and collect_answers work without."
    ) from _error

__all__ = ["client", "server"]

# Key of the record in messages.
_KEY = "skdp"
# Kind of the messages of a secure sum.
_SUM = "train.secure_sum"
# Seconds between two queries of the connected nodes.
_PAUSE = 1.0

client: Any = ClientApp()
server: Any = ServerApp()


@client.query()
def say_name(message: Any, context: Any) -> Any:
    """Answer with the owner's name, so that the server can report missing answers."""
    name = {"owner": str(context.node_config.get("owner", ""))}
    return Message(RecordDict({_KEY: ConfigRecord(name)}), reply_to=message)


@client.train()
def answer(message: Any, context: Any) -> Any:
    """Answer with the owner's release, or that there is none; see :func:`owner_answer`."""
    config = context.node_config
    paths = {name: config.get(name.replace("_", "-")) for name in ("path", "error_path")}
    content = loaded_answer(str(config.get("loader", "")), str(config.get("owner", "")), **paths)
    return Message(RecordDict({_KEY: ConfigRecord(content)}), reply_to=message)


@client.train("secure_sum")
def answer_sum(message: Any, context: Any) -> Any:
    """Answer with the owner's next message of a secure sum, or that there is none."""
    config = context.node_config
    own, request = {key: config.get(key) for key in OWN}, message.content[_KEY]["request"]
    content = secure_answer(request, str(config.get("loader", "")), own, config.get("error-path"))
    return Message(RecordDict({_KEY: ConfigRecord(content)}), reply_to=message)


@server.main()
def collect(grid: Any, context: Any) -> None:
    """Ask every owner once and merge what can be merged, or make a secure sum; write it."""
    config = context.run_config
    path, collected = config["release-path"], _collected(grid, config)
    log(INFO, "%s", collected)
    collected.save(path, config.get("report-path") or None)


def _collected(grid, config):
    """Return the releases of all owners, or their secure sum."""
    start, timeout = float(config.get("start-timeout", 60)), float(config.get("timeout", 600))
    if config.get("secure-sum"):
        plan = SecureSum.load(config["secure-sum"])

        def ask(nodes, request):
            nodes = _nodes(grid, len(plan.owners), start) if nodes is None else nodes
            return _ask(grid, nodes, _SUM, timeout, {"request": request})

        return collect_secure_sum(plan, ask)
    # Before any owner is asked, so that no invalid key loses the round.
    schema, max_rows = config.get("schema"), config.get("max-rows")
    settings = {
        "disjoint": true_or_false("disjoint", config.get("disjoint", False)),
        "schema": as_schema(schema) if schema else None,
        "max_rows": max_rows or None,
    }
    collect_answers({}, **settings)
    n_owners = int(config["n-owners"])
    nodes = _nodes(grid, n_owners, start)
    absent = [f"owner {k + 1}, who never came" for k in range(len(nodes), n_owners)]
    names = _names(nodes, _ask(grid, nodes, "query", timeout), absent)
    replies = _ask(grid, nodes, "train", timeout)
    answers = {names[node]: replies.get(node) for node in nodes} | dict.fromkeys(absent)
    return collect_answers(answers, **settings)


def _nodes(grid, n_owners, timeout):
    """Wait for the given number of nodes; after the timeout, continue with those connected."""
    end = time.monotonic() + timeout
    while len(nodes := list(grid.get_node_ids())) < n_owners and time.monotonic() < end:
        time.sleep(_PAUSE)
    return nodes


def _ask(grid, nodes, kind, timeout, content=None):
    """Send one message to each node; return the answers in time, errors included."""
    record = RecordDict() if content is None else RecordDict({_KEY: ConfigRecord(content)})
    messages = [
        Message(record, message_type=kind, dst_node_id=node, ttl=timeout) for node in nodes
    ]
    answers = {}
    for reply in grid.send_and_receive(messages, timeout=timeout):
        answers[reply.metadata.src_node_id] = _content(reply)
    return answers


def _content(reply):
    """Return what an owner answered; nothing where it is no record."""
    if reply.has_error():  # whose reason quotes the client's exception, and is not read
        return {"error": "no release"}
    try:
        return dict(reply.content[_KEY])
    except Exception:
        return {}


def _names(nodes, answers, absent):
    """Return the name of each node, with its number where it could be taken for another one."""
    given = {node: answers.get(node, {}).get("owner") for node in nodes}
    names = {
        node: name if isinstance(name, str) and name else f"node {node}"
        for node, name in given.items()
    }
    all_names = [*names.values(), *absent]
    return {
        node: f"{name} (node {node})" if all_names.count(name) > 1 or name.endswith(")") else name
        for node, name in names.items()
    }

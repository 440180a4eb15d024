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

Further keys of the server: ``report-path``; ``schema``, the path of a schema; ``start-timeout``,
seconds to wait for the given number of owners; and ``timeout``, seconds to wait for their answers.
Unless ``disjoint`` is false, it is assumed that nobody is in two sources. The answer of an owner
is configured by its owner: the node configuration of its SuperNode has ``owner``, its name, and
``loader``, the function that loads its source and rows, and may have ``path`` and ``error-path``,
see :func:`~skdp.federated.owner_answer`.
"""

import time
from logging import INFO
from typing import Any

from skdp.federated._collecting import collect_answers
from skdp.federated._owner import loaded_answer

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
    """Answer with the owner's release, or the type of an error; see :func:`owner_answer`."""
    config = context.node_config
    paths = {name: config.get(name.replace("_", "-")) for name in ("path", "error_path")}
    found = loaded_answer(str(config.get("loader", "")), str(config.get("owner", "")), **paths)
    return Message(RecordDict({_KEY: ConfigRecord(found)}), reply_to=message)


@server.main()
def collect(grid: Any, context: Any) -> None:
    """Ask every owner once, merge what can be merged, and write it."""
    config = context.run_config
    nodes = _nodes(grid, int(config["n-owners"]), float(config.get("start-timeout", 60)))
    timeout = float(config.get("timeout", 600))
    names = _names(_ask(grid, nodes, "query", timeout))
    replies = _ask(grid, nodes, "train", timeout)
    answers = {names.get(node, f"node {node}"): replies.get(node) for node in nodes}
    absent = int(config["n-owners"]) - len(nodes)
    answers |= {f"owner {len(nodes) + k + 1}, who never came": None for k in range(absent)}
    collected = collect_answers(
        answers, disjoint=bool(config.get("disjoint", True)), schema=config.get("schema") or None
    )
    log(INFO, "%s", collected)
    collected.save(config["release-path"], config.get("report-path") or None)


def _nodes(grid, n_owners, timeout):
    """Wait for the given number of nodes; after the timeout, continue with those connected."""
    end = time.monotonic() + timeout
    while len(nodes := list(grid.get_node_ids())) < n_owners and time.monotonic() < end:
        time.sleep(_PAUSE)
    return nodes


def _ask(grid, nodes, kind, timeout):
    """Send one message to each node; return the answers in time, errors included."""
    messages = [
        Message(RecordDict(), message_type=kind, dst_node_id=node, ttl=timeout) for node in nodes
    ]
    answers = {}
    for reply in grid.send_and_receive(messages, timeout=timeout):
        # The reason given by Flower quotes the client's exception, and is not read.
        found = {"error": "error"} if reply.has_error() else dict(reply.content[_KEY])
        answers[reply.metadata.src_node_id] = found
    return answers


def _names(answers):
    """Return the name of each node, with its number if another one has the same name."""
    given = {node: answer.get("owner") for node, answer in answers.items() if answer.get("owner")}
    several = [name for name in given.values() if list(given.values()).count(name) > 1]
    return {n: f"{name} (node {n})" if name in several else name for n, name in given.items()}

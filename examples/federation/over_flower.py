"""One round over Flower 1.41: the apps that a Flower project refers to.

Copy this file to where Python finds it at the server and at every owner. The project that the
server runs is a folder with this ``pyproject.toml`` and no code::

    [project]
    name = "hospitals"
    version = "1.0.0"

    [tool.flwr.app]
    publisher = "consortium"

    [tool.flwr.app.components]
    serverapp = "over_flower:server"
    clientapp = "over_flower:client"

    [tool.flwr.app.config]
    n-owners = 4
    release-path = "merged.skdp"

Further keys of the server: ``report-path``; ``schema``, the path of a schema; ``max-rows``, see
``collect_answers``; ``start-timeout``, seconds to wait for the given number of owners; and
``timeout``, seconds to wait for their answers. ``disjoint = true`` claims that nobody is in two
sources. The answer of an owner is configured by its owner: the node configuration of its SuperNode
has ``owner``, its name, ``loader``, the function "module:function" that makes its release from
this name, and ``path``, the file of its release; it may have ``error-path``, see ``owner_answer``.

The server, each owner, and whoever starts the round run one command each::

    flower-superlink --ssl-ca-certfile ca.crt --ssl-certfile server.pem \\
        --ssl-keyfile server.key --host 0.0.0.0 --disable-runtime-dependency-installation
    flower-supernode --root-certificates ca.crt --superlink server.example.org:8000 \\
        --node-config 'owner="north" loader="hospital:load" path="/private/own.skdp"'
    flwr run hospitals consortium --stream

``flwr run`` reads the address and ``root-certificates`` of ``consortium`` from ``config.toml`` in
``FLWR_HOME``. TLS proves who the server is; ``--enable-supernode-auth`` proves who an owner is.

There is no secure sum over Flower, which starts a process for each message: an owner lives in one.
"""

import time
from importlib import import_module
from logging import INFO

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common import log
from flwr.serverapp import ServerApp

from skdp.federated import collect_answers, owner_answer

# Key of the record in messages.
KEY = "skdp"
# Seconds between two queries of the connected nodes.
PAUSE = 1.0

client = ClientApp()
server = ServerApp()


@client.query()
def say_name(message, context):
    """Answer with the owner's name, so that the server can report missing answers."""
    name = {"owner": str(context.node_config.get("owner", ""))}
    return Message(RecordDict({KEY: ConfigRecord(name)}), reply_to=message)


@client.train()
def answer(message, context):
    """Answer with the owner's release, or that there is none."""
    config = context.node_config

    def make_release():
        module, _, function = config["loader"].partition(":")
        return getattr(import_module(module), function)(config["owner"])

    paths = {"path": config.get("path"), "error_path": config.get("error-path")}
    content = owner_answer(make_release, **paths)
    return Message(RecordDict({KEY: ConfigRecord(content)}), reply_to=message)


@server.main()
def collect(grid, context):
    """Ask every owner once, merge what can be merged, and write it."""
    config = context.run_config
    start, timeout = float(config.get("start-timeout", 60)), float(config.get("timeout", 600))
    settings = {
        "disjoint": config.get("disjoint", False),
        "schema": config.get("schema") or None,
        "max_rows": config.get("max-rows") or None,
    }
    collect_answers({}, **settings)  # before any owner is asked: no invalid key loses the round
    n_owners = int(config["n-owners"])
    nodes = connected(grid, n_owners, start)
    absent = [f"owner {k + 1}, who never came" for k in range(len(nodes), n_owners)]
    names = names_of(nodes, ask(grid, nodes, "query", timeout), absent)
    replies = ask(grid, nodes, "train", timeout)
    answers = {names[node]: replies.get(node) for node in nodes} | dict.fromkeys(absent)
    collected = collect_answers(answers, **settings)
    log(INFO, "%s", collected)
    collected.save(config["release-path"], config.get("report-path") or None)


def connected(grid, n_owners, timeout):
    """Wait for the given number of nodes; after the timeout, continue with those connected."""
    end = time.monotonic() + timeout
    while len(nodes := list(grid.get_node_ids())) < n_owners and time.monotonic() < end:
        time.sleep(PAUSE)
    return nodes


def ask(grid, nodes, kind, timeout):
    """Send one message to each node; return the answers in time, errors included."""
    messages = [
        Message(RecordDict(), message_type=kind, dst_node_id=node, ttl=timeout) for node in nodes
    ]
    replies = grid.send_and_receive(messages, timeout=timeout)
    return {reply.metadata.src_node_id: content_of(reply) for reply in replies}


def content_of(reply):
    """Return what an owner answered; nothing where it is no record."""
    if reply.has_error():  # whose reason quotes the client's exception, and is not read
        return {"error": "no release"}
    try:
        return dict(reply.content[KEY])
    except Exception:
        return {}


def names_of(nodes, answers, absent):
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

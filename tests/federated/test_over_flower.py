"""The example over Flower: its apps by messages of Flower's own kinds, and in processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from skdp import Release

pytest.importorskip("flwr", reason="Flower is not installed; nox -s flower runs this")

from flwr.app import Context, Error, Message, RecordDict
from flwr.app.metadata import Metadata
from flwr.supercore.task_identity import TaskIdentity

from .conftest import EXAMPLE, SECRET, load

pytestmark = pytest.mark.filterwarnings("ignore:.*release may", "ignore:There are few rows")


@pytest.fixture
def flower(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.setitem(sys.modules, "hospital_of_a_test", SimpleNamespace(load=load))
    for name in ("_run_id", "_node_id", "_task_id"):  # as Flower's own process of an app does
        monkeypatch.setattr(TaskIdentity, name, 1)
    return import_module("over_flower")


def message(kind, node):
    metadata = Metadata(1, f"m{node}{kind}", 0, node, "", "", 0.0, 60.0, kind)
    return Message(RecordDict(), metadata=metadata)


def context(config, run_config=None):
    return Context(1, 0, config, RecordDict(), run_config or {})


class Grid:
    """Nodes that answer by the client app, some of them not, or with an error of Flower's."""

    def __init__(self, client, owners, folder, silent=(), broken=()):
        self.client, self.owners, self.folder = client, owners, folder
        self.silent, self.broken, self.asked = silent, broken, 0

    def get_node_ids(self):
        return list(self.owners)

    def send_and_receive(self, messages, *, timeout):
        for sent in messages:
            self.asked += 1
            node, kind = sent.metadata.dst_node_id, sent.metadata.message_type
            asked = message(kind, node)
            if node in self.silent and kind == "train":
                continue
            if node in self.broken and kind == "train":
                yield Message(Error(2, SECRET), reply_to=asked)
                continue
            config = {"owner": self.owners[node], "loader": "hospital_of_a_test:load"}
            config["path"] = str(self.folder / f"{node}.skdp")
            yield self.client(asked, context(config))


@pytest.fixture
def run(flower, tmp_path):
    """Return the report of a round."""

    def reported(owners, n_owners=None, silent=(), broken=(), **settings):
        grid = Grid(flower.client, owners, tmp_path, silent, broken)
        config = {"n-owners": n_owners or len(owners), "start-timeout": 0.0, "timeout": 5.0}
        config |= {"release-path": str(tmp_path / "merged.skdp")}
        config |= {"report-path": str(tmp_path / "report.json"), **settings}
        try:
            flower.server(grid, context({}, config))
        except Exception:
            assert grid.asked == 0  # no owner is asked for a round that is lost
            raise
        return json.loads((tmp_path / "report.json").read_text())

    return reported


@pytest.mark.parametrize("loader", ["", "hospital_of_a_test", "hospital_of_a_test:none", "no:no"])
def test_a_wrong_loader_is_an_answer_too(flower, loader, tmp_path):
    config = {"owner": "north", "loader": loader, "path": str(tmp_path / "own.skdp")}
    answer = flower.client(message("train", 3), context(config)).content["skdp"]
    assert dict(answer) == {"error": "no release"}


def test_one_round_merges_who_can_and_names_who_cannot(run, tmp_path, capfd):
    owners = {11: "north", 12: "south", 13: "east", 14: "west", 15: "upper"}
    report = run(owners, 6, silent=[14], broken=[15])
    assert set(report["n_bytes"]) == {"north", "east"}
    assert report["refused"] == {
        "south": "no release at the owner",
        "west": "no answer in time",
        "upper": "no release at the owner",
        "owner 6, who never came": "no answer in time",
    }
    assert Release.load(tmp_path / "merged.skdp").statistics.n_sources == 2
    assert SECRET not in str(report) + "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"disjoint": "no"}, "'disjoint'"),
        ({"max-rows": -1}, "'max_rows'"),
        ({"schema": "nowhere.json"}, "nowhere.json"),
    ],
)
def test_wrong_settings_are_refused_before_anybody_is_asked(run, settings, problem):
    with pytest.raises((ValueError, OSError), match=problem):
        run({11: "north"}, **settings)


PROJECT = """
[project]
name = "hospitals"
version = "1.0.0"
[tool.flwr.app]
publisher = "consortium"
[tool.flwr.app.components]
serverapp = "over_flower:server"
clientapp = "over_flower:client"
[tool.flwr.app.config]
n-owners = 2
release-path = "{folder}/merged.skdp"
report-path = "{folder}/report.json"
start-timeout = 300.0
timeout = 300.0
disjoint = true
"""
LOOPBACK = (
    '[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{}"\ninsecure = true\n'
)


@contextmanager
def running(folder, name, *words):
    """Run a process of Flower, with what it starts, until the end of the block."""
    bin_folder = Path(sys.executable).parent
    reports = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    paths = os.pathsep.join([str(EXAMPLE), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, **reports, "FLWR_HOME": f"{folder}/home", "PYTHONPATH": paths}
    env["PATH"] = f"{bin_folder}{os.pathsep}{env['PATH']}"  # commands start one another
    with open(folder / f"{name}.log", "w") as log:
        process = subprocess.Popen(
            [bin_folder / words[0], *words[1:]],
            **{"env": env, "cwd": folder, "stdout": log, "stderr": log},
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # it has ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def free_ports(n):
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [str(each.getsockname()[1]) for each in sockets]


def test_a_federation_of_processes(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "home").mkdir()
    link, *ports = free_ports(3)
    (tmp_path / "app" / "pyproject.toml").write_text(PROJECT.format(folder=tmp_path))
    (tmp_path / "home" / "config.toml").write_text(LOOPBACK.format(link))
    superlink = ("flower-superlink", "--insecure", "--port", link)
    with ExitStack() as stack:
        stack.enter_context(
            running(tmp_path, "link", *superlink, "--disable-runtime-dependency-installation")
        )
        for owner, port in zip(("Cleveland", "Budapest"), ports, strict=True):
            config = f'owner="{owner}" loader="hospital:release" path="{tmp_path}/{owner}.skdp"'
            node = ("flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{link}")
            words = (*node, "--port", port, "--node-config", config)
            stack.enter_context(running(tmp_path, owner, *words))
        end = time.monotonic() + 120
        while socket.socket().connect_ex(("127.0.0.1", int(link))) and time.monotonic() < end:
            time.sleep(0.5)
        app = running(tmp_path, "run", "flwr", "run", "app", "here", "--stream")
        stack.enter_context(app).wait(600)
    report = json.loads((tmp_path / "report.json").read_text())
    assert (set(report["n_bytes"]), report["refused"]) == ({"Cleveland", "Budapest"}, {})
    own = [Release.load(tmp_path / f"{owner}.skdp") for owner in ("Budapest", "Cleveland")]
    Release.merge(own, disjoint=True).save(tmp_path / "here.skdp")
    assert (tmp_path / "merged.skdp").read_bytes() == (tmp_path / "here.skdp").read_bytes()

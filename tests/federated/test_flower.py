"""The apps for Flower: messages of its own kinds, without a server; the benchmark runs one."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from skdp import DPStatisticsSource, Release

pytest.importorskip("flwr", reason="Flower is not installed; nox -s flower runs this")

from flwr.app import Context, Error, Message, RecordDict
from flwr.app.metadata import Metadata
from flwr.supercore.task_identity import TaskIdentity

from skdp.federated import flower

SECRET = "patient 17 has cholesterol 603"


def load(owner):
    """What the loader of an owner does; of one of them it fails."""
    if owner == "south":
        raise ValueError(SECRET)
    rng = np.random.RandomState(len(owner))
    X, y = rng.rand(200, 2), rng.randint(2, size=200)
    return DPStatisticsSource(classes=[0, 1]), X + y[:, np.newaxis] / 3, y


@pytest.fixture(autouse=True)
def loader(monkeypatch):

    monkeypatch.setitem(sys.modules, "hospital_of_a_test", SimpleNamespace(load=load))
    for name in ("_run_id", "_node_id", "_task_id"):  # as Flower's own process of an app does
        monkeypatch.setattr(TaskIdentity, name, 1)


def message(kind, node):
    metadata = Metadata(1, f"m{node}{kind}", 0, node, "", "", 0.0, 60.0, kind)
    return Message(RecordDict(), metadata=metadata)


def context(config, run_config=None):
    return Context(1, 0, config, RecordDict(), run_config or {})


class Grid:
    """Nodes that answer by the client app, some of them not, or with an error of Flower's."""

    def __init__(self, owners, folder, silent=(), broken=()):
        self.owners, self.folder, self.silent, self.broken = owners, folder, silent, broken

    def get_node_ids(self):
        return list(self.owners)

    def send_and_receive(self, messages, *, timeout):
        self.timeout = timeout
        for sent in messages:
            node, kind = sent.metadata.dst_node_id, sent.metadata.message_type
            asked = message(kind, node)
            if node in self.silent and kind == "train":
                continue
            if node in self.broken and kind == "train":
                yield Message(Error(2, SECRET), reply_to=asked)
                continue
            config = {"owner": self.owners[node], "loader": "hospital_of_a_test:load"}
            config["path"] = str(self.folder / f"{node}.skdp")
            if isinstance(self.owners[node], dict):  # of a secure sum
                asked, config = sent, self.owners[node]
            yield flower.client(asked, context(config))


def run(grid, tmp_path, **settings):
    config = {"n-owners": len(grid.owners), "release-path": str(tmp_path / "merged.skdp")}
    config |= {"report-path": str(tmp_path / "report.json"), "timeout": 5.0, **settings}
    flower.server(grid, context({}, config))
    return json.loads((tmp_path / "report.json").read_text())


@pytest.fixture
def ask():
    def answer(kind, **config):
        return dict(flower.client(message(kind, 3), context(config)).content["skdp"])

    return answer


def test_owner_answers_with_its_name_and_with_a_release(ask, tmp_path):
    assert ask("query", owner="north") == {"owner": "north"}
    path = tmp_path / "own.skdp"
    config = {"owner": "north", "loader": "hospital_of_a_test:load", "path": str(path)}
    assert ask("train", **config) == {"release": path.read_bytes()}
    assert ask("train", **config) == {"release": path.read_bytes()}


@pytest.mark.parametrize("loader", ["", "hospital_of_a_test", "hospital_of_a_test:none", "no:no"])
def test_a_wrong_loader_is_an_answer_too(ask, loader, tmp_path):
    path = str(tmp_path / "own.skdp")
    assert ask("train", owner="north", loader=loader, path=path) == {"error": "no release"}


def test_an_error_stays_with_the_owner(ask, tmp_path):
    kept = tmp_path / "errors.txt"
    config = {"owner": "south", "loader": "hospital_of_a_test:load", "error-path": str(kept)}
    config["path"] = str(tmp_path / "own.skdp")
    assert ask("train", **config) == {"error": "no release"}
    assert SECRET in kept.read_text()


def test_one_round_merges_who_can_and_names_who_cannot(tmp_path, capfd):
    owners = {11: "north", 12: "south", 13: "east", 14: "west", 15: "upper"}
    report = run(Grid(owners, tmp_path, silent=[14], broken=[15]), tmp_path)
    assert set(report["n_bytes"]) == {"north", "east"}
    assert report["refused"] == {
        "south": "no release at the owner",
        "west": "no answer in time",
        "upper": "no release at the owner",
    }
    assert Release.load(tmp_path / "merged.skdp").statistics.n_sources == 2
    assert SECRET not in str(report) + "".join(capfd.readouterr())


def test_owners_who_never_come_are_counted(tmp_path):
    report = run(Grid({11: "north"}, tmp_path), tmp_path, **{"n-owners": 2, "start-timeout": 0.0})
    assert report["refused"] == {"owner 2, who never came": "no answer in time"}


def test_two_of_one_name_have_their_numbers(tmp_path):
    report = run(Grid({11: "north", 12: "north"}, tmp_path), tmp_path)
    assert {*report["n_bytes"], *report["refused"]} == {"north (node 11)", "north (node 12)"}


def test_a_secure_sum_is_carried(consortium, tmp_path):
    loader = "hospital_of_a_sum:load"
    nodes = [{**own, "loader": loader} for own in consortium.configured.values()]
    grid = Grid({11 + k: node for k, node in enumerate(nodes)}, tmp_path)
    report = run(grid, tmp_path, **{"secure-sum": consortium.path})
    assert (set(report["n_bytes"]), report["refused"]) == ({"east", "north", "west"}, {})
    assert Release.load(tmp_path / "merged.skdp").guarantee.epsilon == 4.0

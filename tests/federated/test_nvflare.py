"""The executor and the controller for NVIDIA FLARE, without its server; the benchmark runs one."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from skdp import DPStatisticsSource, Release

pytest.importorskip("nvflare", reason="NVIDIA FLARE is not installed; nox -s nvflare runs this")

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from skdp.federated.nvflare import ReleaseController, ReleaseExecutor

SECRET = "patient 17 has cholesterol 603"


def load(owner):
    if owner == "south":
        raise ValueError(SECRET)
    rng = np.random.RandomState(len(owner))
    X, y = rng.rand(200, 2), rng.randint(2, size=200)
    return DPStatisticsSource(classes=[0, 1]), X + y[:, np.newaxis] / 3, y


@pytest.fixture(autouse=True)
def site(monkeypatch, tmp_path):
    monkeypatch.setenv("SKDP_FEDERATION_PATH", str(tmp_path / "{owner}.skdp"))
    monkeypatch.setitem(sys.modules, "hospital_of_a_test", SimpleNamespace(load=load))
    monkeypatch.setenv("SKDP_FEDERATION_LOADER", "hospital_of_a_test:load")


def answer(owner, task="release"):
    context = SimpleNamespace(get_identity_name=lambda: owner)
    return ReleaseExecutor().execute(task, Shareable(), context, None)


def test_site_answers_with_its_release(tmp_path):
    found = answer("north")
    assert found.get_return_code() == ReturnCode.OK
    assert found["skdp"] == {"release": (tmp_path / "north.skdp").read_bytes()}
    assert answer("north")["skdp"] == found["skdp"]


def test_an_error_stays_with_the_site(monkeypatch, tmp_path):
    monkeypatch.setenv("SKDP_FEDERATION_ERROR_PATH", str(tmp_path / "{owner}.txt"))
    assert answer("south")["skdp"] == {"error": "no release"}
    assert SECRET in (tmp_path / "south.txt").read_text()


def test_other_tasks_are_refused():
    assert answer("north", "weights").get_return_code() == ReturnCode.TASK_UNKNOWN


def test_a_site_without_a_loader_says_so(monkeypatch):
    monkeypatch.delenv("SKDP_FEDERATION_LOADER")
    assert answer("north")["skdp"] == {"error": "no release"}


def test_one_round_merges_who_can_and_names_who_cannot(monkeypatch, tmp_path):
    sites = [SimpleNamespace(name=name) for name in ("north", "east", "south", "west", "upper")]
    path, report_path = tmp_path / "merged.skdp", tmp_path / "report.json"
    controller = ReleaseController(str(path), str(report_path), timeout=7)
    controller.start_controller(
        SimpleNamespace(get_engine=lambda: SimpleNamespace(get_clients=lambda: sites))
    )

    def broadcast(task, context, *, targets, min_responses, abort_signal):
        assert (task.name, task.timeout, targets, min_responses) == ("release", 7, None, 0)
        for site in sites:
            if site.name == "west":
                continue
            failed = make_reply(ReturnCode.EXECUTION_EXCEPTION)
            result = failed if site.name == "upper" else answer(site.name)
            done = SimpleNamespace(client=site, result=result)
            task.result_received_cb(done, context)
            assert done.result is None

    monkeypatch.setattr(controller, "broadcast_and_wait", broadcast)
    monkeypatch.setattr(controller, "log_info", lambda context, text: None)
    controller.control_flow(None, None)
    report = json.loads(report_path.read_text())
    assert set(report["n_bytes"]) == {"north", "east"}
    assert report["refused"] == {
        "south": "no release at the owner",
        "west": "no answer in time",
        "upper": "no release at the owner",
    }
    assert Release.load(path).statistics.n_sources == 2


def test_a_site_answers_in_a_secure_sum(consortium, monkeypatch):
    for key, value in consortium.configured["north"].items():
        monkeypatch.setenv(f"SKDP_FEDERATION_{key.upper()}", value.replace("north", "{owner}"))
    asked = Shareable()
    asked["skdp"] = b""
    context = SimpleNamespace(get_identity_name=lambda: "north")
    reply = ReleaseExecutor().execute("secure_sum", asked, context, None)
    assert reply.get_return_code() == ReturnCode.OK
    assert set(reply["skdp"]) == {"message"}

"""The example over NVIDIA FLARE: its classes without a server, and in the simulator."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from skdp import Release
from skdp.datasets import load_heart_disease
from skdp.federated import SecureSum
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity

pytest.importorskip("nvflare", reason="NVIDIA FLARE is not installed; nox -s nvflare runs this")

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import make_reply
from nvflare.job_config.api import FedJob

from .conftest import EXAMPLE, load

pytestmark = pytest.mark.filterwarnings("ignore:.*release may", "ignore:There are few rows")


@pytest.fixture
def nvflare(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.setitem(sys.modules, "hospital_of_a_test", SimpleNamespace(load=load))
    monkeypatch.setenv("SKDP_FEDERATION_LOADER", "hospital_of_a_test:load")
    monkeypatch.setenv("SKDP_FEDERATION_PATH", str(tmp_path / "{owner}.skdp"))
    return import_module("over_nvflare")


@pytest.fixture
def run(nvflare, tmp_path, monkeypatch):
    """Return the report of a round of sites, of whom some are silent or broken."""

    def reported(names, silent=(), broken=(), **settings):
        sites = {name: SimpleNamespace(name=name) for name in names}
        executors = {name: nvflare.ReleaseExecutor() for name in names}
        paths = (str(tmp_path / "merged.skdp"), str(tmp_path / "report.json"))
        controller = nvflare.ReleaseController(*paths, timeout=7, **settings)
        engine = SimpleNamespace(get_clients=lambda: list(sites.values()))
        controller.start_controller(SimpleNamespace(get_engine=lambda: engine))

        def broadcast(task, context, *, targets, min_responses, abort_signal):
            assert (task.timeout, min_responses) == (7, 0)
            for name in set(targets) - set(silent):
                own = SimpleNamespace(get_identity_name=lambda name=name: name)
                result = make_reply(ReturnCode.EXECUTION_EXCEPTION)
                if name not in broken:
                    result = executors[name].execute(task.name, task.data, own, None)
                done = SimpleNamespace(client=sites[name], result=result)
                task.result_received_cb(done, context)
                assert done.result is None

        monkeypatch.setattr(controller, "broadcast_and_wait", broadcast)
        monkeypatch.setattr(controller, "log_info", lambda context, text: None)
        controller.control_flow(None, None)
        return json.loads((tmp_path / "report.json").read_text())

    return reported


def test_one_round_merges_who_can_and_names_who_cannot(run, tmp_path):
    report = run(["north", "east", "south", "west", "upper"], ["west"], ["upper"])
    assert set(report["n_bytes"]) == {"north", "east"}
    assert report["refused"] == {
        "south": "no release at the owner",
        "west": "no answer in time",
        "upper": "no release at the owner",
    }
    assert Release.load(tmp_path / "merged.skdp").statistics.n_sources == 2


@pytest.mark.parametrize("settings", [{"max_rows": 0}, {"schema": "no.json"}, {"disjoint": "no"}])
def test_wrong_settings_are_refused_before_anybody_is_asked(run, settings):
    with pytest.raises((ValueError, OSError)):
        run(["north"], **settings)


def test_a_job_that_is_exported_keeps_its_arguments_and_has_no_code(nvflare, tmp_path):
    job = FedJob("hospitals", min_clients=1)
    job.set_app_packages(["skdp", "over_nvflare"])
    given = {"timeout": 60, "schema": "a.json", "disjoint": True, "max_rows": 9, "secure_sum": "p"}
    controller = nvflare.ReleaseController("merged.skdp", "report.json", **given)
    job.to_server(controller, id="releases")
    job.to_clients(nvflare.ReleaseExecutor(), tasks=["release"])
    job.export_job(str(tmp_path))
    [path] = tmp_path.rglob("config_fed_server.json")
    args = json.loads(path.read_text())["workflows"][0]["args"]
    assert args == {"release_path": "merged.skdp", "report_path": "report.json", **given}
    assert not list(tmp_path.rglob("*.py"))


OWNERS = ("Budapest", "Cleveland", "Long-Beach")


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """The path of a plan of three hospitals, of whom two suffice, with what each of them has."""
    identities = [Identity.generate(name) for name in OWNERS]
    public = [identity.public for identity in identities]
    schema = load_heart_disease().schema
    plan = SecureSum.create(schema, public, epsilon=4.0, least_owners=2)
    plan.save(tmp_path / "plan.json")
    for identity in identities:
        identity.save(tmp_path / f"{identity.name}.id")
        PrivacyLedger(4.0, 1e-5, path=tmp_path / f"{identity.name}.json")
    own = {
        "LOADER": "hospital:sums",
        "PLAN": str(tmp_path / "plan.json"),
        "DIGEST": plan.digest,
        "IDENTITY": str(tmp_path / "{owner}.id"),
        "LEDGER": str(tmp_path / "{owner}.json"),
        "ERROR_PATH": str(tmp_path / "{owner}.txt"),
    }
    for key, value in own.items():
        monkeypatch.setenv(f"SKDP_FEDERATION_{key}", value)
    return str(tmp_path / "plan.json")


def spent(folder):
    return [len(PrivacyLedger.open(folder / f"{name}.json").entries) for name in OWNERS]


def test_a_secure_sum_leaves_out_who_does_not_join(run, plan, tmp_path):
    report = run(OWNERS, secure_sum=plan, silent=["Cleveland"])
    assert report["refused"] == {"Cleveland": "no message in time"}
    assert set(report["n_bytes"]) == {"Budapest", "Long-Beach"}
    assert "of the 2 owners" in Release.load(tmp_path / "merged.skdp").guarantee.assumes
    assert spent(tmp_path) == [1, 0, 1]


@pytest.mark.parametrize("digest", ["", "0" * 64])
def test_nothing_is_answered_for_a_plan_that_no_owner_approved(
    run, plan, tmp_path, monkeypatch, digest
):
    monkeypatch.setenv("SKDP_FEDERATION_DIGEST", digest)
    report = run(OWNERS, secure_sum=plan)
    assert "Only 0 of at least 2 owners" in report["refused"]["the secure sum"]
    assert not (tmp_path / "merged.skdp").exists()
    assert spent(tmp_path) == [0, 0, 0]
    assert "ValueError" in (tmp_path / "Budapest.txt").read_text()
    assert (tmp_path / "Budapest.txt").stat().st_mode & 0o077 == 0


CLASSES = ["over_nvflare.ReleaseController", "over_nvflare.ReleaseExecutor"]


def simulate(folder, **settings):
    """Run the simulator, which starts a process for each owner; return the report."""
    config, local = folder / "job" / "app" / "config", folder / "workspace" / "local"
    config.mkdir(parents=True)
    local.mkdir(parents=True)
    args = {"release_path": f"{folder}/merged.skdp", "report_path": f"{folder}/report.json"}
    args |= {"timeout": 300, "disjoint": True, **settings}
    executor = {"tasks": ["release", "secure_sum"], "executor": {"path": CLASSES[1]}}
    workflow = {"id": "releases", "path": CLASSES[0], "args": args}
    files = {
        folder / "job" / "meta.json": {
            "name": "hospitals",
            "min_clients": 1,
            "deploy_map": {"app": ["@ALL"]},
            "resource_spec": {},
        },
        config / "config_fed_server.json": {"format_version": 2, "workflows": [workflow]},
        config / "config_fed_client.json": {"format_version": 2, "executors": [executor]},
        local / "resources.json": {"format_version": 2, "class_allow_list": CLASSES},
    }
    for path, content in files.items():
        path.write_text(json.dumps(content))
    command = [Path(sys.executable).parent / "nvflare", "simulator", "job", "-w", "workspace"]
    command += ["-c", ",".join(OWNERS), "-t", str(len(OWNERS))]
    paths = os.pathsep.join([str(EXAMPLE), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": paths}
    with open(folder / "log.txt", "w") as log:
        subprocess.run(command, cwd=folder, env=env, stdout=log, stderr=log, timeout=900)
    return json.loads((folder / "report.json").read_text())


def test_a_federation_of_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("SKDP_FEDERATION_LOADER", "hospital:release")
    monkeypatch.setenv("SKDP_FEDERATION_PATH", str(tmp_path / "{owner}.skdp"))
    report = simulate(tmp_path)
    assert (set(report["n_bytes"]), report["refused"]) == (set(OWNERS), {})
    own = [Release.load(tmp_path / f"{owner}.skdp") for owner in OWNERS]
    Release.merge(own, disjoint=True).save(tmp_path / "here.skdp")
    assert (tmp_path / "merged.skdp").read_bytes() == (tmp_path / "here.skdp").read_bytes()


def test_a_secure_sum_of_processes(tmp_path, plan):
    report = simulate(tmp_path, secure_sum=plan)
    assert (set(report["n_bytes"]), report["refused"]) == (set(OWNERS), {})
    assert "of the 3 owners" in Release.load(tmp_path / "merged.skdp").guarantee.assumes
    assert spent(tmp_path) == [1, 1, 1]

"""The adapters with stand-ins for their frameworks: what other owners and sites may send."""

import json
import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from skdp import DPStatisticsSource, Release

pytestmark = pytest.mark.filterwarnings("ignore:.*release may", "ignore:This release does not")


class App:
    """A decorator of handlers, which stay callable."""

    def __getattr__(self, name):
        return lambda *action: lambda handler: handler


class Message:
    """A message or a reply of Flower."""

    def __init__(self, content, reply_to=None, dst_node_id=None, message_type=None, ttl=None):
        self.content, self.kind = content, message_type
        self.node = dst_node_id if reply_to is None else reply_to.node
        self.metadata = SimpleNamespace(src_node_id=self.node)

    def has_error(self):
        return False


@pytest.fixture
def framework(monkeypatch):
    def install(adapter, modules):
        for name, content in modules.items():
            module = ModuleType(name)
            vars(module).update(content)
            monkeypatch.setitem(sys.modules, name, module)
        # Not as a module of the package, of which others may import the real one.
        spec = find_spec(f"skdp.federated.{adapter}")
        found = module_from_spec(spec)
        spec.loader.exec_module(found)
        return found

    hospital = SimpleNamespace(load=load)
    monkeypatch.setitem(sys.modules, "hospital_of_a_test", hospital)
    return install


def load(owner):
    rng = np.random.RandomState(len(owner))
    X, y = rng.rand(200, 2), rng.randint(2, size=200)
    return DPStatisticsSource(classes=[0, 1]), X + y[:, np.newaxis] / 3, y


@pytest.fixture
def flower(framework):
    kinds = {"ConfigRecord": dict, "Message": Message, "RecordDict": dict}
    return framework(
        "flower",
        {
            "flwr": {},
            "flwr.app": kinds,
            "flwr.clientapp": {"ClientApp": App},
            "flwr.common": {"log": lambda *args: None},
            "flwr.serverapp": {"ServerApp": App},
        },
    )


class Grid:
    """Nodes: an owner's name and path, or what is sent in place of the two answers."""

    def __init__(self, flower, nodes):
        self.flower, self.nodes, self.asked = flower, nodes, 0

    def get_node_ids(self):
        return list(self.nodes)

    def send_and_receive(self, messages, *, timeout):
        for message in messages:
            self.asked += 1
            node = self.nodes[message.node]
            if isinstance(node, list):
                yield Message(node[message.kind == "train"], reply_to=message)
                continue
            config = {"loader": "hospital_of_a_test:load", **node}
            handlers = {"query": self.flower.say_name, "train": self.flower.answer}
            handlers["train.secure_sum"] = self.flower.answer_sum
            yield handlers[message.kind](message, SimpleNamespace(node_config=config))


@pytest.fixture
def ask(flower, tmp_path):
    """Return the report of a round."""

    def asked(nodes, n_owners=None, **settings):
        config = {"n-owners": n_owners or len(nodes), "start-timeout": 0}
        config |= {"release-path": str(tmp_path / "merged.skdp")}
        config |= {"report-path": str(tmp_path / "report.json"), **settings}
        grid = Grid(flower, {11 + k: node for k, node in enumerate(nodes)})
        try:
            flower.collect(grid, SimpleNamespace(run_config=config))
        except Exception:
            assert grid.asked == 0  # no owner is asked for a round that is lost
            raise
        return json.loads((tmp_path / "report.json").read_text())

    return asked


@pytest.fixture
def honest(tmp_path):
    return [
        {"owner": name, "path": str(tmp_path / f"{name}.skdp")} for name in ("north", "northern")
    ]


def record(**content):
    return {"skdp": content}


@pytest.mark.parametrize(
    "replies",
    [
        [{}, {}],
        [record(owner=["a", "list"]), record(release=[1])],
        [None, "text"],
        [{"skdp": 3}, {"skdp": [1, 2]}],
        [record(owner={"a": 1}), record(error=[])],
    ],
)
def test_flowers_server_takes_any_reply(ask, honest, replies):
    report = ask([*honest, replies])
    assert set(report["n_bytes"]) == {"north", "northern"}
    assert set(report["refused"]) == {"node 13"}


def test_no_node_takes_the_name_of_another(ask, honest):
    twins = [{"owner": "north", "path": honest[0]["path"] + "2"}]
    names = ["north (node 11)", "node 17", "owner 8, who never came", "north\n"]
    takers = [[record(owner=name), record(release=b"")] for name in names]
    report = ask([*honest, *twins, *takers[:3], [{}, {}], takers[3]], 9)
    assert set(report["n_bytes"]) == {"north (node 11)", "northern", "north (node 13)"}
    assert len(report["refused"]) == 6
    assert "owner 9, who never came" in report["refused"]


def test_an_owner_of_flower_needs_a_path(ask, honest):
    report = ask([honest[0], {"owner": "west"}])
    assert report["refused"] == {"west": "no release at the owner"}


@pytest.mark.parametrize(
    ("disjoint", "epsilon"),
    [({}, 1.4), ({"disjoint": "false"}, 1.4), ({"disjoint": True}, 1), ({"disjoint": "true"}, 1)],
)
def test_owners_are_disjoint_where_somebody_says_so(ask, honest, tmp_path, disjoint, epsilon):
    ask(honest, **disjoint)
    assert Release.load(tmp_path / "merged.skdp").guarantee.epsilon == pytest.approx(
        epsilon, rel=0.05
    )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"disjoint": "no"}, "'disjoint' of the configuration must be true or false, got 'no'"),
        ({"disjoint": 1}, "'disjoint'"),
        ({"max-rows": -1}, "'max_rows'"),
        ({"schema": "nowhere.json"}, "nowhere.json"),
    ],
)
def test_wrong_settings_are_refused_before_anybody_is_asked(ask, honest, settings, problem):
    with pytest.raises((ValueError, OSError), match=problem):
        ask(honest, **settings)


def test_a_bound_of_rows_is_configured(ask, honest):
    assert set(ask(honest, **{"max-rows": 20})["refused"]) == {"north", "northern"}


@pytest.mark.parametrize("left_out", [None, "digest"])
def test_flower_carries_a_secure_sum(ask, consortium, tmp_path, left_out):
    nodes = [{**own, "loader": "hospital_of_a_sum:load"} for own in consortium.configured.values()]
    if left_out:
        nodes[2][left_out] = "0" * 64
    report = ask(nodes, **{"secure-sum": consortium.path})
    assert set(report["n_bytes"]) == {"east", "north", "west"} - ({"west"} if left_out else set())
    assert ("west" in report["refused"]) == bool(left_out)
    assert Release.load(tmp_path / "merged.skdp").guarantee.epsilon == 4.0


def test_flower_names_who_dropped_out(ask, consortium, tmp_path):
    nodes = [{**own, "loader": "hospital_of_a_sum:load"} for own in consortium.configured.values()]
    nodes[2]["loader"] = "none:load"
    report = ask(nodes, **{"secure-sum": consortium.path})
    assert "The first answer is missing of 'west'" in report["refused"]["the secure sum"]
    assert not (tmp_path / "merged.skdp").exists()


def test_flower_reads_the_plan_before_anybody_is_asked(ask, honest, tmp_path):
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(ValueError, match="no skdp secure sum"):
        ask(honest, **{"secure-sum": str(tmp_path / "plan.json")})


@pytest.fixture
def nvflare(framework, monkeypatch):
    monkeypatch.setenv("SKDP_FEDERATION_LOADER", "hospital_of_a_test:load")
    codes = SimpleNamespace(OK="OK", TASK_UNKNOWN="TASK_UNKNOWN")
    shareable = {"Shareable": dict, "make_reply": lambda code: code}
    controller = {"Controller": type("Controller", (), {}), "Task": SimpleNamespace}
    return framework(
        "nvflare",
        {
            **{name: {} for name in ("nvflare", "nvflare.apis", "nvflare.apis.impl")},
            "nvflare.apis.executor": {"Executor": object},
            "nvflare.apis.fl_constant": {"ReturnCode": codes},
            "nvflare.apis.impl.controller": controller,
            "nvflare.apis.shareable": shareable,
        },
    )


def execute(nvflare, owner="north"):
    context = SimpleNamespace(get_identity_name=lambda: owner)
    return nvflare.ReleaseExecutor().execute("release", {}, context, None)["skdp"]


def test_a_site_needs_a_path(nvflare, monkeypatch, tmp_path):
    assert execute(nvflare) == {"error": "no release"}
    monkeypatch.setenv("SKDP_FEDERATION_PATH", str(tmp_path / "{owner}.skdp"))
    assert execute(nvflare) == {"release": (tmp_path / "north.skdp").read_bytes()}


def test_sites_are_disjoint_where_somebody_says_so(nvflare):
    assert nvflare.ReleaseController("merged.skdp").disjoint is False
    assert nvflare.ReleaseController("merged.skdp", disjoint="true").disjoint is True
    for wrong in ("no", "False", 0, None):
        with pytest.raises(ValueError, match="'disjoint' of the configuration"):
            nvflare.ReleaseController("merged.skdp", disjoint=wrong)


@pytest.mark.parametrize("settings", [{"max_rows": 0}, {"schema": "nowhere.json"}])
def test_the_controller_checks_parameters_before_it_asks(nvflare, settings):
    controller = nvflare.ReleaseController("merged.skdp", **settings)
    with pytest.raises((ValueError, OSError)):
        controller.start_controller(None)


@pytest.fixture
def sum_over_nvflare(nvflare, consortium, monkeypatch, tmp_path):
    """Return the report of a secure sum of sites, of whom some answer no second request."""
    for key in ("plan", "digest", "identity", "folder", "ledger"):
        value = consortium.configured["north"][key].replace("north", "{owner}")
        monkeypatch.setenv(f"SKDP_FEDERATION_{key.upper()}", value)
    monkeypatch.setenv("SKDP_FEDERATION_LOADER", "hospital_of_a_sum:load")
    sites = [SimpleNamespace(name=name) for name in consortium.configured]

    def summed(silent=()):
        paths = (str(tmp_path / "merged.skdp"), str(tmp_path / "report.json"))
        controller = nvflare.ReleaseController(*paths, timeout=7, secure_sum=consortium.path)
        engine = SimpleNamespace(get_clients=lambda: sites)
        controller.start_controller(SimpleNamespace(get_engine=lambda: engine))

        def broadcast(task, context, *, targets, min_responses, abort_signal):
            assert (task.name, task.timeout, min_responses) == ("secure_sum", 7, 0)
            for site in sites:
                asked = targets is None or site.name in targets
                if not asked or (targets and site.name in silent):
                    continue
                known = SimpleNamespace(get_identity_name=lambda name=site.name: name)
                reply = nvflare.ReleaseExecutor().execute(task.name, task.data, known, None)
                reply = type("Reply", (dict,), {"get_return_code": lambda self: "OK"})(reply)
                task.result_received_cb(SimpleNamespace(client=site, result=reply), context)

        controller.broadcast_and_wait = broadcast
        controller.log_info = lambda context, text: None
        controller.control_flow(None, None)
        return json.loads((tmp_path / "report.json").read_text())

    return summed


def test_nvflare_carries_a_secure_sum(sum_over_nvflare, tmp_path):
    report = sum_over_nvflare(silent=["west"])
    assert "The first answer is missing of 'west'" in report["refused"]["the secure sum"]
    assert not (tmp_path / "merged.skdp").exists()
    report = sum_over_nvflare()
    assert set(report["n_bytes"]) == {"east", "north", "west"}
    assert Release.load(tmp_path / "merged.skdp").guarantee.epsilon == 4.0

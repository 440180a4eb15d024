"""A federation of processes on this machine's loopback interface, over Flower or NVIDIA FLARE."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from skdp.federated import SecureSum

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
# Seconds until the whole command is given up.
GIVEN_UP = 1200

CLASSES = ["skdp.federated.nvflare.ReleaseController", "skdp.federated.nvflare.ReleaseExecutor"]


def environment(folder, faults):
    """Return the environment of all processes: without reports to the frameworks' makers."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),  # commands start one another
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)]),
        "OMP_NUM_THREADS": "1",
        "FAULTS": ",".join(f"{owner}={fault}" for owner, fault in faults.items()),
        "FLWR_HOME": str(folder / "home"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "SKDP_FEDERATION_PATH": str(folder / "{owner}.skdp"),
        **{f"SKDP_FEDERATION_{key.upper()}": value for key, value in own(folder).items()},
    }


def own(folder):
    """Return what an owner configures: more, where the folder has the plan of a secure sum."""
    plan = folder / "plan.json"
    if not plan.exists():
        return {"loader": "_federation_owner:load"}
    paths = {"identity": ".id", "folder": "", "ledger": ".json"}
    return {
        "loader": "_federation_owner:load_part",
        "plan": str(plan),
        "digest": SecureSum.load(plan).digest,
        **{key: f"{folder}/{{owner}}{ending}" for key, ending in paths.items()},
    }


def free_ports(n):
    """Return ports that nobody listens at now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def running(name, command, folder, env):
    """Run a process, with what it starts, until the end of the block."""
    with open(folder / f"{name}.log", "w") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=folder)
        try:
            yield process
        finally:
            started = descendants(process.pid)
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(15)
            for pid in (process.pid, *started):  # what it has left behind
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()


def descendants(pid):
    """Return the ids of all that a process has started, directly or not (Linux)."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *descendants(child)]
    return found


def wait_for(port, seconds=60):
    """Wait until somebody listens."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nobody listens at port {port} after {seconds} s")


def run_flower(folder, owners, faults, timeout):
    """Start a SuperLink and a SuperNode for each owner, run the app, and stop them."""
    env = environment(folder, faults)
    link, *ports = free_ports(1 + len(owners))
    (folder / "app").mkdir()
    (folder / "home").mkdir()
    settings = {"n_owners": len(owners), "folder": folder, "timeout": float(timeout), "port": link}
    for name, place in (("project", "app/pyproject.toml"), ("config", "home/config.toml")):
        text = (HERE / "federation" / f"{name}.toml").read_text().format(**settings)
        if name == "project" and "plan" in own(folder):
            text += f'secure-sum = "{own(folder)["plan"]}"\n'
        (folder / place).write_text(text)
    with ExitStack() as stack:
        command = [BIN / "flower-superlink", "--insecure", "--port", str(link)]
        command += ["--disable-runtime-dependency-installation"]
        stack.enter_context(running("server", command, folder, env))
        wait_for(link)
        for owner, port in zip(owners, ports, strict=True):
            config = f'owner="{owner}" path="{folder}/{owner}.skdp" '
            config += " ".join(f'{key}="{value}"' for key, value in own(folder).items())
            config = config.replace("{owner}", owner)
            command = [BIN / "flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{link}"]
            command += ["--port", str(port), "--node-config", config]
            stack.enter_context(running(f"owner-{owner}", command, folder, env))
        command = [BIN / "flwr", "run", "app", "loopback", "--stream"]
        run = stack.enter_context(running("run", command, folder, env))
        wait_until_written(folder, run)


def run_nvflare(folder, owners, faults, timeout):
    """Run the simulator, which starts a process for each owner."""
    job, local = folder / "job", folder / "workspace" / "local"
    (job / "app" / "config").mkdir(parents=True)
    local.mkdir(parents=True)
    args = {"release_path": f"{folder}/merged.skdp", "report_path": f"{folder}/report.json"}
    args |= {"timeout": timeout, "disjoint": True, "secure_sum": own(folder).get("plan")}
    server = {"workflows": [{"id": "releases", "path": CLASSES[0], "args": args}]}
    tasks = ["release", "secure_sum"]
    client = {"executors": [{"tasks": tasks, "executor": {"path": CLASSES[1]}}]}
    meta = {"name": "hospitals", "min_clients": 1, "deploy_map": {"app": ["@ALL"]}}
    files = {
        job / "meta.json": {**meta, "resource_spec": {}},
        job / "app" / "config" / "config_fed_server.json": {"format_version": 2, **server},
        job / "app" / "config" / "config_fed_client.json": {"format_version": 2, **client},
        local / "resources.json": {"format_version": 2, "class_allow_list": CLASSES},
    }
    for path, content in files.items():
        path.write_text(json.dumps(content))
    command = [BIN / "nvflare", "simulator", "job", "-w", str(folder / "workspace")]
    command += ["-c", ",".join(owners), "-t", str(len(owners))]
    with running("run", command, folder, environment(folder, faults)) as process:
        wait_until_written(folder, process)


def wait_until_written(folder, process):
    """Wait for the report and, where there is one, the release."""
    end = time.monotonic() + GIVEN_UP
    while not (folder / "report.json").exists():
        if time.monotonic() > end:
            raise TimeoutError(f"no report after {GIVEN_UP} s: see {folder}")
        if process.poll() not in (None, 0):
            raise RuntimeError(f"failed: {(folder / 'run.log').read_text()[-2000:]}")
        time.sleep(0.1)
    while not (folder / "merged.skdp").exists() and process.poll() is None:
        time.sleep(0.1)

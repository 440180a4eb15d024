"""One round over NVIDIA FLARE 2.9, or a secure sum: controller and executor for a job.

Copy this file to where Python finds it at the server and at every site. The job needs no code of
its own. Its ``config_fed_server.json``::

    {"format_version": 2, "workflows": [{
        "id": "releases", "path": "over_nvflare.ReleaseController",
        "args": {"release_path": "merged.skdp", "timeout": 600}}]}

and its ``config_fed_client.json``::

    {"format_version": 2, "executors": [{
        "tasks": ["release", "secure_sum"],
        "executor": {"path": "over_nvflare.ReleaseExecutor"}}]}

Each site allows these classes in its ``local/resources.json``::

    {"format_version": 2, "class_allow_list": [
        "over_nvflare.ReleaseController", "over_nvflare.ReleaseExecutor"]}

``nvflare provision`` makes startup kits with mutual TLS. A simulator runs a job on one machine::

    nvflare simulator jobs/hospitals -w workspace -c north,east,south,west -t 4

The answer of an owner is configured by environment variables of its site, not by the job, in which
``{owner}`` is replaced by the owner's name.
"""

import os
import traceback
from importlib import import_module

from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.impl.controller import Controller, Task
from nvflare.apis.shareable import Shareable, make_reply

from skdp.federated import (
    CollectedReleases,
    SecureSum,
    SecureSumOwner,
    collect_answers,
    owner_answer,
)
from skdp.secure import Identity

RELEASE, SUM = "release", "secure_sum"
# Key of the answer in messages.
KEY = "skdp"


class ReleaseExecutor(Executor):
    """Executor that answers with the owner's release, or with its messages of a secure sum.

    ``SKDP_FEDERATION_LOADER``, "module:function", makes the release from the owner's name;
    ``SKDP_FEDERATION_PATH`` and ``..._ERROR_PATH`` are ``path`` and ``error_path`` of
    ``owner_answer``, of which the first is needed.

    For a secure sum, the loader gets the owner's name and the plan, and returns an accumulator of
    the plan, or X and y if its model is "gradients". ``..._PLAN`` is the owner's copy of the plan,
    ``..._DIGEST`` the digest that all owners have compared, ``..._DISJOINT`` "true" where they
    agree that nobody is at two owners, and ``..._IDENTITY`` and ``..._LEDGER`` are the owner's
    files.
    """

    def __init__(self):
        super().__init__()
        self.owner = None  # in a secure sum, until this process ends

    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        """Return the answer to the task."""
        name = fl_ctx.get_identity_name()
        if task_name not in (RELEASE, SUM):
            return make_reply(ReturnCode.TASK_UNKNOWN)
        reply, error_path = Shareable(), configured("error_path", name)
        if task_name == RELEASE:
            paths = {"path": configured("path", name), "error_path": error_path}
            reply[KEY] = owner_answer(lambda: load(name), **paths)
            return reply
        try:
            reply[KEY] = {"message": self.message(shareable.get(KEY), name)}
        except BaseException:  # whose text may quote a row, and would be sent
            if error_path:
                with open(error_path, "a", encoding="utf-8", opener=private) as file:
                    traceback.print_exc(file=file)
            reply[KEY] = {"error": "no message"}
        return reply

    def message(self, request, name):
        """Return the owner's key to an empty request, and its answer to another one."""
        if self.owner is None:
            plan = SecureSum.load(needed("plan", name), needed("digest", name))
            identity = Identity.load(needed("identity", name))
            ledger = needed("ledger", name)
            self.owner = SecureSumOwner(plan, identity, lambda: load(name, plan), ledger=ledger)
        if request:
            return self.owner.answer(request)
        return self.owner.join(disjoint=configured("disjoint", name) == "true")


def private(path, flags):
    """Open a file, readable by its owner only if it is new."""
    return os.open(path, flags, 0o600)


def configured(key, name):
    """Return what the environment of a site says, None where it says nothing."""
    value = os.environ.get(f"SKDP_FEDERATION_{key.upper()}")
    return value and value.replace("{owner}", name)


def needed(key, name):
    """Return what the environment of a site must say."""
    if not configured(key, name):
        raise ValueError(f"SKDP_FEDERATION_{key.upper()} is not set.")
    return configured(key, name)


def load(name, *plan):
    """Return what the owner's own function makes of its rows."""
    module, _, function = needed("loader", name).partition(":")
    return getattr(import_module(module), function)(name, *plan)


class ReleaseController(Controller):
    """Controller that asks every site, merges the releases or their secure sum, and writes it.

    Parameters
    ----------
    release_path : str
        Path of the merged release.

    report_path : str or None, default=None
        Path of a JSON file with the owners in it, and the reasons for refusing others.

    timeout : int, default=600
        Seconds to wait for the answers.

    schema, disjoint, max_rows
        See ``collect_answers``.

    secure_sum : str or None, default=None
        Path of the plan of a secure sum, which then is made instead of merging releases: the sites
        are asked for keys, and for answers until the last round, each time for ``timeout``
        seconds.
    """

    def __init__(
        self,
        release_path,
        report_path=None,
        timeout=600,
        schema=None,
        disjoint=False,
        max_rows=None,
        secure_sum=None,
    ):
        super().__init__()
        self.release_path = release_path
        self.report_path = report_path
        self.timeout = timeout
        self.schema = schema  # where a job is exported, arguments are read by their names
        self.disjoint = disjoint
        self.max_rows = max_rows
        self.secure_sum = secure_sum
        self.plan, self.sites, self.answers = None, [], {}

    def start_controller(self, fl_ctx):
        """Check the parameters, before anybody is asked, and register all sites."""
        self.collect({})
        self.plan = SecureSum.load(self.secure_sum) if self.secure_sum else None
        self.sites = [site.name for site in fl_ctx.get_engine().get_clients()]

    def control_flow(self, abort_signal, fl_ctx):
        """Run the one round, or those of a secure sum."""

        def ask(sites, request, name):
            self.answers = dict.fromkeys(sites)
            data = Shareable()
            data[KEY] = request
            received = {"timeout": self.timeout, "result_received_cb": self.receive}
            task = Task(name=name, data=data, **received)
            others = {"min_responses": 0, "abort_signal": abort_signal}
            self.broadcast_and_wait(task, fl_ctx, targets=sites, **others)
            return dict(self.answers)  # later answers are ignored

        if self.plan is None:
            collected = self.collect(ask(self.sites, b"", RELEASE))
        else:
            collected = summed(self.plan, self.sites, lambda *asked: ask(*asked, SUM))
        self.log_info(fl_ctx, str(collected))
        collected.save(self.release_path, self.report_path)

    def collect(self, answers):
        """Return the merged releases."""
        return collect_answers(
            answers, disjoint=self.disjoint, schema=self.schema, max_rows=self.max_rows
        )

    def receive(self, client_task, fl_ctx):
        """Keep an answer."""
        result = client_task.result
        failed = result.get_return_code() != ReturnCode.OK
        answer = {"error": "no release"} if failed else result.get(KEY)
        self.answers[client_task.client.name] = answer
        client_task.result = None  # so that the framework does not store it

    def process_result_of_unknown_task(self, client, task_name, client_task_id, result, fl_ctx):
        """Ignore answers that come too late."""

    def stop_controller(self, fl_ctx):
        """Do nothing: there is nothing to clean up."""


def summed(plan, sites, ask):
    """Return the release of a secure sum, or why there is none; ``ask(sites, request)`` answers.

    Owners without a key are left out, if the plan allows it.
    """
    content, sizes, refused = b"", {}, {}
    try:
        while isinstance(content, bytes):
            messages = {}
            for site, answer in ask(sites, content).items():
                message = answer.get("message") if isinstance(answer, dict) else None
                if isinstance(message, bytes):
                    messages[site] = message
                    sizes[site] = sizes.get(site, 0) + len(message)
                else:
                    refused[site] = "no message in time"
            sites = list(messages)
            content = plan.combine([*([content] if content else []), *messages.values()])
    except ValueError as error:  # which names whose message is missing or wrong
        return CollectedReleases(None, {}, {**refused, "the secure sum": str(error)})
    return CollectedReleases(content, {site: sizes[site] for site in sites}, refused)

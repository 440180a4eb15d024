"""One round over NVIDIA FLARE: controller and executor for a job (extra ``nvflare``).

The job needs no code of its own. Its ``config_fed_server.json``::

    {"format_version": 2, "workflows": [{
        "id": "releases", "path": "skdp.federated.nvflare.ReleaseController",
        "args": {"release_path": "merged.skdp", "timeout": 600}}]}

and its ``config_fed_client.json``::

    {"format_version": 2, "executors": [{
        "tasks": ["release", "secure_sum"],
        "executor": {"path": "skdp.federated.nvflare.ReleaseExecutor"}}]}

The answer of an owner is configured by environment variables of its site, not by the job.
"""

import os
from typing import Any

from skdp.federated._collecting import collect_answers, true_or_false
from skdp.federated._owner import loaded_answer
from skdp.federated._secure_rounds import OWN, collect_secure_sum, secure_answer
from skdp.federated._secure_sum import SecureSum

try:
    from nvflare.apis.executor import Executor
    from nvflare.apis.fl_constant import ReturnCode
    from nvflare.apis.impl.controller import Controller, Task
    from nvflare.apis.shareable import Shareable, make_reply
except ImportError as _error:
    raise ImportError(
        "skdp.federated.nvflare needs NVIDIA FLARE, which is not installed here. Install it with "
        "pip install 'skdp[nvflare]'; skdp.federated.owner_answer and collect_answers work "
        "without."
    ) from _error

__all__ = ["ReleaseController", "ReleaseExecutor"]

_TASK, _SUM = "release", "secure_sum"
# Key of the answer in messages.
_KEY = "skdp"
# Parameters of owner_answer.
_PATHS = ("path", "error_path")


class ReleaseExecutor(Executor):
    """Executor that answers with the owner's release, or that there is none.

    It is configured by environment variables of the site. ``SKDP_FEDERATION_LOADER``,
    ``"module:function"``, is a function that gets the owner's name, loads its source and rows,
    and returns ``(source, X, y)``, or with ``groups``. ``SKDP_FEDERATION_PATH`` and
    ``SKDP_FEDERATION_ERROR_PATH`` are ``path`` and ``error_path`` of
    :func:`~skdp.federated.owner_answer`, of which the first is needed; for several sites on one
    machine, ``{owner}`` in them is replaced by the owner's name.

    For a secure sum, ``SKDP_FEDERATION_PLAN`` is the owner's copy of the plan, ``..._DIGEST`` the
    digest that all owners have compared, without which nothing is answered, and ``..._IDENTITY``,
    ``..._FOLDER`` and ``..._LEDGER`` are those of :class:`~skdp.federated.SecureSumOwner`. The
    loader then gets the owner's name and the plan, and returns ``(X, y)``, or with ``groups``, or
    an accumulator of the plan.
    """

    def execute(self, task_name: Any, shareable: Any, fl_ctx: Any, abort_signal: Any) -> Any:
        """Return the answer to the task."""
        if task_name not in (_TASK, _SUM):
            return make_reply(ReturnCode.TASK_UNKNOWN)
        owner = fl_ctx.get_identity_name()
        loader = os.environ.get("SKDP_FEDERATION_LOADER", "")
        reply = Shareable()
        if task_name == _TASK:
            reply[_KEY] = loaded_answer(loader, owner, **_configured(_PATHS, owner))
        else:
            own, kept = _configured(OWN, owner), _configured(_PATHS, owner)["error_path"]
            reply[_KEY] = secure_answer(shareable.get(_KEY), loader, own, kept)
        return reply


def _configured(keys, owner):
    """Return what the environment of a site says, None where it says nothing."""
    given = {key: os.environ.get(f"SKDP_FEDERATION_{key.upper()}") for key in keys}
    return {key: value and value.replace("{owner}", owner) for key, value in given.items()}


class ReleaseController(Controller):
    """Controller that asks every site once, merges the releases, and writes the result.

    Parameters
    ----------
    release_path : str
        Path of the merged release.

    report_path : str or None, default=None
        Path of a JSON file with the owners in it, and the reasons for refusing others.

    timeout : int, default=600
        Seconds to wait for the answers.

    schema : dict, str or None, default=None
        The agreed schema, see :func:`~skdp.federated.collect_answers`.

    disjoint : bool, default=False
        Whether nobody is in two sources.

    max_rows : int or None, default=None
        Public bound of the rows of one owner, likewise.

    secure_sum : str or None, default=None
        Path of the plan of a secure sum (:class:`~skdp.federated.SecureSum`), which then is made
        instead of merging releases: the sites are asked for keys, and twice for answers, each time
        for ``timeout`` seconds.

    Raises
    ------
    ValueError
        If ``disjoint`` is neither true nor false.
    """

    def __init__(
        self,
        release_path: str,
        report_path: str | None = None,
        timeout: int = 600,
        schema: Any = None,
        disjoint: bool = False,
        max_rows: int | None = None,
        secure_sum: str | None = None,
    ):
        super().__init__()
        self.release_path = release_path
        self.report_path = report_path
        self.timeout = timeout
        self.schema = schema
        self.disjoint = true_or_false("disjoint", disjoint)
        self.max_rows = max_rows
        self.secure_sum = secure_sum
        self._plan: Any = None
        self._sites: list[str] = []
        self._answers: dict[str, Any] = {}

    def start_controller(self, fl_ctx: Any) -> None:
        """Register all sites, some of which may never answer; check the parameters."""
        self._collect({})  # before anybody is asked, so that no invalid one loses the round
        self._plan = SecureSum.load(self.secure_sum) if self.secure_sum else None
        self._sites = [site.name for site in fl_ctx.get_engine().get_clients()]

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Run the one round, or those of a secure sum."""

        def ask(sites, request, name=_SUM):
            self._answers = dict.fromkeys(self._sites if sites is None else sites)
            data = Shareable()
            data[_KEY] = request
            settings = {"timeout": self.timeout, "result_received_cb": self._receive}
            task = Task(name=name, data=data, **settings)
            others = {"min_responses": 0, "abort_signal": abort_signal}
            self.broadcast_and_wait(task, fl_ctx, targets=sites, **others)
            return dict(self._answers)  # later answers are ignored

        if self._plan is None:
            collected = self._collect(ask(None, b"", _TASK))
        else:
            collected = collect_secure_sum(self._plan, ask)
        self.log_info(fl_ctx, str(collected))
        collected.save(self.release_path, self.report_path)

    def _collect(self, answers):
        return collect_answers(
            answers, disjoint=self.disjoint, schema=self.schema, max_rows=self.max_rows
        )

    def _receive(self, client_task, fl_ctx):
        result = client_task.result
        failed = result.get_return_code() != ReturnCode.OK
        answer = {"error": "no release"} if failed else result.get(_KEY)
        self._answers[client_task.client.name] = answer
        client_task.result = None  # so that the framework does not store it

    def process_result_of_unknown_task(
        self, client: Any, task_name: Any, client_task_id: Any, result: Any, fl_ctx: Any
    ) -> None:
        """Ignore answers that come too late."""

    def stop_controller(self, fl_ctx: Any) -> None:
        """Do nothing: there is nothing to clean up."""

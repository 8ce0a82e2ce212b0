"""Learners of a run: one process, or several that shard the weights; where one dies all restart."""

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agentevol.cluster.processes.failures import ProcessFailures, stop_if_hopeless
from agentevol.cluster.processes.interface import POLL_S, Processes, ProcessLost
from agentevol.cluster.processes.membership import Members
from agentevol.cluster.processes.nodes import Place
from agentevol.config.run import RunConfig
from agentevol.core.errors import AgentEvolError, RunStopped
from agentevol.core.protocols import Checkpoint, LearnReport
from agentevol.rollout.faults import FaultLog

if TYPE_CHECKING:
    from agentevol.engines.vllm.weights.sender import Receivers

LOSS_S = 10.0
"""Seconds to wait, after a learner failed, for the news that another one had died."""

Report = Callable[[int, int, float], None]
"""Callback with the step, the number of steps, and the loss."""


class Learners:
    """Learner processes by rank; none once they have failed, until they are needed."""

    def __init__(self, config: RunConfig, processes: Processes, members: Members, faults: FaultLog) -> None:
        self._config, self._processes = config, processes
        self._members, self._faults = members, faults
        self._names = [f"learner {rank}" for rank in range(config.learn.shards)]
        self._gpus = 0
        self._others: Callable[[], Sequence[Place]] | None = None
        """GPUs claimed by others that the learners share; None where they have their own."""
        self._places: list[Place] = []
        self._there: list[Any] = []

    def start(self, gpus: int, others: Callable[[], Sequence[Place]] | None = None) -> None:
        """Start all learners, each with `gpus` GPUs: together on one node if one has room.

        With `others` they claim none: each shares one of the first GPUs that it returns. Where these change,
        the learners restart there before their next call.
        """
        self._gpus, self._others = gpus, others
        self._ready()

    def learn(
        self, config: RunConfig, job: Any, progress: Report, written: Callable[[], LearnReport | None]
    ) -> LearnReport:
        """Run `LearnerWorker.learn` and return its report, with as many restarts as losses require.

        `job` is a `LearnerJob`, or a reference to one that the processes resolve. A learner that dies, or is
        cut off, may have finished before: `written` returns its report then.
        """
        work = ProcessFailures()
        while True:
            if work.lost_before and (report := written()) is not None:
                self._made_up(work, work.furthest)
                return report
            learners = self._ready()
            meeting = _meeting(learners)
            replies = [learner.learn.remote(meeting, config, job) for learner in learners]
            try:
                return self._report(replies, work, progress)
            except ProcessLost as cause:
                self._lost(work, cause)
            except AgentEvolError:
                if not work.lost_before or written() is None:
                    raise

    def ask(self, what: str, *given: Any) -> Any:
        """Call a method of the first learner; where it dies, another is called."""
        work = ProcessFailures()
        while True:
            asked = getattr(self._ready()[0], what)
            try:
                found = self._processes.results([asked.remote(*given)])[0]
            except ProcessLost as cause:
                self._lost(work, cause)
            else:
                self._made_up(work, 0)
                return found

    def send(self, checkpoint: Checkpoint, receivers: "Receivers") -> list[Any]:
        """Replies to be waited for during a weight transfer to engines."""
        senders = self._ready() if self._config.engine.weight_transfer == "ipc" else self._ready()[:1]
        meeting = _meeting(senders)
        return [learner.send.remote(meeting, self._config, checkpoint, receivers) for learner in senders]

    def free(self) -> None:
        """Have the running learners free their GPUs' memory for others."""
        with contextlib.suppress(ProcessLost):  # noticed when they are needed
            self._processes.results([learner.free.remote() for learner in self._there])

    def _ready(self) -> list[Any]:
        """All learners, started in their places."""
        shared = None if self._others is None else self._shared(self._others())
        if shared is not None and shared != self._places:
            self.end()
        if not self._there:
            self._places = self._own() if shared is None else shared
            self._there = self._processes.learners(self._places)
        return self._there

    def _own(self) -> list[Place]:
        self._members.look(at_once=True)
        nodes = self._members.place_together(self._names, self._gpus)
        if nodes is None:
            raise RunStopped(
                f"no room for {len(self._names)} learners with a GPU each; resume the run when nodes have it"
            )
        return [Place(node, self._gpus) for node in nodes]

    def _shared(self, gpus: Sequence[Place]) -> list[Place]:
        if len(gpus) < len(self._names):
            raise RunStopped(
                f"rollout workers hold {len(gpus)} GPUs for {len(self._names)} learners, which need one each;"
                " resume the run when nodes have them"
            )
        places = list(gpus[: len(self._names)])
        for name, place in zip(self._names, places, strict=True):
            self._members.join(name, place.node)
        return places

    def _report(self, replies: Sequence[Any], work: ProcessFailures, progress: Report) -> LearnReport:
        """Report of rank 0, once all are done."""
        waiting = list(replies)
        while waiting:
            done = self._processes.wait(waiting, POLL_S)
            waiting = [reply for reply in waiting if reply not in done]
            self._members.look()
            asked = self._there[0].progress.remote()
            ((step, steps, loss),) = self._processes.results([asked], self._config.ray.start_timeout_s)
            self._made_up(work, step)
            progress(step, steps, loss)
            try:
                self._processes.results(done)
            except AgentEvolError:
                if len(replies) > 1:
                    self._raise_a_loss([*done, *waiting])
                    self.end()  # some may still wait for the one that failed
                raise
        self._made_up(work, work.furthest)
        return self._processes.results(replies[:1])[0]

    def _raise_a_loss(self, replies: Sequence[Any]) -> None:
        """Raise `ProcessLost` where one died: the others fail with it, and their errors may come first."""
        deadline, waiting = time.monotonic() + LOSS_S, list(replies)
        while waiting and time.monotonic() < deadline:
            for reply in self._processes.wait(waiting, POLL_S):
                waiting.remove(reply)
                try:
                    self._processes.results([reply])
                except AgentEvolError:
                    continue

    def _lost(self, work: ProcessFailures, cause: ProcessLost) -> None:
        """Handle a loss: end all learners, since the remaining ones cannot continue."""
        where = self._members.where(self._names[0])
        self.end()
        work.lost(time.monotonic())
        step = f" at step {work.furthest}" if work.furthest else ""
        self._faults.note(f"the learner{where} was lost{step}, and is replaced", lost_learners=1)
        what = "the learner was lost {} times without progress"
        stop_if_hopeless(work, self._config.ray.max_replacements, what, str(cause))

    def _made_up(self, work: ProcessFailures, step: int) -> None:
        """Note that the learners have reached this step."""
        cost = work.reached(step, time.monotonic())
        if cost is not None:
            where = self._members.where(self._names[0])
            self._faults.note(
                f"the learner{where} has reached the same step again, after {cost:.1f} s", learners_s=cost
            )

    def end(self) -> None:
        """End the running learners; new ones are started when they are needed."""
        for learner in self._there:
            self._processes.kill(learner)
        self._members.leave(*self._names)
        self._there = []


def _meeting(learners: Sequence[Any]) -> Any:
    """Reply with the rendezvous address of these learners; None for a single one."""
    return learners[0].meeting_point.remote() if len(learners) > 1 else None

"""New weights from the learners straight to the rollout workers, and why they did not arrive."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from agentevol.errors import PolicyFault, TransferFailed
from agentevol.protocols import Checkpoint
from agentevol.workers.dispatch import Replica
from agentevol.workers.processes import POLL_S, Processes, ProcessLost

Send = Callable[[Checkpoint, Sequence[Any]], list[Any]]
"""Has the learners send a checkpoint to these processes: the replies to be waited for."""


def why_not_sent(
    processes: Processes, workers: Sequence[Replica], checkpoint: Checkpoint, send: Send, bound_s: float
) -> str | None:
    """Have the workers receive what is sent, and say why they could not; None where all have the weights.

    Those that could not hold a part of the weights, and wait, perhaps for ever: they are of no more use. The
    same holds for learners that send. It takes `bound_s` at most, once the workers' episodes under way let it
    begin. Raises what stops a run, such as weights that an engine does not sample with.
    """
    there = [worker.process for worker in workers]
    waiting = [process.receive.remote(checkpoint) for process in there] + send(checkpoint, there)
    deadline = time.monotonic() + bound_s
    while waiting and time.monotonic() < deadline:
        for reply in processes.wait(waiting, POLL_S):
            waiting.remove(reply)
            try:
                processes.results([reply])
            except (ProcessLost, TransferFailed, PolicyFault) as cause:
                return str(cause)
    return f"it took more than {bound_s:g} s" if waiting else None

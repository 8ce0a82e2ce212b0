"""Weight transfer from the learners to the rollout workers, and the reasons of its failures."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from agentevol.cluster.pools.dispatch import Replica
from agentevol.cluster.processes.interface import POLL_S, Processes, ProcessLost
from agentevol.core.errors import PolicyFault, TransferFailed
from agentevol.core.protocols import Checkpoint

Send = Callable[[Checkpoint, Sequence[Any]], list[Any]]
"""Starts the learners' transfer of a checkpoint to these processes; returns the replies to be waited for."""


def why_not_sent(
    processes: Processes, workers: Sequence[Replica], checkpoint: Checkpoint, send: Send, bound_s: float
) -> str | None:
    """Have the workers receive a weight transfer, and return the reason of a failure; None where all have the
    weights.

    After a failure the workers hold a part of the weights and may wait for ever: they have to be replaced.
    The same holds for the sending learners. The transfer takes at most `bound_s`, once the workers' episodes
    under way allow it to begin. Raises errors that stop a run, such as weights that an engine does not sample
    with.
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

"""AgentEvol (arXiv:2406.04151, algorithm 1) and its relatives as one function.

Filtered cloning, AgentEvol, and iterated preference or policy-gradient methods are this loop with other
values of (selection, algorithm, start). Every step first checks for an existing result, so a killed run
continues from its last step.
"""

from agentevol.core.protocols import Checkpoint
from agentevol.core.summaries import RunSummary
from agentevol.loop.stages.iteration import Stages


def evolve(stages: Stages) -> RunSummary:
    """Run all iterations; returns their summary. The paper's symbols are in the comments."""
    base = stages.base()
    latest = stages.clone(base)  # behavioural cloning: argmax sum log pi_theta(tau) over D_s
    stages.update(0, latest)  # the engines take pi_theta^1
    stages.evaluate(0, latest)
    for m in range(1, stages.config.iterations + 1):  # m = 1 .. M
        explored = stages.explore(m, latest)  # E-step: tau ~ pi_theta^m(. | e, u), K for every task
        data = stages.select(m, explored)  # r(e, u, tau) as filter and weight; D_m joined with D_s
        data = stages.shape(m, latest, explored, data)  # rewards of single turns, where process.* is on
        stages.explore_ahead(m, latest)  # the next E-step beside this M-step, where rollout.* says so
        update = stages.learn(m, _start(stages, base, latest), data)  # M-step: argmax sum r log pi_theta(tau)
        update = stages.mix(m, update)  # with interpolate.*: the share of the update that validates best
        latest = stages.accept(m, update)  # or the previous policy, see protect.*
        stages.update(m, latest)  # pi_theta^(m+1)
        stages.evaluate(m, latest)
        if stages.has_stalled(m):
            break
    return stages.finish()


def _start(stages: Stages, base: Checkpoint, latest: Checkpoint) -> Checkpoint:
    return base if stages.config.start == "base" else latest

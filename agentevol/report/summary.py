"""What is kept of a run for its report: one `IterationSummary` for each iteration, all in a `RunSummary`."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from agentgym_envs.core import Record

AHEAD = "explore ahead"
"""The phase of exploring a round while others are learnt from."""


class EvaluationSummary(Record):
    """How a policy did on a split."""

    split: str
    n: int
    """Episodes that have a return: terminated or truncated."""
    successes: int
    mean_reward: float
    mean_turns: float
    mean_tokens: float = 0.0
    """Sampled tokens of an episode."""
    endings: dict[str, int] = Field(default_factory=dict[str, int])
    """How all episodes ended, failed and cancelled ones too: `{"terminated": 98, "failed(policy)": 2}`."""
    by: dict[str, dict[str, tuple[int, int]]] = Field(default_factory=dict[str, dict[str, tuple[int, int]]])
    """Breakdown (`kind`, `difficulty`) -> value -> (successes, n)."""
    gained: int | None = None
    """Tasks won that the iteration before lost; None where it played none of them."""
    lost: int | None = None
    """Tasks lost that the iteration before won."""


class Faults(Record):
    """What broke in an iteration, whatever was under way, and what it cost."""

    lost_workers: int = 0
    """Rollout workers that died, and were replaced."""
    stalled: int = 0
    """Rollout workers that were killed and replaced since they answered nothing (`engine.stall_s`)."""
    lost_learners: int = 0
    """How often learning began again since a learner died; those that share the weights begin together."""
    lost_servers: int = 0
    """Environment servers that died, and were started again."""
    lost_nodes: int = 0
    """Nodes that left the cluster."""
    replayed: int = 0
    """Episodes that infrastructure broke and that were played again, for whatever purpose."""
    workers_s: float = 0.0
    """Seconds from the loss of a rollout worker until its replacement could play, added up."""
    learners_s: float = 0.0
    """Seconds from the loss of a learner until it was at the step again that it had reached."""
    servers_s: float = 0.0
    """Seconds without an environment server."""

    def figures(self) -> dict[str, float]:
        """Those that are not 0."""
        return {name: value for name, value in self.model_dump().items() if value}


class IterationSummary(Record):
    """One iteration; number 0 is the evaluation of the start and has explored nothing."""

    iteration: int
    checkpoint: str
    """Name of the weights that were evaluated, for example `0003`."""
    table_version: int
    """Version of the table of trajectories that these weights have learnt from."""
    explored: dict[str, int] = Field(default_factory=dict[str, int])
    """How the explored episodes ended; adds up to the episodes requested."""
    requested: int | None = None
    """Episodes that exploration was asked for; None where nobody noted it."""
    replayed: int = 0
    """Episodes that infrastructure broke and that were played again."""
    aborted: int = 0
    """Episodes that were given up for new weights (`rollout.in_flight`) and played again."""
    selected: int = 0
    """Of the explored episodes, how many were learnt from."""
    stale: int = 0
    """Episodes of earlier iterations that `select.max_lag` left out."""
    rows: int = 0
    """Training sequences in all, demonstrations and earlier iterations included."""
    selection: dict[str, float] = Field(default_factory=dict[str, float])
    """What was solved and what was kept (`agentevol.loop.solved`), for example `keep_rate`."""
    data: dict[str, dict[str, float]] = Field(default_factory=dict[str, dict[str, float]])
    """What was learnt from (`agentevol.loop.learnt`) by environment, for example its `mean_weight`."""
    trained_tokens: int = 0
    learn: dict[str, float] = Field(default_factory=dict[str, float])
    """The learner's figures, for example `loss`."""
    evaluation: EvaluationSummary | None = None
    """On the held-out split whose figures are reported; None where the iteration was not evaluated."""
    validation: EvaluationSummary | None = None
    """On the split by which the best checkpoint is chosen, so that the reported figures are not chosen by."""
    protected: dict[str, EvaluationSummary] = Field(default_factory=dict[str, EvaluationSummary])
    """On the tasks of `protect.*` by name; of the rejected update, where there was one."""
    rejected: str | None = None
    """Why the update of this iteration was rejected, so that its checkpoint is the one before."""
    proxy: float | None = None
    """What `reward.model` says of the validation episodes, on average; None without one."""
    seconds: dict[str, float] = Field(default_factory=dict[str, float])
    """Phase -> duration, for example `{"explore": 31.2, "learn": 40.0}`; `AHEAD` goes on beside others."""
    faults: Faults = Faults()
    """What broke since the iteration before had finished."""

    @property
    def took_s(self) -> float:
        """How long the iteration took, one phase after another."""
        return sum(seconds for phase, seconds in self.seconds.items() if phase != AHEAD)


class RunSummary(Record):
    """A run as far as it has come."""

    run: str
    environment: str
    config: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """The resolved configuration, nested."""
    iterations: tuple[IterationSummary, ...] = ()
    """Ascending."""


def best(summary: RunSummary) -> IterationSummary | None:
    """The iteration with the highest success rate on the validation tasks, or else on the held-out ones.

    The earlier one of equals; None where nothing was evaluated.
    """
    evaluated = [one for one in summary.iterations if one.validation or one.evaluation]
    return max(evaluated, key=_success_rate, default=None)


def _success_rate(iteration: IterationSummary) -> float:
    evaluation = iteration.validation or iteration.evaluation
    return evaluation.successes / evaluation.n if evaluation is not None and evaluation.n else 0.0

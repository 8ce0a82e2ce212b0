"""Summary of a run for its report: one `IterationSummary` for each iteration, all in a `RunSummary`."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from pydantic import AliasChoices, Field

from agentgym_envs.core import Record

AHEAD = "explore ahead"
"""Phase of exploration during the training on earlier rounds."""


class ModeFigures(Record):
    """Replies in one thinking mode: means over turns."""

    turns: int
    tokens: float | None
    """Sampled tokens of the whole reply; None where none were recorded, as from an endpoint."""
    thinking_tokens: float | None = None
    """Tokens of the thought; None where no reply was counted."""
    answer_tokens: float | None = None
    """Tokens of the answer, with its quotes."""


class ThinkingSummary(Record):
    """Thinking modes in the turns of an evaluation's scored episodes (arXiv:2505.02156)."""

    all: ModeFigures
    """All turns, malformed ones included."""
    malformed: float
    """Share of turns whose reply is in no mode."""
    by_mode: dict[int, ModeFigures] = Field(default_factory=dict[int, ModeFigures])
    by_turn: dict[int, dict[int, int]] = Field(default_factory=dict[int, dict[int, int]])
    """Number of turn, from 1 -> mode, -1 for malformed replies -> replies."""

    def share(self, mode: int) -> float:
        """Share of turns in a mode."""
        return self.by_mode[mode].turns / self.all.turns if mode in self.by_mode else 0.0


class MeanScore(Record):
    """Mean of a score over episodes, with its cluster-robust 95 % interval
    (`agentevol.rollout.dimensions.clusters`).
    """

    mean: float | None = None
    """None where nothing was scored."""
    low: float | None = None
    """None where there are fewer than two clusters."""
    high: float | None = None
    n: int = 0
    """Number of scores."""
    clusters: int = 0
    """Number of clusters, such as scenarios: scores of one cluster are not independent."""


class EvaluationSummary(Record):
    """Evaluation of a policy on a split."""

    split: str
    """Name of the split; in a mixed run all names, with commas."""
    n: int
    """Episodes that have a return: terminated or truncated."""
    successes: int
    mean_reward: float | None
    """None where no episode has a return."""
    reward_deviation: float | None = None
    """Standard deviation of the returns; None for fewer than two, and in summaries of earlier versions."""
    mean_turns: float | None
    mean_tokens: float | None = 0.0
    """Mean sampled tokens of an episode."""
    invalid_actions: float | None = None
    """Share of the policy's actions that the environment could not carry out; None without an action, and in
    summaries of earlier versions.
    """
    endings: dict[str, int] = Field(default_factory=dict[str, int])
    """Episodes by ending, failed and cancelled ones too: `{"terminated": 98, "failed(policy)": 2}`."""
    by: dict[str, dict[str, tuple[int, int]]] = Field(default_factory=dict[str, dict[str, tuple[int, int]]])
    """Breakdown (`kind`, `difficulty`) -> value -> (successes, n).

    `seat` where the policy played several, and `trainable` where some tasks are not: the rate of the others
    stands beside that of all.
    """
    dimensions: dict[str, MeanScore] = Field(default_factory=dict[str, MeanScore])
    """Mean scores by dimension, and overall, where the environment tells them."""
    gained: int | None = None
    """Tasks won that the previous iteration lost; None where it played none of them."""
    lost: int | None = None
    """Tasks lost that the previous iteration won."""
    thinking: ThinkingSummary | None = None
    """Thinking modes; None where no reply had one."""
    environments: "dict[str, EvaluationSummary]" = Field(default_factory=dict)
    """Evaluation in each environment of a mixed run, without `gained` and `lost`; empty in others."""

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the evaluated splits."""
        return tuple(dict.fromkeys(one.split for one in self.environments.values())) or (self.split,)

    @property
    def success(self) -> float | None:
        """Share of episodes won, in a mixed run the mean over its environments; None without an episode."""
        rates = [one.successes / one.n for one in self.environments.values() or (self,) if one.n]
        return fmean(rates) if rates else None

    @property
    def mean_return(self) -> float | None:
        """Mean return, in a mixed run the mean over its environments; None without an episode."""
        means = [one.mean_reward for one in self.environments.values() or (self,)]
        known = [mean for mean in means if mean is not None]
        return fmean(known) if known else None


class Faults(Record):
    """Faults in an iteration, in any phase, and their cost."""

    lost_workers: int = 0
    """Rollout workers that died, and were replaced."""
    stalled: int = 0
    """Rollout workers that were killed and replaced since they did not respond (`engine.stall_s`)."""
    lost_learners: int = 0
    """Number of restarts of training after the death of a learner; learners that shard the weights restart
    together.
    """
    lost_servers: int = 0
    """Environment servers that died, and were restarted."""
    lost_nodes: int = 0
    """Nodes that left the cluster."""
    replayed: int = 0
    """Episodes that infrastructure broke and that were played again, for any purpose."""
    workers_s: float = 0.0
    """Total seconds from the loss of a rollout worker until its replacement could play."""
    learners_s: float = 0.0
    """Total seconds from the loss of a learner until training reached the same step again."""
    servers_s: float = 0.0
    """Seconds without an environment server."""

    def figures(self) -> dict[str, float]:
        """Counts and times that are not 0."""
        return {name: value for name, value in self.model_dump().items() if value}


class LeagueEntry(Record):
    """A partner in one iteration of a league (`selfplay.*`)."""

    partner: str
    """`latest`, a checkpoint such as `0002`, or a script."""
    estimate: float | None = None
    """Win rate beside it as estimated from earlier rounds, by which it was drawn; None beside `latest`."""
    weight: float | None = None
    """Weight in the draw among the partners other than `latest`."""
    probability: float
    """Probability that a task was played beside it."""
    episodes: int = 0
    """Episodes beside it with a return in all seats."""
    win_rate: float | None = None
    """Share of these in which the policy's return was above its partner's, equal ones half; None without any,
    and beside `latest`.
    """
    mean_reward: float | None = None
    """Mean return of the policy in these."""


class IterationSummary(Record):
    """One iteration; number 0 is the evaluation of the start, without exploration."""

    iteration: int
    checkpoint: str
    """Name of the evaluated weights, for example `0003`."""
    table_version: int
    """Version of the table of trajectories that these weights were trained on."""
    explored: dict[str, int] = Field(default_factory=dict[str, int])
    """Explored episodes by ending; they add up to `requested` x `seats`, and `further_seats`."""
    requested: int | None = None
    """Number of requested episodes of exploration; None where it was not recorded."""
    seats: int = 1
    """Seats of each requested episode that the policy played: every one has a trajectory, and an ending in
    `explored`.
    """
    further_seats: int = 0
    """Seats beside these, of those episodes of a league that the policy played alone."""
    replayed: int = 0
    """Episodes that infrastructure broke and that were played again."""
    aborted: int = 0
    """Episodes that were aborted for new weights (`rollout.in_flight`) and played again."""
    selected: int = 0
    """Number of explored episodes that were trained on."""
    stale: int = 0
    """Episodes of earlier iterations that `select.max_lag` left out."""
    sequences: int = Field(default=0, validation_alias=AliasChoices("sequences", "rows"))
    """Number of training sequences, demonstrations and earlier iterations included; `rows` in summaries of
    earlier versions.
    """
    selection: dict[str, float] = Field(default_factory=dict[str, float])
    """Metrics of solved tasks and selection (`agentevol.data.selection.statistics`), for example
    `keep_rate`.
    """
    data: dict[str, dict[str, float]] = Field(default_factory=dict[str, dict[str, float]])
    """Metrics of the training data (`agentevol.data.composition`) by environment, for example
    `mean_weight`.
    """
    trained_tokens: int = 0
    league: tuple[LeagueEntry, ...] = ()
    """Partners of explored episodes and results beside them; empty without a league."""
    learn: dict[str, float] = Field(default_factory=dict[str, float])
    """Learner's metrics, for example `loss_last`."""
    evaluation: EvaluationSummary | None = None
    """Evaluation on the held-out split that is reported; None where the iteration was not evaluated."""
    validation: EvaluationSummary | None = None
    """Evaluation on the split by which the best checkpoint is chosen, separate from the reported one."""
    protected: dict[str, EvaluationSummary] = Field(default_factory=dict[str, EvaluationSummary])
    """Evaluations on the tasks of `protect.*` by name; of the rejected update, where there was one."""
    rejected: str | None = None
    """Reason for which the update of this iteration was rejected; its checkpoint is then the previous one."""
    proxy: float | None = None
    """Mean score of `reward.*` on the validation episodes; None without one."""
    seconds: dict[str, float] = Field(default_factory=dict[str, float])
    """Phase -> duration, for example `{"explore": 31.2, "learn": 40.0}`; `AHEAD` runs concurrently with
    others.
    """
    system: dict[str, float] = Field(default_factory=dict[str, float])
    """Use of the system (`agentevol.loop.state.system_log`), for example `explore_sampled_tokens_per_s`."""
    faults: Faults = Faults()
    """Faults since the previous iteration finished."""

    @property
    def took_s(self) -> float:
        """Duration of the iteration, the sum of its sequential phases."""
        return sum(seconds for phase, seconds in self.seconds.items() if phase != AHEAD)


class RunSummary(Record):
    """Summary of a run so far."""

    run: str
    environment: str
    config: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """The resolved configuration, nested."""
    iterations: tuple[IterationSummary, ...] = ()
    """Iterations in ascending order."""


def best(summary: RunSummary) -> IterationSummary | None:
    """The iteration with the highest success rate on the validation tasks, or else on the held-out ones; with
    `evaluate.measure = "reward"` the one with the highest mean return. In a mixed run each environment counts
    the same.

    The earliest among equals; None where nothing was evaluated.
    """
    evaluated = [one for one in summary.iterations if one.validation or one.evaluation]
    return max(evaluated, key=_mean_return if by_reward(summary) else _success_rate, default=None)


def by_reward(summary: RunSummary) -> bool:
    """Whether the run judges its checkpoints by the mean return, not by the share of episodes won."""
    return summary.config.get("evaluate", {}).get("measure") == "reward"


def _success_rate(iteration: IterationSummary) -> float:
    evaluation = iteration.validation or iteration.evaluation
    return evaluation.success or 0.0 if evaluation is not None else 0.0


def _mean_return(iteration: IterationSummary) -> float:
    evaluation = iteration.validation or iteration.evaluation
    return evaluation.mean_return or 0.0 if evaluation is not None else 0.0

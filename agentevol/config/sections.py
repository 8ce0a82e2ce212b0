"""Configuration sections: the parts of `agentevol.config.run.RunConfig`."""

from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from agentevol.core.action_formats.registry import ACTION_FORMATS
from agentevol.core.extensions import Extensions
from agentevol.core.protocols import SequenceKind
from agentgym_envs.registry import UnknownEnvironment, with_argument


class Section(BaseModel):
    """A frozen part of the configuration whose unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def listed(value: object) -> object:
    """Names from `a,b` or `[a,b]`, as an override gives them without quotes; other values unchanged."""
    if not isinstance(value, str):
        return value
    return tuple(
        name.strip() for name in value.strip().removeprefix("[").removesuffix("]").split(",") if name.strip()
    )


Names = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""Names, also in one text with commas."""
Level = Annotated[str, Field(coerce_numbers_to_str=True)]
"""Name of a difficulty, which may be a number."""

SELF_PLAY = "policy"
"""Partner in episodes with several seats: the policy itself."""
SCRIPTED_PARTNERS = ("random", "idle", "spray")
"""Partners without weights (`agentevol.engines.scripted`)."""


class EnvironmentConfig(Section):
    """Environment of the run."""

    name: str = "alfworld"
    data: Literal["generated", "official"] = "generated"
    """Source of the tasks: the environment's own generator, or `agentevol data import`."""
    url: str | None = None
    """A running server; None starts one for this run."""
    workers: int = Field(default=0, ge=0)
    """Worker processes of the started server; 0 steps cheap environments on its event loop."""
    max_turns: int | None = Field(default=None, ge=1, le=10_000)
    """Maximum actions of an episode; None is the environment's own limit."""
    format: str = "plain"
    """Action format of the policy's messages: `plain` is the action alone, `react` is
    `Thought: ... Action: ...`; one of another distribution, or `module:attribute`
    (`agentgym_envs.formats.ActionFormat`).
    """
    options: dict[str, str | int | float | bool] = {}
    """The environment's own options, for example `dialect`."""
    seats: int | None = Field(default=None, ge=1, le=64)
    """Seats of an episode that are played: all that the environment has (None), or 1, one agent with the
    environment's own partners.
    """
    partner: str = SELF_PLAY
    """Player of the seats beside the policy's, whose seat varies by task: `policy` (self-play: the policy in
    every seat), `random`, `idle`, `spray`, or a model as `base` names one (embedded engine only).
    """

    @model_validator(mode="before")
    @classmethod
    def _with_argument(cls, given: Any) -> Any:
        """`NAME:ARGUMENT` as the name and an option; of a file that is there, its absolute path."""
        if not isinstance(given, dict) or ":" not in str(given.get("name", "")):
            return given
        try:
            name, options = with_argument(str(given["name"]))
        except UnknownEnvironment as cause:
            raise ValueError(f"name: {cause}") from None
        for option, argument in options.items():
            if option in (given.get("options") or {}):
                raise ValueError(f"options.{option} is given twice: name = {given['name']!r} is one")
            options[option] = str(Path(argument).absolute()) if Path(argument).exists() else argument
        return {**given, "name": name, "options": {**(given.get("options") or {}), **options}}

    @property
    def partner_model(self) -> str:
        """Name of the partner's model: `starter` is that of this environment."""
        return f"starter:{self.name}" if self.partner == "starter" else self.partner

    @property
    def policy_seats(self) -> int:
        """Seats of an episode that the policy plays."""
        return self.seats or 1 if self.partner == SELF_PLAY else 1

    @field_validator("format")
    @classmethod
    def _is_an_action_format(cls, value: str) -> str:
        return ACTION_FORMATS.checked(value)


class ExploreConfig(Section):
    """The E-step: sample episodes from the current policy."""

    split: str | None = None
    """None is `train`."""
    difficulty: Level | None = None
    """Only tasks of this level; None draws from all."""
    tasks: int = Field(default=100, ge=1)
    """Tasks of an iteration; each iteration continues after the previous one, in an order drawn from
    `seed`.
    """
    samples: int = Field(default=4, ge=1)
    """Episodes of every task: K."""
    resample: int = Field(default=0, ge=0)
    """Maximum rounds of further tasks, in place of those whose samples all had the same return, which have no
    signal for algorithms that compare them (dynamic sampling, arXiv:2503.14476). Only the other tasks are
    trained on.
    """
    temperature: float | tuple[float, float] = 1.0
    """Sampling temperature. Two numbers are a range, `[0.5,1.0]`: each episode has one of its own, drawn
    uniformly by its seed and recorded (`Trajectory.temperature`), and is learnt at it.
    """
    max_new_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of an action; None is twice the longest action of the environment's expert, at least
    16.
    """
    retries: int = Field(default=2, ge=0)
    """Number of times that an episode broken by infrastructure is played again before it counts as failed."""
    max_failed: float = Field(default=0.05, ge=0, le=1)
    """Share of failed episodes above which the run stops."""
    commit_every: int = Field(default=64, ge=1)
    """Finished episodes in one commit to the table: the maximum loss when the run is killed."""

    @field_validator("temperature", mode="before")
    @classmethod
    def _is_above_0_and_rises(cls, value: object) -> float | tuple[float, float]:
        ends: Any = value if isinstance(value, list | tuple) else [value]
        try:
            low, *high = [float(end) for end in ends]
        except (TypeError, ValueError) as cause:
            raise ValueError(f"a number, or a range as in [0.5,1.0], not {value!r}") from cause
        if len(high) > 1 or not all(0 < end < inf for end in (low, *high)) or (high and not low < high[0]):
            raise ValueError(
                f"a finite number above 0, or a range of two of them, the lower first, as in [0.5,1.0], not"
                f" {value!r}"
            )
        return (low, high[0]) if high else low


RETURN = "return"
"""Name of the environment's return among the scores of `select.score`."""
Score = Literal["return", "reward", "judge", "self"]
"""Scores by name; `agentevol.loop.scores.sources` has the source of each."""
SELECTIONS = Extensions(
    "selection",
    "agentevol.selections",
    {
        "succeeded": "agentevol.data.selection.rules:succeeded",
        "threshold": "agentevol.data.selection.rules:threshold",
        "top_k_ratio": "agentevol.data.selection.rules:top_k_ratio",
        "best_of": "agentevol.data.selection.rules:best_of",
        "rejection": "agentevol.data.selection.rules:rejection",
        "all": "agentevol.data.selection.rules:everything",
    },
)
"""Selection rules by name. They are imported only where episodes are selected."""


class SelectConfig(Section):
    """Selection of explored episodes for training."""

    rule: str = "succeeded"
    """`succeeded`, `threshold`, `top_k_ratio`, `best_of`, `rejection`, `all`; a rule of another distribution,
    or `module:attribute` (`agentevol.data.selection.rules.Rule`).
    """
    score: Score = RETURN
    """Score of an explored episode, which stands for its return in selection and in what is learnt: `return`,
    `reward` (of `reward.function`, `reward.model` or `reward.consistency`), `judge` (`reward.judge`) or
    `self` (the policy's own opinion, `self.*`). Episodes of `retained.data` have their return.
    """
    threshold: float = 0.999
    """For `threshold`: the minimum return."""
    thresholds: dict[str, float] = {}
    """Thresholds of environments by name, in place of `threshold` and of the algorithm's
    `learn.options.threshold`: returns of different environments are of different scales. One below success
    keeps failures.
    """
    ratio: float = Field(default=0.25, gt=0, le=1)
    """For `top_k_ratio`: the share with the highest returns."""
    k: int = Field(default=1, ge=1)
    """For `best_of`: number of episodes of each task."""
    scale: float = Field(default=1.0, gt=0)
    """For `rejection`: an episode is accepted with probability return / scale."""
    per_task: int | None = Field(default=4, ge=1)
    """Maximum episodes of one task: among equal returns shorter ones first, then those with fewer actions
    that the environment could not carry out.
    """
    distinct: bool = True
    """Drop episodes that repeat the actions of an already selected one of the same task."""
    min_turns: int | None = Field(default=None, ge=1)
    """Minimum turns of a selected episode."""
    max_turns: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    turns: Literal["all", "valid", "fresh"] = "fresh"
    """Turns of a selected episode that are trained on: all, those that the environment could carry out, or
    only those of the latter that did not repeat an earlier turn (same action, same answer). The others stay
    in the context.
    """
    sequences: SequenceKind = "fork"
    """Conversion of turns into training sequences. `fork`: a turn whose prompt extends all previous prompts
    and samples continues the sequence, any other begins a new one. `append_only`: such another one is an
    error. `per_step`: a sequence for every turn. An episode counts once, whatever its number of sequences,
    and turns that did not extend the previous ones are counted as `drift_events`.
    """
    merge: Literal["expert", "cumulative", "replay", "none"] = "cumulative"
    """Data trained on together with this iteration's episodes: demonstrations, all earlier selections too, a
    share of these and of retained episodes (`replay.*`), nothing.
    """
    max_lag: int | None = Field(default=None, ge=0)
    """Maximum number of updates between the weights that sampled an episode and those that explored last in
    its run: staler episodes are left out. Episodes that no policy sampled (demonstrations, imported texts)
    have no age, and neither have retained episodes of another run.

    None keeps all: imitation, as AgentEvol, trains on all its rounds on purpose. Where `agentevol train`
    trains on a table with an algorithm that reads rewards (the policy gradients), it is 4 unless given; in a
    run these train on samples of the latest weights, with no stale ones to leave out.
    """

    @field_validator("rule")
    @classmethod
    def _is_known(cls, value: str) -> str:
        return SELECTIONS.checked(value)

    @model_validator(mode="after")
    def _some_length_is_selected(self) -> "SelectConfig":
        if self.min_turns is not None and self.max_turns is not None and self.min_turns > self.max_turns:
            raise ValueError(
                f"min_turns {self.min_turns} is above max_turns {self.max_turns}: nothing is both"
            )
        return self


class PairsConfig(Section):
    """Preference pairs among the episodes of a task, for algorithms that learn from preferences."""

    strategy: Literal["best_worst", "adjacent", "all_capped", "same_prefix"] = "best_worst"
    """One pair of a task; every episode with the next worse; any, at most `per_task`; of these only those
    with a common prefix, after which training begins.
    """
    per_task: int = Field(default=8, ge=1)
    """For `all_capped`, `same_prefix` and `demonstrations`."""
    demonstrations: Literal["lost", "any"] | None = None
    """In a run, pairs in which the expert's episode of `demonstrations.tasks` is chosen: above own episodes
    of its task that are lost, beside the pairs of own ones (ETO, arXiv:2403.02502), or above any own one, in
    place of them, with the latest policy as the reference model (SPIN, arXiv:2401.01335).
    """
    memory: int = Field(default=0, ge=0)
    """In a run, the number of earlier iterations whose lost episodes may be rejected sides, too, where their
    task is explored again.
    """
    outcome_gap: float = Field(default=0.1, ge=0)
    """Returns that differ by less are equal."""
    tie_breaks: bool = False
    """True if, among episodes with equal success and return, the one with fewer invalid actions, turns or
    tokens is better. Among lost ones this rewards losing quickly.
    """
    truncated_is_loss: bool = False
    """True if an episode that a limit ended may be rejected, or labelled undesirable, for that reason."""


class KLTarget(Section):
    """Adaptive KL coefficient that follows a target (arXiv:1909.08593)."""

    target: float = Field(default=0.1, gt=0)
    """In nats, of the mean over tokens."""
    horizon: float = Field(default=10_000, gt=0)
    """Number of episodes in which the coefficient can change by about a fifth."""


class HorizonConfig(Section):
    """Growing length of explored episodes in the course of the run (ScalingInter, arXiv:2509.08755)."""

    rounds: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1)
    """Allowed turns, one number after another, never decreasing."""
    every: int = Field(default=1, ge=1)
    """Iterations of each; with `success`, the number in a row that has to reach it."""
    success: float | None = Field(default=None, gt=0, le=1)
    """Continue with the next number only at this success rate on the validation tasks; None goes by the
    iteration alone.
    """

    @model_validator(mode="after")
    def _rounds_never_decrease(self) -> "HorizonConfig":
        if list(self.rounds) != sorted(self.rounds):
            raise ValueError(f"rounds are never fewer turns than before: {list(self.rounds)}")
        return self


class DemonstrationConfig(Section):
    """Episodes of the environment's expert: D_s of AgentEvol."""

    tasks: int = Field(default=0, ge=0)
    """Number of tasks of the explored split, with an episode of each. `select.merge` says whether iterations
    train on them, too.
    """
    weight: float = Field(default=1.0, gt=0)
    """Weight of their training sequences, relative to explored ones."""
    clone: bool | None = None
    """True to train the base on them before the first round (behavioural cloning); None: where it is no agent
    yet, that is, without `agentevol.json`.
    """
    epochs: int | None = Field(default=None, ge=1)
    """Epochs of cloning; None is `learn.epochs`."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Learning rate of cloning; None is `learn.learning_rate`."""

    @model_validator(mode="after")
    def _clones_what_is_shown(self) -> "DemonstrationConfig":
        if self.clone and not self.tasks:
            raise ValueError("clone has no effect without tasks")
        for name in ("epochs", "learning_rate"):
            if getattr(self, name) is not None and (self.clone is False or not self.tasks):
                raise ValueError(f"{name} has no effect without clone")
        return self


class EvaluateConfig(Section):
    """Evaluation of a policy on tasks that are never trained on."""

    split: str | None = None
    """None is `test`, or where the environment has no such split the part `train:test` of the explored
    one.
    """
    difficulty: Level | None = None
    """Only tasks of this level; None plays all."""
    held_out: float = Field(default=0.1, gt=0, lt=0.5)
    """Share of the explored split that each of its parts `train:valid` and `train:test` holds out."""
    episodes: int | None = Field(default=200, ge=1)
    """Number of tasks, evenly over the split; None plays all."""
    validation_split: str | None = None
    """Split by which the best checkpoint is chosen; None is `valid`, or where the environment has no such
    split the part `train:valid` of the explored one.
    """
    validation_episodes: int | None = Field(default=100, ge=1)
    measure: Literal["success", "reward"] = "success"
    """Measure by which the best checkpoint is chosen: the share of episodes won, or the mean return, for
    environments that are seldom won outright and reward what comes near.
    """
    temperature: float = Field(default=0.0, ge=0)
    """0 is greedy."""
    patience: int | None = Field(default=None, ge=1)
    """Stop early after this many iterations without a better checkpoint."""


class RayConfig(Section):
    """Placement of the processes on Ray."""

    address: str | None = None
    """None starts Ray on this machine; `auto` or an address joins a cluster that this machine belongs to."""
    cpus: int | None = Field(default=None, ge=1)
    """Number of processors of a Ray started here; None lets Ray count."""
    environment_labels: dict[str, str] = {}
    """With `address`: labels of the nodes of which one hosts the environment server (`ray start --labels
    role=worlds`). Without any it is on the machine that starts the run.
    """
    max_replacements: int = Field(default=5, ge=0)
    """Maximum replacements of one worker or learner without an episode finished, or a new training step
    taken; then the run stops.
    """
    start_timeout_s: float = Field(default=1800.0, gt=0)
    """Seconds after which a worker that has not started counts as lost."""

    @model_validator(mode="after")
    def _joins_or_starts(self) -> "RayConfig":
        if self.address is not None and self.cpus is not None:
            raise ValueError("cpus has no effect with address: a cluster knows its processors")
        if self.environment_labels and self.address is None:
            raise ValueError("environment_labels has no effect without address: there is one machine")
        if self.address is not None and self.address.startswith("ray://"):
            raise ValueError("address: begin the run on a node of the cluster, with ray.address = 'auto'")
        return self

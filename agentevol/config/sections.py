"""Configuration sections: the parts of `agentevol.config.run.RunConfig`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from agentevol.config.registries import REWARDS
from agentevol.core.algorithms.contract import Option
from agentevol.core.extensions import Extensions
from agentevol.core.protocols import RowKind

Rule = Literal["invalid_actions", "format", "repetitions"]
"""Rules that a turn may violate, checked without a model."""


class Section(BaseModel):
    """A frozen part of the configuration whose unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
    format: Literal["plain", "react"] = "plain"
    """Format of a policy's action: bare, or as `Thought: ... Action: ...`."""
    options: dict[str, str | int | float | bool] = {}
    """The environment's own options, for example `dialect`."""


class ExploreConfig(Section):
    """The E-step: sample episodes from the current policy."""

    split: str | None = None
    """None is `train`."""
    difficulty: str | None = None
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
    temperature: float = Field(default=1.0, gt=0)
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
    max_turns: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    turns: Literal["all", "valid", "fresh"] = "fresh"
    """Turns of a selected episode that are trained on: all, those that the environment could carry out, or
    only those of the latter that did not repeat an earlier turn (same action, same answer). The others stay
    in the context.
    """
    rows: RowKind = "fork"
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


class PairsConfig(Section):
    """Preference pairs among the episodes of a task, for algorithms that learn from preferences."""

    strategy: Literal["best_worst", "adjacent", "all_capped", "same_prefix"] = "best_worst"
    """One pair of a task; every episode with the next worse; any, at most `per_task`; of these only those
    with a common prefix, after which training begins.
    """
    per_task: int = Field(default=8, ge=1)
    """For `all_capped` and `same_prefix`."""
    outcome_gap: float = Field(default=0.1, ge=0)
    """Returns that differ by less are equal."""
    tie_breaks: bool = False
    """True if, among episodes with equal success and return, the one with fewer invalid actions, turns or
    tokens is better. Among lost ones this rewards losing quickly.
    """
    truncated_is_loss: bool = False
    """True if an episode that a limit ended may be rejected, or labelled undesirable, for that reason."""


class CautionConfig(Section):
    """Combination of a reward model's heads into one score, after each was standardised
    (arXiv:2310.02743).
    """

    combination: Literal["mean", "min", "lcb", "uwo", "independent"] = "lcb"
    """Combination of an ensemble's members, each of which first weights its objectives: their mean; the
    lowest; the mean less `kappa` standard deviations; the mean less `penalty` variances. `independent` is
    `lcb` with the deviations of the objectives added up as if their errors were independent.
    """
    kappa: float = Field(default=1.0, ge=0)
    penalty: float = Field(default=0.1, ge=0)
    weights: dict[str, float] = {}
    """Weights of objectives by name, scaled to add up to 1 in absolute value; empty weights all alike."""

    @model_validator(mode="after")
    def _caution_has_an_effect(self) -> "CautionConfig":
        for name, used in (("kappa", ("lcb", "independent")), ("penalty", ("uwo",))):
            default = CautionConfig.model_fields[name].default
            if getattr(self, name) != default and self.combination not in used:
                raise ValueError(f"{name} has no effect without combination {used[0]!r}")
        if self.weights and not any(self.weights.values()):
            raise ValueError("weights that are all 0 weigh nothing: leave out weights, or give one")
        return self


class RewardConfig(Section):
    """Scores of explored episodes, in place of the environment's return or in addition to it: of a function
    or of a reward model.

    The model is a checkpoint of `agentevol train TABLE algorithm=bradley_terry` on the run's own base: it
    reads the same tokens. Or the run trains it (`refresh`). Evaluations use the environment's own rewards.
    """

    function: str | None = None
    """Reward function: `success`, `discounted_return`, `good_accuracy`; one of another distribution, or
    `module:attribute` (`agentevol.data.rewards.reward_functions.RewardFunction`).
    """
    model: str | None = None
    """Folder of a reward model; without any source only the environment's rewards are used."""
    refresh: bool = False
    """Train it, or continue to train it, in every iteration on pairs of explored episodes (`pairs.*`), before
    it scores them. Without `model` it begins from the base.
    """
    learning_rate: float = Field(default=3e-4, gt=0)
    epochs: int = Field(default=1, ge=1)
    """Epochs of its training: reward models overfit soon. All other settings are those of `learn`."""
    options: dict[str, Option] = {}
    """Options of the function, or with `refresh` of the algorithm `bradley_terry`."""
    alpha: float = Field(default=0.0, ge=0)
    """Weight of an episode's return, at its last turn."""
    beta: float = Field(default=1.0, gt=0)
    """Weight of the score, at the last turn too."""
    caution: CautionConfig = CautionConfig()
    patience: int | None = Field(default=2, ge=1)
    """Stop when for this number of evaluations in a row the score of the validation episodes rose and their
    return fell: the score is exploited. None continues; with `refresh`, scores of two iterations cannot be
    compared.
    """

    @property
    def on(self) -> bool:
        """True if episodes have scores."""
        return self.learnt or self.function is not None

    @property
    def learnt(self) -> bool:
        """True if a reward model scores episodes."""
        return self.refresh or self.model is not None

    @field_validator("function")
    @classmethod
    def _is_a_function(cls, value: str | None) -> str | None:
        return value if value is None else REWARDS.checked(value)


class ProcessConfig(Section):
    """Rewards for single turns, from a process reward model that is trained on the success of continuations.

    Turns are rewarded by value differences, which add up to outcome - V(start): algorithms that compare whole
    episodes (grpo, rloo) see little of them, those that give credit to turns (ppo, reinforce_pp, gigpo) do.
    """

    continuations: int = Field(default=0, ge=0)
    """Continuations from every state with a value: K. 0 leaves the environment's rewards unchanged."""
    pooled: bool = False
    """Estimate values of states by the explored episodes of the task that passed through them, at least 3,
    instead of continuations: for environments that cannot be replayed, and whose observations identify their
    states.
    """
    model: str | None = None
    """Folder of an earlier process reward model with these heads, as the initial one: a checkpoint of
    `agentevol train TABLE algorithm=process_reward` on the run's own base, or of another run's `process/`.
    Without continuations and pooling it is not trained; None begins with a model that says 0.5 for
    everything.
    """
    heads: dict[str, Annotated[float, Field(ge=0)]] = {"outcome": 1.0}
    """Heads of the model with their weights: names of `agentevol.data.rewards.objectives` from 0 to 1. A
    weight of 0 leaves a head out.
    """
    rules: dict[Rule, Annotated[float, Field(gt=0)]] = {}
    """Cost of a turn whose action the environment could not carry out, whose text was in no mode's format, or
    that repeated an earlier action in the same state.
    """
    share: float = Field(default=0.25, gt=0, le=1)
    """Share of the explored episodes with valued states."""
    states: int = Field(default=2, ge=1)
    """Maximum number of valued states of such an episode."""
    alpha: float = Field(default=1.0, ge=0)
    """Weight of the episode's return, at its last turn."""
    beta: float = Field(default=0.5, gt=0)
    """Weight of the value differences."""
    discount: float = Field(default=1.0, gt=0, le=1)
    """Discount of the value after a turn against the one before it; that of the algorithm (`gamma`), if it
    has one.
    """
    learning_rate: float = Field(default=3e-4, gt=0)
    epochs: int = Field(default=2, ge=1)
    """Epochs of its training; all other settings are those of `learn`."""
    options: dict[str, Option] = {}
    """Options of the algorithm `process_reward`."""

    @property
    def on(self) -> bool:
        """True if turns have their own rewards."""
        return self.learns or self.model is not None

    @property
    def learns(self) -> bool:
        """True if states are valued, and the model is trained on the policy's episodes."""
        return self.pooled or self.continuations > 0

    @property
    def model_heads(self) -> dict[str, float]:
        """Heads with a weight above 0, in a fixed order."""
        return {name: weight for name, weight in sorted(self.heads.items()) if weight}


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
    difficulty: str | None = None
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

"""What can be set, group by group: the parts of `agentevol.config.run.RunConfig`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from agentevol.config.urls import check_url
from agentevol.extensions import Extensions
from agentevol.learn.algorithms.contract import Option
from agentevol.protocols import InFlightRule, Overflow, RowKind, Transfer

NEW_TOKENS = 16
"""Tokens of an action, at most, where nothing says what the environment needs."""

Rule = Literal["invalid_actions", "format", "repetitions"]
"""What a turn may break, seen without a model."""


class Section(BaseModel):
    """A frozen part of the configuration whose unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EnvironmentConfig(Section):
    """The world to live in."""

    name: str = "alfworld"
    data: Literal["generated", "official"] = "generated"
    """Whose tasks: the environment's own generator's, or those brought in by `agentevol data import`."""
    url: str | None = None
    """A server that already runs; None starts one for this run."""
    workers: int = Field(default=0, ge=0)
    """Worker processes of the server that is started; 0 steps cheap environments on its event loop."""
    max_turns: int | None = Field(default=None, ge=1, le=10_000)
    """Actions in an episode, at most; None is the environment's own limit."""
    format: Literal["plain", "react"] = "plain"
    """How a policy writes its action: bare, or as `Thought: ... Action: ...`."""
    options: dict[str, str | int | float | bool] = {}
    """The environment's own options, for example `dialect`."""


class EngineConfig(Section):
    """What acts."""

    name: Literal["embedded", "vllm"] = "embedded"
    """`embedded` is transformers in the worker itself; `vllm` has to be installed."""
    workers: int = Field(default=2, ge=1)
    """Processes, each with its own copy of the weights, for `vllm` on GPUs of its own where there are any."""
    tensor_parallel: int = Field(default=1, ge=1)
    """For `vllm`: GPUs of one node that hold a worker's weights together, each a part of every layer; on a
    CPU so many processes. It has to divide the model's attention heads.
    """
    colocated: bool = False
    """For `vllm`: learners compute on the GPUs of rollout workers, in turns with them, and claim none: vLLM
    sleeps while they do.
    """
    slots: int = Field(default=48, ge=1)
    """Episodes that a worker samples for at a time."""
    episodes: int | None = Field(default=None, ge=1)
    """For `vllm`: episodes in flight on a worker; with more than `slots`, others are sampled for while some
    wait for their worlds. None is `slots`.
    """
    threads: int = Field(default=1, ge=1)
    """CPU threads of a worker."""
    context: int | None = Field(default=None, ge=32)
    """Tokens of a prompt and what is said then, at most; None is the model's own limit."""
    overflow: Overflow = "truncate"
    """What becomes of an episode that no longer fits. `truncate`: it ends, truncated(context). `drop_oldest`:
    the oldest actions, each with what the world answered to it, are left out of the prompt, as many as it
    takes to come down to half of the context; what opens the episode stays. A turn with such a prompt begins
    another row (`select.rows`).
    """
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """What the policy computes in."""
    stall_s: float = Field(default=600.0, gt=0)
    """A worker that finished no episode for so long, while another did, is replaced: longer than any episode
    takes.
    """
    cache_gib: float | None = Field(default=None, gt=0)
    """For `vllm`: memory of a worker for keys and values, on each of its GPUs. None is room for all slots on
    a CPU, and what vLLM finds free on a GPU.
    """
    transfer: Transfer = "disk"
    """For `vllm`: how new weights come. `disk`: the engine reads the checkpoint. `nccl`: the learner sends
    them from its GPU to those of the engines. `ipc`: it shows them to the engine on the same GPU
    (`engine.colocated`). `gloo`: it sends them between CPUs.
    """
    lora: bool = False
    """For `vllm`, with `learn.lora.keep`: it reads the weights under the adapters once, and of an update the
    adapters alone.
    """
    url: str | tuple[str, ...] | None = None
    """For `vllm`: one server that already runs, or several, in place of starting vLLM in the workers."""
    api_key_env: str | None = None
    """The name of the environment variable that holds the servers' key; the key itself is written nowhere."""
    chat_template_kwargs: dict[str, JsonValue] = {}
    """Variables of the base's chat template, for example `enable_thinking`. One that the template does not
    read is refused.
    """

    @field_validator("url")
    @classmethod
    def _of_endpoints(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        return value if value is None else _urls(value)

    @property
    def capacity(self) -> int:
        """Episodes that a worker plays at a time."""
        return self.episodes or self.slots

    @property
    def gpus(self) -> int:
        """That all workers hold where there are any."""
        return self.workers * self.tensor_parallel

    @property
    def urls(self) -> tuple[str, ...]:
        """The servers; none where vLLM is started here."""
        return (self.url,) if isinstance(self.url, str) else self.url or ()


def _urls(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Raises `ValueError` for what is no endpoint, and for one that is named twice."""
    if isinstance(value, str):
        return check_url(value)
    urls = tuple(map(check_url, value))
    if not urls or len(set(urls)) < len(urls):
        raise ValueError("several servers are a list of different URLs")
    return urls


class ExploreConfig(Section):
    """The E-step: sample episodes from the current policy."""

    split: str | None = None
    """None is `train`."""
    difficulty: str | None = None
    """Only tasks of this level; None draws from all."""
    tasks: int = Field(default=100, ge=1)
    """Tasks in an iteration; each goes on where the last one ended, in an order drawn from `seed`."""
    samples: int = Field(default=4, ge=1)
    """Episodes of every task: K."""
    resample: int = Field(default=0, ge=0)
    """Rounds of further tasks, at most, in place of those whose samples all earned the same, which teach
    nothing to algorithms that compare them (dynamic sampling, arXiv:2503.14476). Only the others are learnt
    from.
    """
    temperature: float = Field(default=1.0, gt=0)
    max_new_tokens: int | None = Field(default=None, ge=1)
    """Tokens of an action, at most; None is twice the longest action of the environment's expert, at least
    16.
    """
    retries: int = Field(default=2, ge=0)
    """How often an episode that infrastructure broke is played again before it counts as failed."""
    max_failed: float = Field(default=0.05, ge=0, le=1)
    """Share of failed episodes above which the run stops."""
    commit_every: int = Field(default=64, ge=1)
    """Finished episodes in one commit to the table: what a kill can cost at most."""


class RolloutConfig(Section):
    """When a round is explored: after the one before it was learnt from, or beside that."""

    mode: Literal["synchronous", "one_step_off", "asynchronous"] = "synchronous"
    """`one_step_off` explores a round while the one before it is learnt from, with the weights before that
    update. `asynchronous` explores up to `max_staleness` rounds beyond the one that is learnt from, without
    a pause when the weights change.
    """
    max_staleness: int = Field(default=2, ge=1, le=64)
    """For `asynchronous`: updates between the weights that sampled a turn and those that begin to learn from
    it, at most.
    """
    in_flight: InFlightRule = "continue"
    """For `asynchronous`: what new weights mean to episodes under way. They go on under them from their next
    turn on; they end first, and no other begins; they are given up and played again.
    """

    @property
    def rounds_ahead(self) -> int:
        """How many rounds may be under way beyond the one that is learnt from."""
        return {"synchronous": 0, "one_step_off": 1, "asynchronous": self.max_staleness}[self.mode]


SELECTIONS = Extensions(
    "selection",
    "agentevol.selections",
    {
        "succeeded": "agentevol.loop.rules:succeeded",
        "threshold": "agentevol.loop.rules:threshold",
        "top_k_ratio": "agentevol.loop.rules:top_k_ratio",
        "best_of": "agentevol.loop.rules:best_of",
        "rejection": "agentevol.loop.rules:rejection",
        "all": "agentevol.loop.rules:everything",
    },
)
"""Rules by name. They are imported only where episodes are selected."""


class SelectConfig(Section):
    """Which of the explored episodes are learnt from."""

    rule: str = "succeeded"
    """`succeeded`, `threshold`, `top_k_ratio`, `best_of`, `rejection`, `all`; one of another distribution, or
    `module:attribute` (`agentevol.loop.rules.Rule`).
    """
    threshold: float = 0.999
    """For `threshold`: the least return."""
    thresholds: dict[str, float] = {}
    """Of environments by name, in place of `threshold` and of the algorithm's `learn.options.threshold`:
    returns of different worlds are of different scales. One below success keeps failures.
    """
    ratio: float = Field(default=0.25, gt=0, le=1)
    """For `top_k_ratio`: the share with the highest returns."""
    k: int = Field(default=1, ge=1)
    """For `best_of`: how many of a task's episodes."""
    scale: float = Field(default=1.0, gt=0)
    """For `rejection`: an episode is accepted with probability return / scale."""
    per_task: int | None = Field(default=4, ge=1)
    """Episodes of one task, at most: of equal return shorter ones first, then those with fewer actions that
    the world could not carry out.
    """
    distinct: bool = True
    """Drop episodes with the actions of one already taken of the same task."""
    max_turns: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    turns: Literal["all", "valid", "fresh"] = "fresh"
    """Which turns of a selected episode are learnt: all, those that the world could carry out, or of these
    only the ones that did not repeat an earlier turn (same action, same answer). The others stay in the
    context.
    """
    rows: RowKind = "fork"
    """How turns become rows of tokens. `fork`: a turn whose prompt extends all that was read and said before
    it continues the row, any other begins a new one. `append_only`: such another one is an error. `per_step`:
    a row for every turn. An episode counts once, however many rows it has, and turns that did not extend what
    came before are counted as `drift_events`.
    """
    merge: Literal["expert", "cumulative", "replay", "none"] = "cumulative"
    """What this iteration's episodes are learnt together with: demonstrations, all earlier selections too, a
    share of these and of retained episodes (`replay.*`), nothing.
    """
    max_lag: int | None = Field(default=None, ge=0)
    """Updates between the weights that sampled an episode and those that explored last in its run, at most:
    what is staler is left out. What no policy sampled (demonstrations, imported texts) has no age, nor has
    what is retained of another run.

    None keeps all: imitation, as AgentEvol, learns from all its rounds on purpose. Where `agentevol train`
    learns from a table with an algorithm that reads rewards (the policy gradients), it is 4 unless given; in
    a run these learn from what the latest weights sampled, with nothing stale to leave out.
    """

    @field_validator("rule")
    @classmethod
    def _is_known(cls, value: str) -> str:
        return SELECTIONS.checked(value)


class PairsConfig(Section):
    """Which episodes of a task are set against each other, for algorithms that learn from preferences."""

    strategy: Literal["best_worst", "adjacent", "all_capped", "same_prefix"] = "best_worst"
    """One pair of a task; every episode with the next worse; any, at most `per_task`; of these only those
    that begin alike, and only what follows is learnt.
    """
    per_task: int = Field(default=8, ge=1)
    """For `all_capped` and `same_prefix`."""
    outcome_gap: float = Field(default=0.1, ge=0)
    """Returns that differ by less are equal."""
    tie_breaks: bool = False
    """Whether of episodes with equal success and return the one with fewer invalid actions, turns or tokens
    is better. Among lost ones that says: lose quickly.
    """
    truncated_is_loss: bool = False
    """Whether an episode that a limit ended may be rejected, or labelled undesirable, for that."""


class CautionConfig(Section):
    """How the heads of a reward model become one score, after each was standardised (arXiv:2310.02743)."""

    combination: Literal["mean", "min", "lcb", "uwo", "independent"] = "lcb"
    """Of an ensemble's members, each of which weighs its objectives first: their mean; the lowest; the mean
    less `kappa` standard deviations; the mean less `penalty` variances. `independent` is `lcb` with the
    deviations of the objectives added up as if they erred independently.
    """
    kappa: float = Field(default=1.0, ge=0)
    penalty: float = Field(default=0.1, ge=0)
    weights: dict[str, float] = {}
    """Of objectives by name, scaled to add up to 1 in absolute value; none counts all alike."""

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
    """What a reward model says of explored episodes, in place of the world's return or beside it.

    It is a checkpoint of `agentevol train TABLE algorithm=bradley_terry` on the run's own base: it reads the
    same tokens. Or the run learns it (`refresh`). Evaluations stay the world's own.
    """

    model: str | None = None
    """Its folder; without it and `refresh` the world's rewards are all that is learnt from."""
    refresh: bool = False
    """Learn it, or go on learning it, in every iteration from pairs of what was explored (`pairs.*`), before
    it judges them. Where there is no `model` it begins from the base.
    """
    learning_rate: float = Field(default=3e-4, gt=0)
    epochs: int = Field(default=1, ge=1)
    """How it learns: reward models overfit soon. It shares everything else with `learn`."""
    options: dict[str, Option] = {}
    """Those of the algorithm `bradley_terry`."""
    alpha: float = Field(default=0.0, ge=0)
    """What the return of an episode counts, at its last turn."""
    beta: float = Field(default=1.0, gt=0)
    """What the score of the reward model counts, there too."""
    caution: CautionConfig = CautionConfig()
    patience: int | None = Field(default=2, ge=1)
    """Stop when for so many evaluations in a row the score of the validation episodes rose and their return
    fell: the model is exploited. None goes on; with `refresh`, scores of two iterations cannot be compared.
    """

    @property
    def on(self) -> bool:
        """Whether a reward model judges episodes."""
        return self.refresh or self.model is not None


class ProcessConfig(Section):
    """Rewards for single turns, from a process reward model that learns how often continuations succeed.

    Turns are rewarded by value differences, which add up to outcome - V(start): algorithms that compare whole
    episodes (grpo, rloo) see little of them, those that give credit to turns (ppo, reinforce_pp, gigpo) do.
    """

    continuations: int = Field(default=0, ge=0)
    """Played from every state that is valued: K. 0 leaves the world's rewards as they are."""
    pooled: bool = False
    """Value states by the explored episodes of the task that passed through them, at least 3, instead of
    playing on: for worlds that cannot be replayed, and whose observations name their states.
    """
    model: str | None = None
    """The folder of an earlier process reward model with these heads, to begin with: a checkpoint of
    `agentevol train TABLE algorithm=process_reward` on the run's own base, or of another run's `process/`.
    Without continuations and pooling it stays as it is; None begins with what says 0.5 of everything.
    """
    heads: dict[str, Annotated[float, Field(ge=0)]] = {"outcome": 1.0}
    """What the model predicts, and what each counts: names of `agentevol.rewards.objectives` from 0 to 1. A
    weight of 0 leaves a head out.
    """
    rules: dict[Rule, Annotated[float, Field(gt=0)]] = {}
    """What a turn costs whose action the world could not carry out, whose text was in no mode's format, or
    which did what was done before in the same state.
    """
    share: float = Field(default=0.25, gt=0, le=1)
    """Of the explored episodes, how many have states that are valued."""
    states: int = Field(default=2, ge=1)
    """States of such an episode, at most."""
    alpha: float = Field(default=1.0, ge=0)
    """What the return of the episode counts, at its last turn."""
    beta: float = Field(default=0.5, gt=0)
    """What the value differences count."""
    discount: float = Field(default=1.0, gt=0, le=1)
    """Of the value after a turn against the one before it; that of the algorithm (`gamma`), if it has one."""
    learning_rate: float = Field(default=3e-4, gt=0)
    epochs: int = Field(default=2, ge=1)
    """How the model learns; it shares everything else with `learn`."""
    options: dict[str, Option] = {}
    """Those of the algorithm `process_reward`."""

    @property
    def on(self) -> bool:
        """Whether turns have rewards of their own."""
        return self.learns or self.model is not None

    @property
    def learns(self) -> bool:
        """Whether states are valued, and the model follows the policy."""
        return self.pooled or self.continuations > 0

    @property
    def model_heads(self) -> dict[str, float]:
        """The heads that count, in a fixed order."""
        return {name: weight for name, weight in sorted(self.heads.items()) if weight}


class KLTarget(Section):
    """A KL coefficient that follows a target instead of staying where it began (arXiv:1909.08593)."""

    target: float = Field(default=0.1, gt=0)
    """In nats, of the mean over tokens."""
    horizon: float = Field(default=10_000, gt=0)
    """Episodes in which the coefficient can change by about a fifth."""


class HorizonConfig(Section):
    """Explored episodes that grow longer as the run goes on (ScalingInter, arXiv:2509.08755)."""

    rounds: tuple[int, ...] = ()
    """Turns allowed, one after another, never fewer; empty allows the environment's own limit."""
    every: int = Field(default=1, ge=1)
    """Iterations of each; with `success`, how many in a row have to reach it."""
    success: float | None = Field(default=None, gt=0, le=1)
    """Go on to the next only when the validation tasks are won so often; None goes by the iteration alone."""


class DemonstrationConfig(Section):
    """Episodes of the environment's expert: D_s of AgentEvol."""

    tasks: int = Field(default=0, ge=0)
    """So many tasks of the explored split, an episode of each. `select.merge` says whether iterations learn
    them, too.
    """
    weight: float = Field(default=1.0, gt=0)
    """Of their rows, beside those that were explored."""
    clone: bool | None = None
    """Whether the base learns them before the first round (behavioural cloning); None: where it is no agent
    yet, which is one without `agentevol.json`.
    """
    epochs: int | None = Field(default=None, ge=1)
    """Of cloning; None is `learn.epochs`."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Of cloning; None is `learn.learning_rate`."""


class EvaluateConfig(Section):
    """How good a policy is on tasks that nothing is learnt from."""

    split: str | None = None
    """None is `test`, or where the world has no such split the part `train:test` of the explored one."""
    difficulty: str | None = None
    """Only tasks of this level; None plays all."""
    held_out: float = Field(default=0.1, gt=0, lt=0.5)
    """Share of the explored split that each of its parts `train:valid` and `train:test` holds out."""
    episodes: int | None = Field(default=200, ge=1)
    """So many tasks, evenly over the split; None plays all."""
    validation_split: str | None = None
    """The best checkpoint is chosen on this one; None is `valid`, or where the world has no such split the
    part `train:valid` of the explored one.
    """
    validation_episodes: int | None = Field(default=100, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    """0 is greedy."""
    patience: int | None = Field(default=None, ge=1)
    """Stop early after this many iterations without a better checkpoint."""


class RayConfig(Section):
    """Where the processes run."""

    address: str | None = None
    """None starts Ray on this machine; `auto` or an address joins a cluster that this machine belongs to."""
    cpus: int | None = Field(default=None, ge=1)
    """Processors that a Ray started here believes to have; None lets it count."""
    environment_labels: dict[str, str] = {}
    """With `address`: labels of the nodes of which one is to have the environment server (`ray start
    --labels role=worlds`). Without any it is on the machine where the run is begun.
    """
    max_replacements: int = Field(default=5, ge=0)
    """How often one worker or learner may be replaced without an episode finished, or a learning step taken
    that had not been taken before; then the run stops.
    """
    start_timeout_s: float = Field(default=1800.0, gt=0)
    """A process that has not started for so long is lost."""

"""Run configuration: `RunConfig`, read from a TOML file and `key.path=value` overrides.

Every key is checked: an unknown one is an error which names it. Defaults are the vetted values of the
embedded run on two cores. The resolved copy beside the results is itself a valid input.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import tomli_w
from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from agentevol.config import checks
from agentevol.config.files.merging import merged
from agentevol.config.files.migration import migrated
from agentevol.config.files.reading import apply_override, nulls_as_text, read_toml
from agentevol.config.mixture import check_mixture, environment_configs, with_mixture
from agentevol.config.presets.defaults import (
    ALGORITHM_BY_ENVIRONMENT,
    BY_DATA,
    BY_ENVIRONMENT,
    BY_NAME,
    BY_REWARD,
    IMITATION,
    IMITATION_BY_ENVIRONMENT,
    MIXED_IMITATION,
    OFFICIAL,
    STALE,
    TRAIN_BY_DATA,
)
from agentevol.config.presets.methods import METHODS, method_settings
from agentevol.config.presets.placements import names as placements
from agentevol.config.presets.placements import preset_file
from agentevol.config.rewards.process import EnvironmentTurnReward, ProcessConfig, TrainedProcess
from agentevol.config.rewards.reward import CautionConfig, EnvironmentReward, LearntModelReward, RewardConfig
from agentevol.config.rewards.shaping import ShapingConfig, check_shaping
from agentevol.config.sections.alternatives import complaint
from agentevol.config.sections.cluster import RayConfig
from agentevol.config.sections.constraints import Constraint
from agentevol.config.sections.engine import EmbeddedConfig, EngineConfig, VllmConfig
from agentevol.config.sections.environment import EnvironmentConfig, names_in
from agentevol.config.sections.evaluation import EvaluateConfig
from agentevol.config.sections.exploration import DemonstrationConfig, ExploreConfig, HorizonConfig
from agentevol.config.sections.forgetting import (
    InterpolateConfig,
    ProbeConfig,
    ProtectedTasks,
    ReplayConfig,
    RetainedConfig,
)
from agentevol.config.sections.learner import KLTarget, LearnConfig
from agentevol.config.sections.metrics import DEFAULT, SINKS
from agentevol.config.sections.mixture import MixedEnvironment
from agentevol.config.sections.rollout import RolloutConfig, SynchronousConfig
from agentevol.config.sections.section import Names, Section
from agentevol.config.sections.selection import RETURN, PairsConfig, SelectConfig
from agentevol.config.self_evolution.feedback import (
    OPINION,
    FeedbackConfig,
    RunFeedbackConfig,
    check_algorithm,
    check_choice,
    in_short,
)
from agentevol.config.self_evolution.guards import GuardsConfig
from agentevol.config.self_evolution.population import PopulationConfig, check_members, spans
from agentevol.config.self_evolution.scores import check_opinions, check_score, check_scored_data
from agentevol.config.self_evolution.self_evaluation import SelfConfig
from agentevol.config.self_evolution.selfplay import SelfPlayConfig, check_baseline, check_league
from agentevol.core.action_formats.registry import ACTION_FORMATS
from agentevol.core.algorithms.contract import Option
from agentevol.core.algorithms.registry import algorithm, objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import NEW_TOKENS, Sampling
from agentevol.core.splits import parent
from agentevol.core.starter_names import MANY, starter_name
from agentgym_store.errors import StoreError
from agentgym_store.urls import checked

_SMALL: dict[str, Any] = {
    "learning_rate": 3e-4,
    "batch_tokens": 2048,
    "micro_batch_tokens": 4096,
    "epochs": 2,
    "threads": 2,
    "betas": (0.9, 0.95),
}
"""Learning settings of a policy of a few million weights on two cores."""


class RunConfig(Section):
    """Complete configuration of one run."""

    name: str = "evolve"
    seed: int = Field(default=0, ge=0, lt=2**31)
    iterations: int = Field(default=5, ge=1)
    base: str = "starter:alfworld"
    """The initial policy: `starter` (that of the environment, or `starter:many` of several) or
    `starter:ENVIRONMENT`, a model folder, a run's folder, or one of the Hugging Face hub as `owner/name` or
    `owner/name@revision`. A run records the commit.
    """
    start: Literal["base", "latest"] = "latest"
    """Start of training in each iteration: the base, as it was before any cloning (AgentEvol's released
    code), or the latest checkpoint.
    """
    table: str | None = None
    """Location of the table of episodes, as a URL of an object store (`s3://bucket/runs/a`); none is
    `trajectories/` in the run's folder.
    """
    checkpoints: str | None = None
    """With `ray.address`: a URL of an object store by which machines exchange checkpoints; none for machines
    that see the run's folder.
    """
    environment: EnvironmentConfig = EnvironmentConfig()
    mixture: dict[str, MixedEnvironment] = Field(default_factory=dict[str, MixedEnvironment])
    """Weights and own settings by environment, where `environment.name` has several names."""
    engine: EngineConfig = EmbeddedConfig()
    explore: ExploreConfig = ExploreConfig()
    rollout: RolloutConfig = SynchronousConfig()
    selfplay: SelfPlayConfig = SelfPlayConfig()
    select: SelectConfig = SelectConfig()
    self: SelfConfig = SelfConfig()
    pairs: PairsConfig = PairsConfig()
    demonstrations: DemonstrationConfig = DemonstrationConfig()
    feedback: RunFeedbackConfig = RunFeedbackConfig()
    """Opinions about explored and retained episodes, which each iteration learns from too; `feedback=human`
    is short for `feedback.sources`.
    """
    learn: LearnConfig = LearnConfig(algorithm="agentevol", **_SMALL)
    process: ProcessConfig = EnvironmentTurnReward()
    reward: RewardConfig = EnvironmentReward()
    shaping: ShapingConfig = ShapingConfig()
    guards: GuardsConfig = GuardsConfig()
    constraints: dict[str, Constraint] = Field(default_factory=dict[str, Constraint])
    """Limits of mean costs by name, for the algorithm `lagrangian`: `turns`, sampled `tokens` and
    `invalid_actions` of an episode, and any cost that the environment reports of its turns.
    """
    retained: RetainedConfig | None = None
    replay: ReplayConfig = ReplayConfig()
    protect: dict[str, ProtectedTasks] = Field(default_factory=dict[str, ProtectedTasks])
    """Protected tasks by a freely chosen name: no update may regress on them."""
    interpolate: InterpolateConfig = InterpolateConfig()
    probe: ProbeConfig | None = None
    kl: KLTarget | None = None
    """For algorithms with the option `kl_coef`, which is the initial value."""
    horizon: HorizonConfig | None = None
    metrics: Names = DEFAULT
    """Sinks of the metrics of each iteration: `jsonl` (`metrics.jsonl`), `tensorboard`, `wandb`, `mlflow`,
    `trackio`, one of another distribution, or `module:attribute`
    (`agentevol.loop.tracking.sinks.SinkFactory`). Nothing is sent anywhere by the default.
    """
    evaluate: EvaluateConfig = EvaluateConfig()
    ray: RayConfig = RayConfig()
    population: PopulationConfig | None = None
    """Several runs from one start, of which the best goes on; `population.size=4` begins one."""

    @field_validator("table", "checkpoints")
    @classmethod
    def _is_a_url(cls, value: str | None) -> str | None:
        try:
            return value if value is None else checked(value)
        except StoreError as cause:
            raise ValueError(str(cause)) from cause

    @model_validator(mode="after")
    def _explores_and_selects(self) -> "RunConfig":
        select, learn = self.select, self.learn
        check_mixture(self)
        checks.check_demonstrations(self.demonstrations, self.start, select, learn, self.pairs)
        checks.check_cluster(self.ray, self.environment)
        checks.check_partner(self.environment, self.engine)
        if self.checkpoints is not None:
            checks.check_checkpoints(self.checkpoints, self.table, self.ray, self.engine)
        if isinstance(self.engine, VllmConfig):
            checks.check_vllm(self.engine, learn, self.rollout)
        checks.check_overflow(self.engine, select)
        if select.max_lag is not None and select.merge not in ("cumulative", "replay"):
            raise ValueError(
                "select.max_lag has no effect: without select.merge 'cumulative' or 'replay' nothing is stale"
            )
        return self

    @model_validator(mode="after")
    def _learns_from_it(self) -> "RunConfig":
        select, learn = self.select, self.learn
        checks.check_policy(learn)
        checks.check_algorithm(learn, select)
        check_algorithm(self.feedback, learn, select, self.constraints, self.process)
        check_opinions(select, self.feedback)
        usual = _of_algorithm({"learn": {"algorithm": learn.algorithm}}, RunConfig).get("pairs", {})
        check_choice(self.feedback, (select, self.pairs), (select, PairsConfig.model_validate(usual)))
        checks.check_thresholds(learn, select, self.environment.names, self.retained)
        if not isinstance(self.reward, LearntModelReward):
            checks.check_pairs(self.pairs, learn)
        checks.check_pair_sources(self.pairs, learn, self.demonstrations, self.start, self.iterations)
        checks.check_memory(learn, select, self.replay, self.retained, self.demonstrations.tasks)
        checks.check_interpolate(self.interpolate, learn)
        checks.check_process(self.process, learn)
        checks.check_reward(self.reward, self.process, learn, self.explore, select, self.iterations)
        check_score(select, self.self, self.reward, self.process)
        check_scored_data(select, learn, self.explore)
        rewarded = self.reward.on or self.process.on or select.score != RETURN
        check_shaping(self.shaping, rewarded, learn, self.explore)
        checks.check_controllers(self.constraints, self.kl, learn)
        checks.check_groups(self.explore, learn)
        check_baseline(learn, self.reward, self.process, self.shaping, select)
        checks.check_temperature(self.explore, learn)
        return self

    @field_validator("metrics")
    @classmethod
    def _are_sinks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(SINKS.checked(name) for name in value))

    @model_validator(mode="after")
    def _has_successive_updates(self) -> "RunConfig":
        checks.check_updates(self.iterations, self.start, self.learn, self.rollout)
        checks.check_rollout(self.rollout, self.horizon, bool(self.protect or self.interpolate.shares))
        check_league(
            self.selfplay,
            self.environment,
            self.engine,
            self.rollout,
            self.iterations,
            self.checkpoints,
        )
        old = self.retained is not None or self.demonstrations.tasks > 0
        if self.select.merge == "replay" and self.iterations == 1 and not old:
            raise ValueError(
                "select.merge = 'replay' has no effect in one iteration without retained.data or"
                " demonstrations.tasks"
            )
        return self

    @model_validator(mode="after")
    def _is_a_population(self) -> "RunConfig":
        own = self.population
        if own is not None:
            check_members(own)
            checks.check_population(own, self.table or self.checkpoints, self.demonstrations, self.learn)
            try:
                spans(own, self.iterations, self.explore.tasks * self.explore.samples)
            except ConfigError as cause:
                raise ValueError(str(cause)) from cause
        return self

    @property
    def by_environment(self) -> "dict[str, RunConfig]":
        """Configuration of the run in each of its environments alone, by name."""
        return environment_configs(self)

    @property
    def chat_template_kwargs(self) -> Mapping[str, Any]:
        """Variables of the chat template, wherever texts are encoded."""
        return self.engine.chat_template_kwargs

    @property
    def action_format(self) -> str:
        """Action format of messages, wherever actions are encoded."""
        return self.environment.format

    @property
    def process_learn(self) -> LearnConfig:
        """Learning configuration of the process reward model."""
        how = self.process
        if not isinstance(how, TrainedProcess):  # it is only read
            return self._beside("process_reward", {}, self.learn.learning_rate, 1)
        return self._beside("process_reward", how.options, how.learning_rate, how.epochs)

    @property
    def reward_learn(self) -> LearnConfig:
        """Learning configuration of the reward model, with `reward.refresh` or `reward.preference_rounds`."""
        how = self.reward
        if not isinstance(how, LearntModelReward):
            raise ValueError("the run trains no reward model: reward.refresh is not set")
        learn = self._beside("bradley_terry", how.options, how.learning_rate, how.epochs)
        return learn if how.optimiser is None else learn.model_copy(update={"optimiser": how.optimiser})

    @property
    def clone_learn(self) -> LearnConfig:
        """Learning configuration of behavioural cloning, with `demonstrations.clone`."""
        how, learn = self.demonstrations, self.learn
        rate = learn.learning_rate if how.learning_rate is None else how.learning_rate
        return self._beside("sft", {}, rate, how.epochs or learn.epochs)

    def _beside(
        self, algorithm: str, options: Mapping[str, Option], learning_rate: float, epochs: int
    ) -> LearnConfig:
        """Learning configuration of a model with another algorithm than that of the iterations."""
        named = {"algorithm": algorithm, "options": options, "keep_moments": False}
        alone = {"ewc": None, "interpolation": None, "distillation": 0.0, "reference": "start"}
        alone |= {"old_logprobs": "recomputed"}
        pace = {"learning_rate": learning_rate, "epochs": epochs}
        pace |= {"critic_learning_rate": None, "critic_warmup": 0}
        return self.learn.model_copy(update=named | alone | pace)

    @property
    def episodes_per_worker(self) -> int:
        """Episodes that a rollout worker plays at once: its engine's capacity is of seats."""
        return max(1, self.engine.capacity // (self.environment.seats or 1))

    @property
    def explore_sampling(self) -> Sampling:
        """Sampling parameters of exploration; with a range of temperatures, requests have their own."""
        heat = self.explore.temperature
        return self._sampling(max(heat) if isinstance(heat, tuple) else heat)

    @property
    def evaluate_sampling(self) -> Sampling:
        """Sampling parameters of evaluation."""
        return self._sampling(self.evaluate.temperature)

    def _sampling(self, temperature: float) -> Sampling:
        return Sampling(temperature=temperature, max_new_tokens=self.explore.max_new_tokens or NEW_TOKENS)

    @property
    def explore_split(self) -> str:
        """Name of the explored split."""
        return self.explore.split or "train"

    @property
    def evaluate_split(self) -> str:
        """Name of the held-out split."""
        return self.evaluate.split or "test"

    @property
    def validate_split(self) -> str:
        """Name of the split by which the best checkpoint is chosen."""
        return self.evaluate.validation_split or "valid"

    @property
    def held_out_parts(self) -> list[str]:
        """Parts of splits that evaluation holds out, such as `train:valid`."""
        splits = (self.evaluate_split, self.validate_split)
        return sorted({split for split in splits if parent(split) != split})

    def to_toml(self) -> str:
        """The whole configuration; None is written as `"null"`, since TOML has no null."""
        return tomli_w.dumps(nulls_as_text(self.model_dump(mode="json")))


class TrainConfig(Section):
    """Configuration of a single training from a data set."""

    seed: int = Field(default=0, ge=0, lt=2**31)
    base: str = "starter"
    """The initial policy, named as in a run."""
    select: SelectConfig = SelectConfig(merge="none")
    """Filter of a table's episodes for training."""
    pairs: PairsConfig = PairsConfig()
    chat_template_kwargs: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Variables of the base's chat template: those of `engine.chat_template_kwargs` in the run that played
    the episodes.
    """
    action_format: str = "plain"
    """Action format in which actions of scripted episodes are written: `environment.format` of the run that
    plays with the policy.
    """
    feedback: FeedbackConfig = FeedbackConfig()
    """Opinions to learn from; `feedback=human` is short for `feedback.sources`."""
    retained: RetainedConfig | None = None
    replay: ReplayConfig = ReplayConfig()
    objectives: tuple[str, ...] = ()
    """For `bradley_terry` and `process_reward`: objectives of their heads, one for each, by names of
    `agentevol.data.rewards.objectives`; empty uses the order of the pairs, or the outcome. With feedback, for
    `process_reward`: dimensions that sources gave to turns, too, or `score`, which is the default.
    """
    pooled: bool = False
    """For `process_reward`: see `process.pooled` of a run."""
    learn: LearnConfig = LearnConfig(algorithm="sft", **_SMALL)

    @field_validator("action_format")
    @classmethod
    def _is_an_action_format(cls, value: str) -> str:
        return ACTION_FORMATS.checked(value)

    @model_validator(mode="after")
    def _learns_from_returns(self) -> "TrainConfig":
        if self.select.score not in (RETURN, OPINION):
            raise ValueError(
                f"select.score = {self.select.score!r} has no effect: scores are given to episodes of a run"
            )
        check_opinions(self.select, self.feedback)
        if self.select.score == OPINION and algorithm(self.learn.algorithm).data in ("labels", "steps"):
            raise ValueError(
                f"select.score = 'feedback' has no effect: learn.algorithm {self.learn.algorithm!r} learns"
                " from opinions as they are"
            )
        return self

    @model_validator(mode="after")
    def _feedback_has_an_effect(self) -> "TrainConfig":
        if self.feedback.sources and self.objectives and self.learn.algorithm != "process_reward":
            raise ValueError("objectives have no effect with feedback: opinions say which side is better")
        preset = _of_algorithm({"learn": {"algorithm": self.learn.algorithm}}, TrainConfig)
        select = SelectConfig.model_validate({"merge": "none", **preset.get("select", {})})
        usual = select, PairsConfig.model_validate(preset.get("pairs", {}))
        check_algorithm(self.feedback, self.learn, self.select)
        if self.feedback.sources and self.feedback.only and self.pooled:
            raise ValueError("pooled counts episodes' outcomes: it needs feedback.only = false")
        check_choice(self.feedback, (self.select, self.pairs), usual)
        return self

    @model_validator(mode="after")
    def _options_have_an_effect(self) -> "TrainConfig":
        if self.select.merge not in ("none", "replay"):
            raise ValueError(f"select.merge = {self.select.merge!r} has no effect: there is one data set")
        if self.select.merge == "replay" and self.retained is None:
            raise ValueError("select.merge = 'replay' has no effect without retained.data")
        checks.check_algorithm(self.learn, self.select)
        checks.check_thresholds(self.learn, self.select, None, self.retained)
        checks.check_pairs(self.pairs, self.learn)
        checks.check_pairs_of_one_set(self.pairs)
        if self.select.max_lag is not None and self.learn.algorithm == "process_reward":
            raise ValueError("select.max_lag has no effect: values of states do not depend on the weights")
        if self.learn.reference != "start":
            raise ValueError("learn.reference has no effect here: training starts from the base")
        checks.check_memory(self.learn, self.select, self.replay, self.retained, shown=0)
        if self.pooled and self.learn.algorithm != "process_reward":
            raise ValueError(f"pooled has no effect: {self.learn.algorithm!r} learns no values of states")
        if self.objectives and self.learn.algorithm not in ("bradley_terry", "process_reward"):
            raise ValueError(f"objectives have no effect: {self.learn.algorithm!r} does not learn them")
        if len(set(self.objectives)) != len(self.objectives):
            raise ValueError(f"objectives are named once each, unlike {', '.join(self.objectives)}")
        return self


ConfigT = TypeVar("ConfigT", RunConfig, TrainConfig, CautionConfig)


def load(
    path: Path | str | None = None,
    overrides: Sequence[str] = (),
    kind: type[ConfigT] = RunConfig,
    preset: str | Sequence[str] | None = None,
) -> ConfigT:
    """Read a configuration: presets, the file (None: defaults), then `key.path=value` overrides in order.

    Raises `ConfigError` with one line that names the file or key at fault.
    """
    given = read_toml(Path(path)) if path is not None else {}
    if "feedback" in given:
        given["feedback"] = in_short(given["feedback"])
    for override in overrides:
        apply_override(given, override)
    environment = _environment_name(given) if _given(given, "environment", "name") else None
    values: dict[str, Any] = {}
    for name in [preset] if isinstance(preset, str) else preset or ():
        values = merged(values, _named(name, environment))
    return validated(merged(values, given), kind)


def _named(preset: str, environment: str | None) -> dict[str, Any]:
    """Settings of a preset: of a method, or of a placement. Raises `ConfigError` for an unknown name."""
    if preset in METHODS:
        return method_settings(preset, environment)
    if preset in placements():
        return read_toml(preset_file(preset))
    known = ", ".join([*METHODS, *placements()])
    raise ConfigError(f"no preset named {preset!r}; there are: {known}")


def load_earlier(path: Path) -> tuple[RunConfig, list[str]]:
    """The configuration of a run that this or an earlier version wrote, and lines about the settings that
    were dropped (`agentevol.config.files.migration`).

    Raises `ConfigError` with one line that names the file or key at fault.
    """
    values, lines = migrated(read_toml(path), RunConfig)
    return validated(values), lines


def validated(values: dict[str, Any], kind: type[ConfigT] = RunConfig) -> ConfigT:
    """A configuration of nested values. Raises `ConfigError` naming every key at fault."""
    values = with_mixture(values) if kind is RunConfig else dict(values)
    named = values.pop("algorithm", None)  # the short form of learn.algorithm
    if named is not None:
        learnt: Mapping[str, Any] = {"learn": {"algorithm": named}}
        begun = BY_REWARD.get(named, learnt) if kind is RunConfig else learnt
        values = merged(dict(begun), values)
    if "feedback" in values:
        values["feedback"] = in_short(values["feedback"])
    if kind is RunConfig:
        values = merged(_usual_algorithm(values), values)
    try:
        # A section that is given in part keeps the run's own defaults for the rest, not the section's.
        defaults = merged(kind().model_dump(), _preset(values, kind))
        if kind is RunConfig and values.get("base") == "starter":
            del values["base"]
        return kind.model_validate(merged(defaults, values))
    except ValidationError as cause:
        raise ConfigError("; ".join(complaint(kind, error) for error in cause.errors())) from cause


def _usual_algorithm(values: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen environment's own algorithm with its settings, unless another one is named."""
    usual = ALGORITHM_BY_ENVIRONMENT.get(_environment_name(values), {})
    named = _given(values, "learn", "algorithm")
    return dict(usual) if named in (None, _given(usual, "learn", "algorithm")) else {}


def _preset(values: Mapping[str, Any], kind: type[Section]) -> dict[str, Any]:
    """Defaults of the chosen environment, overridden by those of the algorithm; in several environments the
    default number of explored tasks is that of each.
    """
    if kind is not RunConfig:
        return _of_algorithm(values, kind)
    found = merged(_of_environment(values), _of_algorithm(values, kind))
    if (count := len(names_in(_environment_name(values)))) > 1:
        tasks = found.get("explore", {}).get("tasks", ExploreConfig().tasks)
        found = merged(found, {"explore": {"tasks": count * tasks}})
    return found


def _of_environment(values: Mapping[str, Any]) -> dict[str, Any]:
    name = _environment_name(values)
    learnt_by = _given(values, "learn", "algorithm")
    imitates = learnt_by is None or algorithm(learnt_by).data == "episodes"
    if len(names_in(name)) > 1:
        return {"base": f"starter:{MANY}", **(MIXED_IMITATION if imitates else {})}
    own = starter_name(name, _given(values, "environment", "format") or "")
    found = {"base": f"starter:{own}", **BY_ENVIRONMENT.get(name, {})}
    if imitates:
        found |= IMITATION_BY_ENVIRONMENT.get(name, {})
    if _given(values, "environment", "data") == "official":
        if name not in OFFICIAL:
            raise ConfigError(
                f"environment.data = 'official' has no effect for {name!r}: name its splits with"
                " explore.split, evaluate.split and evaluate.validation_split"
            )
        found = merged(found, dict(OFFICIAL[name]))
    return found


def _environment_name(values: Mapping[str, Any]) -> str:
    """The chosen environment, without an argument; several as they are given."""
    name = _given(values, "environment", "name") or EnvironmentConfig().name
    return name if len(names_in(name)) > 1 else name.partition(":")[0]


def _given(values: Mapping[str, Any], section: str, key: str) -> str | None:
    """A given name, or None."""
    within = values.get(section)
    name = within.get(key) if isinstance(within, dict) else None
    return name if isinstance(name, str) else None


def _of_algorithm(values: Mapping[str, Any], kind: type[Section]) -> dict[str, Any]:
    name = _given(values, "learn", "algorithm")
    if name is None:
        return {}
    learn = values["learn"]
    data = algorithm(name).data
    preset = {**BY_DATA.get(data, IMITATION), **BY_NAME.get(name, {})}
    if kind is TrainConfig:
        preset = merged(preset, dict(TRAIN_BY_DATA.get(data, {})))
    ahead = _given(values, "rollout", "mode") in ("one_step_off", "asynchronous")
    stale = ahead and learn.get("old_logprobs") != "rollout"
    if stale and "importance" in objective(name).options:
        preset = merged(dict(preset), dict(STALE))
    return {section: dict(given) for section, given in preset.items() if section in kind.model_fields}

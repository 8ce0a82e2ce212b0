"""Plan of an evaluation suite: its parts, each one model in one environment, checked before anything is
played or written.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.config.suite import SuiteConfig, SuiteEnvironment, SuiteModel
from agentevol.core.errors import ConfigError
from agentevol.core.splits import spread
from agentevol.core.starter_names import starter_name
from agentevol.engines.openai import PREFIX
from agentevol.models.resolution import resolve
from agentevol.rollout.environments import opened, task_counts
from agentevol.rollout.tasks import list_seats, list_tasks
from agentevol.runs.evaluation import usual_options
from agentevol.runs.players import EXPERT, STARTER, VLLM, PlayerSettings, check_settings, has_weights
from agentgym_envs.registry import environment_class


@dataclass(frozen=True)
class Place:
    """Place of one model in one environment in a suite."""

    suite: str
    number: tuple[int, int]
    """Position of the environment and of the model in the suite, from 0."""
    environment: SuiteEnvironment
    model: SuiteModel

    @property
    def name(self) -> str:
        """`guess/random`, also in the ids of its episodes."""
        return f"{self.environment.name}/{self.model.name}"

    @property
    def run(self) -> str:
        """Beginning of the ids of its episodes."""
        return f"{self.suite}/{self.name}"


@dataclass(frozen=True)
class Part(Place):
    """One model in one environment, as it is played."""

    options: Mapping[str, Any]
    """Options of the environment: the given ones over those with which runs show it."""
    tasks: int
    trials: int

    @property
    def episodes(self) -> int:
        """Number of episodes; an environment with several seats may need several of each task."""
        return self.tasks * self.trials

    @property
    def config(self) -> EnvironmentConfig:
        """The environment as an evaluation takes it."""
        own = self.environment
        return EnvironmentConfig(
            name=own.env,
            url=own.url,
            max_turns=own.max_turns,
            format=self.model.format,
            options=dict(self.options),
        )


@dataclass(frozen=True)
class SuitePlan:
    """Parts of a suite, by environment and model."""

    config: SuiteConfig
    parts: tuple[Part, ...]

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Rows of a table: environment, model, split, tasks, trials, episodes."""
        for part in self.parts:
            split = part.environment.split + (
                f", {part.environment.difficulty}" if part.environment.difficulty else ""
            )
            yield part.environment.name, part.model.name, split, part.tasks, part.trials, part.episodes

    @property
    def episodes(self) -> int:
        """Number of all episodes."""
        return sum(part.episodes for part in self.parts)


def plan_of(config: SuiteConfig) -> SuitePlan:
    """The plan of a suite. Raises `ConfigError` or `UnknownEnvironment` for what is not there; nothing is
    written.
    """
    shown = {one.name: _options(config, one) for one in config.environments}
    tasks = {one.name: _tasks(config, one, shown[one.name]) for one in config.environments}
    places = places_of(config)
    for place in places:
        _check_model(config, place.model, place.environment)
    parts = [
        Part(**vars(place), options=shown[name], tasks=tasks[name], trials=config.trials)
        for place in places
        for name in [place.environment.name]
    ]
    return SuitePlan(config, tuple(parts))


def places_of(config: SuiteConfig) -> list[Place]:
    """Places of a suite, by environment and model."""
    return [
        Place(config.name, (number, position), environment, model)
        for number, environment in enumerate(config.environments)
        for position, model in enumerate(config.models)
    ]


def _options(config: SuiteConfig, environment: SuiteEnvironment) -> dict[str, Any]:
    """Options that all models get: with weights among them, those with which runs show the environment."""
    if environment.url is not None:
        return {}
    environment_class(environment.env)  # raises for an unknown one
    shown = EnvironmentConfig(name=environment.env)
    weighty = next((one.model for one in config.models if has_weights(one.model)), None)
    usual = {} if weighty is None else usual_options(weighty, shown)
    return {**usual, **environment.options}


def _tasks(config: SuiteConfig, environment: SuiteEnvironment, options: Mapping[str, Any]) -> int:
    """Number of tasks that are played."""
    split, level = environment.split, environment.difficulty
    if environment.url is not None:
        _check_seats(config, environment, list_seats(environment.url, environment.env))
        choice = spread(environment.episodes or config.episodes)
        return len(list_tasks(environment.url, environment.env, split, level, choice))
    with opened(EnvironmentConfig(name=environment.env, options=dict(options))) as made:
        counts = task_counts(made)
        _check_seats(config, environment, counts.seats)
        total = counts.size(split, level)
    if not total:
        raise ConfigError(
            f"environment {environment.name!r} has no tasks in split {split!r} of difficulty {level!r}"
        )
    return min(environment.episodes or config.episodes or total, total)


def _check_seats(config: SuiteConfig, environment: SuiteEnvironment, seats: Sequence[str]) -> None:
    """Raise `ConfigError` for an expert beside models that play all seats: it plays one."""
    experts = [one.name for one in config.models if one.model == EXPERT]
    if experts and len(seats) > 1 and environment.partner not in ("environment", "rule"):
        raise ConfigError(
            f"environment {environment.name!r} has {len(seats)} seats, of which {experts[0]!r} plays one: let"
            ' all models do so with partner = "environment", or leave it out'
        )


def _check_model(config: SuiteConfig, model: SuiteModel, environment: SuiteEnvironment) -> None:
    """Raise `ConfigError` for a model that is not there, or whose settings have no effect."""
    check_settings([model.model], settings_of(config, model))
    if has_weights(model.model):
        own = f"{STARTER}:{starter_name(environment.env, model.format)}"
        resolve(own if model.model == STARTER else model.model.removeprefix(VLLM), weights=False)
    elif model.model == PREFIX:
        raise ConfigError(f"model {model.name!r}: {PREFIX} is followed by the name of an endpoint's model")


def settings_of(config: SuiteConfig, model: SuiteModel) -> PlayerSettings:
    """Settings with which a model plays."""
    temperature = config.temperature if model.temperature is None else model.temperature
    return PlayerSettings(temperature, model.max_new_tokens, model.overrides)

"""Mixed runs: the configuration that a run in several environments has in each of them.

environment.name = "alfworld,textcraft", mixture.textcraft.weight = 2, explore.tasks = 90

alfworld    explores 30 tasks an iteration
textcraft   explores 60 tasks an iteration
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from agentevol.config.files.merging import merged
from agentevol.config.presets.defaults import BY_ENVIRONMENT
from agentevol.config.sections.environment import SELF_PLAY, EnvironmentConfig, names_in
from agentevol.config.sections.mixture import (
    MixedEnvironment,
    MixedEvaluation,
    MixedExploration,
    MixedOptions,
)
from agentevol.config.sections.section import Section
from agentevol.core.errors import ConfigError
from agentgym_envs.registry import UnknownEnvironment, with_argument

if TYPE_CHECKING:
    from agentevol.config.run import RunConfig

SectionT = TypeVar("SectionT", bound=Section)

_SECTIONS: Mapping[str, type[Section]] = {
    "environment": MixedOptions,
    "explore": MixedExploration,
    "evaluate": MixedEvaluation,
}
"""Sections of a run that each environment of a mixed one has for itself."""
_COUNTS = {("evaluate", "episodes"), ("evaluate", "validation_episodes")}
"""Settings that hold for every environment that has no own."""


def environment_configs(config: "RunConfig") -> dict[str, "RunConfig"]:
    """The configuration of the run in each of its environments alone, by name: of a run in one environment
    the configuration itself.
    """
    names = config.environment.names
    if len(names) == 1:
        return {config.environment.name: config}
    mixed = [config.mixture.get(name, MixedEnvironment()) for name in names]
    weights = [one.weight for one in mixed]
    explored, shown = shares(config.explore.tasks, weights), shares(config.demonstrations.tasks, weights)
    return {
        name: _alone(config, name, own, tasks, demonstrations)
        for name, own, tasks, demonstrations in zip(names, mixed, explored, shown, strict=True)
    }


def shares(total: int, weights: list[float]) -> list[int]:
    """Whole numbers in proportion to the weights that add up to `total`, by the largest remainder; the first
    of equal remainders is served first.

    > shares(10, [1, 1, 2])
    [3, 2, 5]
    """
    exact = [total * weight / sum(weights) for weight in weights]
    found = [int(share) for share in exact]
    by_remainder = sorted(range(len(weights)), key=lambda place: found[place] - exact[place])
    for place in by_remainder[: total - sum(found)]:
        found[place] += 1
    return found


def _alone(
    config: "RunConfig", name: str, own: MixedEnvironment, tasks: int, demonstrations: int
) -> "RunConfig":
    """Configuration in one environment; `tasks` and `demonstrations` are its shares."""
    environment = {"name": name, **_given(own.environment)}
    shared = _given(config.explore)
    explore = {**_given(own.explore), "tasks": tasks}
    explore |= {key: shared[key] for key in ("max_new_tokens",) if key in shared}
    return config.model_copy(
        update={
            "mixture": {},
            "environment": config.environment.model_copy(update=environment),
            "explore": config.explore.model_copy(update=explore),
            "evaluate": config.evaluate.model_copy(update=_given(own.evaluate)),
            "demonstrations": config.demonstrations.model_copy(update={"tasks": demonstrations}),
        }
    )


def _given(section: Any) -> dict[str, Any]:
    return {name: value for name, value in section if value is not None}


def with_mixture(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run whose `environment.name` has several names, with each environment's own defaults in
    `mixture`; others unchanged.

    Raises `ConfigError` for a name that is given twice, or that takes no argument.
    """
    environment = values.get("environment", {})
    named = names_in(str(environment.get("name", ""))) if isinstance(environment, Mapping) else ()
    if len(named) < 2:
        return dict(values)
    defaults = dict[str, dict[str, Any]]()
    for item in named:
        try:
            name, argument = with_argument(item)
        except UnknownEnvironment as cause:
            raise ConfigError(f"environment.name: {cause}") from None
        if name in defaults:
            raise ConfigError(f"environment.name has {name!r} twice")
        options = EnvironmentConfig.model_validate({"name": item}).options if argument else {}
        defaults[name] = merged(_own_defaults(name), {"environment": {"options": options}})
    mixed = {"environment": {**environment, "name": ",".join(defaults)}}
    return {**values, **mixed, "mixture": merged(defaults, values.get("mixture", {}))}


def _own_defaults(name: str) -> dict[str, Any]:
    """Defaults of a run in the environment that one of a mixed run has, too."""
    found = BY_ENVIRONMENT.get(name, {})
    return {
        section: {
            key: found[section][key]
            for key in kind.model_fields
            if key in found.get(section, {}) and (section, key) not in _COUNTS
        }
        for section, kind in _SECTIONS.items()
    }


def with_fitted(config: "RunConfig", alone: Mapping[str, "RunConfig"]) -> "RunConfig":
    """The configuration with the settings of each environment that fit its tasks, given by the configuration
    in it alone (`agentevol.config.fitting`).

    Raises `ConfigError` for an environment in which the policy would play several seats, and for splits that
    the stages of a run cannot tell apart.
    """
    if len(alone) == 1:
        return next(iter(alone.values()))
    _check_fitted(config, alone)
    mixture = {
        name: MixedEnvironment(
            weight=config.mixture[name].weight if name in config.mixture else 1.0,
            environment=_taken(MixedOptions, one.environment),
            explore=_taken(MixedExploration, one.explore),
            evaluate=_taken(MixedEvaluation, one.evaluate),
        )
        for name, one in alone.items()
    }
    return config.model_copy(update={"mixture": mixture})


def _taken(kind: type[SectionT], section: Section) -> SectionT:
    """The settings of a run's section that each environment has for itself."""
    return kind.model_validate({key: getattr(section, key) for key in kind.model_fields})


def _check_fitted(config: "RunConfig", alone: Mapping[str, "RunConfig"]) -> None:
    for name, one in alone.items():
        if (one.environment.seats or 1) > 1:
            raise ConfigError(
                f"{name} has several seats, and a run in several environments plays one of each: set"
                f" mixture.{name}.environment.seats=1"
            )
    both = {one.evaluate_split for one in alone.values()} & {one.validate_split for one in alone.values()}
    if both:
        raise ConfigError(
            f"{sorted(both)[0]!r} is evaluated in one environment and validates in another: give the two"
            " purposes splits of different names"
        )
    if config.feedback.sources and len({one.explore_split for one in alone.values()}) > 1:
        raise ConfigError("feedback.sources needs one name for the explored split of all environments")


def check_mixture(config: "RunConfig") -> None:
    """Raise `ValueError` for settings of one environment in a run with several, and the reverse."""
    names = config.environment.names
    if unknown := sorted(config.mixture.keys() - set(names if len(names) > 1 else ())):
        raise ValueError(
            f"mixture.{unknown[0]} has no effect: environment.name is {config.environment.name!r}; name"
            " several environments with commas"
        )
    if len(names) > 1:
        _check_weights(config)
        _check_own_settings(config)
        _check_shared_settings(config)


def _check_weights(config: "RunConfig") -> None:
    """Raise `ValueError` where nothing is explored."""
    if not any(config.mixture.get(name, MixedEnvironment()).weight for name in config.environment.names):
        raise ValueError("mixture: every environment has weight 0, so that nothing is explored")


def _check_own_settings(config: "RunConfig") -> None:
    """Raise `ValueError` for a setting for all environments that each of them has for itself."""
    shared = {*_COUNTS, ("explore", "max_new_tokens")}
    places = {(section, key) for section, kind in _SECTIONS.items() for key in kind.model_fields} - shared
    for section, key in sorted(places):
        if getattr(getattr(config, section), key) not in (None, {}):
            raise ValueError(
                f"{section}.{key} is of one environment: set mixture.NAME.{section}.{key}, with one of"
                f" {', '.join(config.environment.names)}"
            )


def _check_shared_settings(config: "RunConfig") -> None:
    """Raise `ValueError` for settings that only a run in one environment has."""
    if config.environment.partner != SELF_PLAY or config.selfplay.on:
        raise ValueError(
            "a run in several environments plays one seat of each: leave out environment.partner and"
            " selfplay.*"
        )
    if config.environment.data == "official":
        raise ValueError(
            "environment.data = 'official' is of one environment: name its splits with"
            " mixture.NAME.explore.split and mixture.NAME.evaluate.split"
        )
    if unnamed := [name for name, tasks in config.protect.items() if tasks.environment is None]:
        raise ValueError(
            f"protect.{unnamed[0]}: the run has several environments: set protect.{unnamed[0]}.environment"
        )

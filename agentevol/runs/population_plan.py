"""Plan of a population, and the checks of its members that need resolved settings."""

from pydantic import ValidationError

from agentevol.config.run import RunConfig
from agentevol.config.self_evolution.population import PopulationConfig, spans
from agentevol.core.errors import ConfigError
from agentevol.loop.population.members import first_legs, leg_config


def check_members(config: RunConfig) -> None:
    """Raise `ConfigError` for members that clone a start of their own, or whose settings do not fit."""
    if config.demonstrations.clone:
        raise ConfigError(
            f"population: its members have one start, and {config.base} is no agent yet: train it on"
            " demonstrations first (`agentevol train`), or set demonstrations.clone = false"
        )
    for leg in first_legs(config, _population(config)):
        try:
            leg_config(config, leg)
        except ValidationError as cause:
            told = cause.errors()[0]["msg"].removeprefix("Value error, ")
            raise ConfigError(f"population: member {leg.member}: {told}") from cause


def population_plan(config: RunConfig) -> list[str]:
    """Plan of a population, line by line; empty for a single run."""
    own = config.population
    if own is None:
        return []
    each = config.explore.tasks * config.explore.samples
    found = spans(own, config.iterations, each)
    before, total = 0, 0
    lines = [f"population: {own.size} members by {own.rule}, merge {own.merge}"]
    for number, span in enumerate(found, start=1):
        total += (span.until - before) * span.members * each
        lines.append(
            f"  span {number}: {span.members} members play {span.until - before} iterations each, to"
            f" {span.until} in all, {total:,} episodes so far"
        )
        before = span.until
    lines += [
        f"  member {leg.name}: seed {leg_config(config, leg).seed}, learning rate {leg.rate:g}, select"
        f" {leg.selection}"
        for leg in first_legs(config, own)
    ]
    judged = config.evaluate.validation_episodes or "all"
    return [*lines, f"  {judged} validation tasks choose, as many others judge the result beside the start"]


def _population(config: RunConfig) -> PopulationConfig:
    if config.population is None:
        raise ValueError("the run is no population")
    return config.population

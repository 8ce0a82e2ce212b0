"""Configuration of a population: several runs from one start, of which the best goes on.

Four members of 6 iterations each, by `halving` (24 iterations in all):

    span 1    4 members play 3 iterations each
    span 2    the better 2 play 6 more, to 9 in all; then the best is chosen

and by `pbt`, with an exchange after each iteration: 6 spans of one iteration, played by all 4.
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from agentevol.config.sections.section import Names, Section
from agentevol.config.sections.selection import SELECTIONS
from agentevol.core.errors import ConfigError


class PopulationConfig(Section):
    """Members of a population, and the rule by which some of them go on."""

    size: int = Field(default=4, ge=2, le=64)
    """Number of members: runs in `members/`, each with a seed of its own."""
    rule: Literal["halving", "pbt"] = "halving"
    """`halving`: the better half by validation goes on with twice the episodes (arXiv:1603.06560). `pbt`: the
    worst quarter copies the best, with 0.8 or 1.2 times its learning rate (arXiv:1711.09846).
    """
    budget: int | None = Field(default=None, ge=1)
    """Explored episodes of all members; None is `size` times those of one run. It replaces `iterations`."""
    every: int = Field(default=1, ge=1)
    """For `pbt`: iterations between two exchanges."""
    rates: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = ()
    """Factors of `learn.learning_rate`, given to the members in turn; empty is 1 for all."""
    selections: Names = ()
    """Rules of selection (`select.rule`), given to the members in turn; empty is the same for all."""
    merge: Literal["none", "uniform", "greedy"] = "none"
    """Mean of the weights of the members that played to the end (arXiv:2203.05482): of none, the best one is
    the result; of all; or of the best and each further one with which validation does not fall.
    """


class Span(NamedTuple):
    """Part of a population's training between two choices."""

    members: int
    """Number of members that play it."""
    until: int
    """Iterations that each of them has played at its end."""


def spans(population: PopulationConfig, iterations: int, episodes: int) -> list[Span]:
    """Spans of a population whose iterations explore this number of `episodes` each.

    Raises `ConfigError` for a budget of fewer episodes than each member needs in each span.
    """
    size, budget = population.size, population.budget or population.size * iterations * episodes
    if population.rule == "pbt":
        last = budget // (size * episodes)
        _check_enough(population, budget, 2 * size * episodes * population.every, last > population.every)
        ends = range(population.every, last, population.every)
        return [*(Span(size, end) for end in ends), Span(size, last)]
    rungs = size.bit_length() - 1
    unit = budget // (size * rungs)
    _check_enough(population, budget, size * rungs * episodes, unit >= episodes)
    return [Span(size >> rung, unit * ((2 << rung) - 1) // episodes) for rung in range(rungs)]


def check_members(population: PopulationConfig) -> None:
    """Raise `ValueError` for settings of members that no member has, or without effect by this rule."""
    for name in ("rates", "selections"):
        given = len(getattr(population, name))
        if given > population.size:
            raise ValueError(
                f"population.{name}: {given} for {population.size} members; name one each at most"
            )
    for rule in population.selections:
        SELECTIONS.checked(rule)
    if population.rule == "halving" and population.every != 1:
        raise ValueError("population.every has no effect with population.rule = 'halving': it sets the pace")


def _check_enough(population: PopulationConfig, budget: int, needed: int, enough: bool) -> None:
    if not enough:
        raise ConfigError(
            f"population: {budget} episodes are too few for {population.size} members by"
            f" {population.rule!r}: it takes at least {needed} (population.budget)"
        )

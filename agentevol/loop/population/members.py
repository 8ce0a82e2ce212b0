"""Members of a population. Each is a run in the folder `members/`, or by `pbt` several in a row: a copy of
another member's weights begins a new one.

    members/02      member 2, from the population's base
    members/02-1    member 2 after it copied another one

Everything here is a function of the configuration and of what the members' runs recorded, so that a
population that was killed goes on with the same members.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from agentevol.config.run import RunConfig
from agentevol.config.self_evolution.population import PopulationConfig
from agentevol.core.protocols import Checkpoint

SCALES = (0.8, 1.2)
"""Factors of the learning rate of a copy (arXiv:1711.09846)."""


@dataclass(frozen=True)
class Leg:
    """One run of a member."""

    member: int
    number: int = 0
    """Number of copies that the member made before."""
    rate: float = 0.0
    """Learning rate."""
    selection: str = ""
    """Rule of selection."""
    begun: int = 0
    """Iterations of the population that were played before this run."""
    base: Path | None = None
    """Checkpoint of another member that it begins with; None is the population's base."""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.member:02d}" + (f"-{self.number}" if self.number else "")

    def folder(self, population: Path) -> Path:
        """Its folder in that of the population."""
        return population / "members" / self.name


def first_legs(config: RunConfig, population: PopulationConfig) -> list[Leg]:
    """Runs with which the members begin."""
    rates, rules = population.rates or (1.0,), population.selections or (config.select.rule,)
    return [
        Leg(
            member,
            rate=config.learn.learning_rate * rates[member % len(rates)],
            selection=rules[member % len(rules)],
        )
        for member in range(population.size)
    ]


def leg_config(config: RunConfig, leg: Leg) -> RunConfig:
    """Configuration of a member's run, in the population of `config`. Raises `ValidationError` where a
    selection does not suit the algorithm.
    """
    own = config.model_copy(
        update={
            "name": f"{config.name}-{leg.name}",
            "seed": _drawn(config.seed, leg, "seed") >> 33,
            "base": config.base if leg.base is None else str(leg.base),
            "learn": config.learn.model_copy(update={"learning_rate": leg.rate}),
            "select": config.select.model_copy(update={"rule": leg.selection}),
            "population": None,
        }
    )
    return RunConfig.model_validate(own.model_dump(mode="json"))


def copied(leg: Leg, best: Leg, weights: Checkpoint, begun: int, seed: int) -> Leg:
    """Run of a member that goes on from the weights of the `best` one, with its settings but for the
    learning rate.
    """
    following = Leg(leg.member, leg.number + 1)
    scale = SCALES[_drawn(seed, following, "rate") % len(SCALES)]
    return Leg(leg.member, leg.number + 1, best.rate * scale, best.selection, begun, weights.path)


def latest(folder: Path, finished: list[int], limit: int) -> Checkpoint:
    """Checkpoint of the last finished iteration of a member's run, of `limit` at most."""
    number = max(iteration for iteration in finished if iteration <= limit)
    return Checkpoint(folder.absolute() / "checkpoints" / f"{number:04d}", number)


def _drawn(seed: int, leg: Leg, what: str) -> int:
    """64 bits of a hash."""
    return int.from_bytes(sha256(f"{seed}/member {leg.name}/{what}".encode()).digest()[:8], "big")

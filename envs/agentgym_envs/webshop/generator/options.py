"""Groups of options: what sellers offer, what goals ask for, and what the reward takes for the same."""

from dataclasses import dataclass
from functools import cache

from agentgym_envs.webshop.colors import normalized
from agentgym_envs.webshop.generator.draw import Draw
from agentgym_envs.webshop.generator.vocabulary import lines, listed
from agentgym_envs.webshop.generator.words import common
from agentgym_envs.webshop.rewards import ENOUGH, ratio

_SIZES, _AT = (2, 3, 4, 6, 10, 16), (0, 0.25, 0.5, 0.8, 0.95, 1)
"""How many values a group has, at quantiles."""


@dataclass(frozen=True)
class Group:
    """A kind of options."""

    kind: str
    name: str
    clean: tuple[str, ...]
    """Values that a goal may ask for."""
    messy: tuple[str, ...]

    def wanted(self, draw: Draw) -> str:
        """A value that siblings can do without: the others leave at least three that do not pass for it."""
        able = [one for one in self.clean if len(self.others(one)) >= 3 and _earns(one, self.name)]
        return draw.pick(able)

    def others(self, wanted: str) -> tuple[str, ...]:
        """Values that do not pass for this one."""
        return tuple(value for value in self.clean + self.messy if not matches(value, wanted, self.name))

    def offered(self, wanted: str, missing: bool, draw: Draw) -> tuple[str, ...]:
        """What one product has of it: with the wanted value or, where it is missing, nothing like it."""
        count = int(draw.quantile(_SIZES, _AT))
        if missing:
            return tuple(draw.some(self.others(wanted), count))
        rest = [value for value in self.clean + self.messy if value != wanted]
        return tuple(draw.shuffled([wanted, *draw.some(rest, count - 1)]))


@cache
def matches(value: str, wanted: str, group: str) -> bool:
    """Whether choosing `value` may earn the point for `wanted`, in any reading of the reward."""
    return any(_ratios(value, wanted, group))


def _earns(wanted: str, group: str) -> bool:
    """Whether it does for itself, in every reading."""
    return all(_ratios(wanted, wanted, group))


def _ratios(value: str, wanted: str, group: str) -> tuple[bool, bool]:
    """Of goals whose options are values, and of those whose options are pairs with the group."""
    chosen = normalized(shown(value))
    return ratio(chosen, normalized(wanted)) > ENOUGH, ratio(chosen, str((group, wanted))) > ENOUGH


def shown(value: str) -> str:
    """A seller's value as the shop shows it.

    >>> shown("Navy/White")
    'navy | white'
    """
    return value.strip().replace("/", " | ").lower()


def _table(text: str) -> dict[str, tuple[str, ...]]:
    return {kind: listed(values) for kind, _, values in (line.partition(": ") for line in lines(text))}


_CLEAN, _MESSY, _NAMES = (_table(text) for text in (common.CLEAN, common.MESSY, common.NAMES))
GROUPS = {kind: Group(kind, _NAMES[kind][0], _CLEAN[kind], _MESSY[kind]) for kind in _CLEAN}
"""By their kinds."""

"""Option groups: values of sellers, values of goals, and their equality under the reward."""

from dataclasses import dataclass
from functools import cache

from agentgym_envs.webshop.colors import normalized
from agentgym_envs.webshop.generator.draw import Draw
from agentgym_envs.webshop.generator.vocabulary import lines, listed
from agentgym_envs.webshop.generator.words import common
from agentgym_envs.webshop.rewards import ENOUGH, ratio

_SIZES, _AT = (2, 3, 4, 6, 10, 16), (0, 0.25, 0.5, 0.8, 0.95, 1)
"""Number of values of a group, at quantiles."""


@dataclass(frozen=True)
class Group:
    """Kind of options."""

    kind: str
    name: str
    clean: tuple[str, ...]
    """Values that a goal may ask for."""
    messy: tuple[str, ...]

    def wanted(self, draw: Draw) -> str:
        """A value that siblings can lack: at least three of the others do not match it."""
        able = [one for one in self.clean if len(self.others(one)) >= 3 and _earns(one, self.name)]
        return draw.pick(able)

    def others(self, wanted: str) -> tuple[str, ...]:
        """Values that do not match this one."""
        return tuple(value for value in self.clean + self.messy if not matches(value, wanted, self.name))

    def offered(self, wanted: str, missing: bool, draw: Draw) -> tuple[str, ...]:
        """Values that a product offers: with the wanted one or, if it is missing, without any match."""
        count = int(draw.quantile(_SIZES, _AT))
        if missing:
            return tuple(draw.some(self.others(wanted), count))
        rest = [value for value in self.clean + self.messy if value != wanted]
        return tuple(draw.shuffled([wanted, *draw.some(rest, count - 1)]))


@cache
def matches(value: str, wanted: str, group: str) -> bool:
    """True if choosing `value` may earn the point for `wanted`, under any interpretation of the reward."""
    return any(_ratios(value, wanted, group))


def _earns(wanted: str, group: str) -> bool:
    """True if a value earns its own point, under every interpretation."""
    return all(_ratios(wanted, wanted, group))


def _ratios(value: str, wanted: str, group: str) -> tuple[bool, bool]:
    """Two matches of `value`: for goals whose options are values, and for those whose options are pairs with
    the group.
    """
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
"""Groups by their kinds."""

"""Rules of the shop: a switch for each defect of the original, which is kept or mended.

`COMPAT` is the original to the letter but for the tagger, for scores that are compared with published ones;
`FIXED` is what it should have been. No switch brings back what only breaks a server: pages taken from the
text of an address, errors for a bare `<c>` or `<a>`, sessions that nobody frees.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from agentgym_envs.webshop.taggers import PATTERN, RULES, Tagger

Way = Literal["upstream", "fixed"]


@dataclass(frozen=True)
class Rules:
    """All switches. Two sets of them differ in what an agent sees or earns: scores name theirs."""

    reward: Way
    """`upstream` compares an option that has a name as the text of a pair, which some can never match."""
    parser: Way
    """`upstream` takes the first line's greedy `(.+)\\[(.+)\\]`, names in lower case only, nothing before it;
    `fixed` takes a message's first line from its first `[` to its last `]`, without regard to case and to
    white space around the name."""
    after_done: Way
    """`upstream` searches and sells again after a purchase; `fixed` does nothing any more."""
    duplicate_value: Way
    """Of a value of several groups: `upstream` chooses in the last; `fixed` in the first without a choice,
    and where `group: value` says."""
    sampling: Way
    """Of goals, where a reset names none: `upstream` draws by weight and is off by one; `fixed` evenly."""
    hidden_queries: bool
    """`<q> type` and `<c> category` list all products of a type or category."""
    echo_options: bool = False
    """Values that are chosen say so on the item's page; the original shows no difference in plain text."""
    show_attributes: bool = False
    """A fourth page of an item: what it was annotated with, which is what rewards look at."""
    nouns: Tagger = RULES
    """The tagger by whose nouns titles are compared."""

    def __str__(self) -> str:
        """`compat` or `fixed`, whichever is nearer, with the switches that differ from it, of which `nouns`
        may be one: before there was that switch, `compat` compared by `rules-1`.

        >>> str(COMPAT), str(changed(FIXED, {"echo_options": True}))
        ('compat,nouns=pattern-1', 'fixed,echo_options=True')
        """
        former = replace(COMPAT, nouns=RULES)
        return min((_told(self, "compat", former), _told(self, "fixed", FIXED)), key=len)


COMPAT = Rules("upstream", "upstream", "upstream", "upstream", "upstream", hidden_queries=True, nouns=PATTERN)
FIXED = Rules("fixed", "fixed", "fixed", "fixed", "fixed", hidden_queries=False)


def changed(rules: Rules, switches: Mapping[str, Any]) -> Rules:
    """With these switches set. Raises `ValueError` for one that is not there, or cannot be that."""
    known = {
        switch.name: (True, False) if switch.type is bool else get_args(switch.type)
        for switch in fields(Rules)
    }
    for name, value in switches.items():
        if name not in known:
            raise ValueError(f"no option {name!r}; switches of the shop are: {', '.join(known)}")
        if value not in known[name] or type(value) is not type(known[name][0]):
            raise ValueError(f"{name} is {value!r}; it may be: {', '.join(map(str, known[name]))}")
    return replace(rules, **switches)


def _told(rules: Rules, name: str, base: Rules) -> str:
    switches = [switch.name for switch in fields(Rules)]
    differing = [switch for switch in switches if getattr(rules, switch) != getattr(base, switch)]
    return ",".join([name, *(f"{switch}={getattr(rules, switch)}" for switch in differing)])

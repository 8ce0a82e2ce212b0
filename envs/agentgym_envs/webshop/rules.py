"""Rules of the shop: a switch per defect of the original, which is kept or fixed.

`COMPAT` is the original exactly except for the tagger, for scores that are compared with published ones;
`FIXED` is the corrected behaviour. No switch restores defects that only break a server: pages taken from the
text of an address, errors for a bare `<c>` or `<a>`, sessions that are never freed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, get_args

from pydantic import ConfigDict

from agentgym_envs.webshop.taggers import PATTERN, RULES, Tagger

Way = Literal["upstream", "fixed"]


@dataclass(frozen=True)
class Rules:
    """Set of switches. Different sets change observations or rewards: scores state theirs."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)

    reward: Way
    """`upstream` compares an option with a name as the text of a pair, which some can never match."""
    parser: Way
    """`upstream` takes the first line's greedy `(.+)\\[(.+)\\]`, names in lower case only, no text before it;
    `fixed` takes a message's first line from its first `[` to its last `]`, ignoring case and white space
    around the name.
    """
    after_done: Way
    """`upstream` searches and sells again after a purchase; `fixed` does nothing any more."""
    duplicate_value: Way
    """Value of several groups: `upstream` chooses in the last; `fixed` in the first without a choice, and in
    the named one for `group: value`.
    """
    sampling: Way
    """Sampling of goals for a reset without one: `upstream` draws by weight and is off by one; `fixed`
    uniformly.
    """
    hidden_queries: bool
    """`<q> type` and `<c> category` list all products of a type or category."""
    echo_options: bool = False
    """True if the item's page marks chosen values; the original shows no difference in plain text."""
    show_attributes: bool = False
    """True for a fourth page of an item: its annotated attributes, which rewards compare."""
    nouns: Tagger = RULES
    """Tagger of the nouns by which titles are compared."""

    def __str__(self) -> str:
        """`compat` or `fixed`, the nearer one, with the switches that differ from it, of which `nouns`
        may be one: before there was that switch, `compat` compared by `rules-1`.

        >>> str(COMPAT), str(changed(FIXED, {"echo_options": True}))
        ('compat,nouns=pattern-1', 'fixed,echo_options=True')
        """
        former = replace(COMPAT, nouns=RULES)
        return min((_told(self, "compat", former), _told(self, "fixed", FIXED)), key=len)


COMPAT = Rules("upstream", "upstream", "upstream", "upstream", "upstream", hidden_queries=True, nouns=PATTERN)
FIXED = Rules("fixed", "fixed", "fixed", "fixed", "fixed", hidden_queries=False)


def changed(rules: Rules, switches: Mapping[str, Any]) -> Rules:
    """Rules with these switches set. Raises `ValueError` for an unknown switch or an invalid value."""
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

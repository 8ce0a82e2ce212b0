"""Noun taggers for titles, which rewards compare; each has a name with its version.

pattern-1   Pattern's, by a lexicon: finds the nouns that the original's recorded purchases were compared by
rules-1     without a lexicon: for the generated shop, and for catalogues that were imported before
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from agentgym_envs.webshop import nouns
from agentgym_envs.webshop.taggers import pattern

Tagger = Literal["pattern-1", "rules-1"]
PATTERN: Tagger = "pattern-1"
RULES: Tagger = "rules-1"
_FINDERS: Mapping[str, Callable[[str], Sequence[str]]] = {PATTERN: pattern.nouns, RULES: nouns.nouns}
TAGGERS: tuple[str, ...] = tuple(_FINDERS)
"""Names of the taggers."""


@lru_cache(maxsize=4096)
def nouns_by(tagger: str, title: str) -> tuple[str, ...]:
    """The nouns of a title in lower case and in their order; raises `LookupError` for an unknown tagger."""
    return tuple(_FINDERS[tagger](title))

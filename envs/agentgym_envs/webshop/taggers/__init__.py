"""Taggers, which find the nouns of titles that rewards compare; each has a name with its version.

pattern-1   Pattern's, by a lexicon: finds what the original's recorded purchases were compared by
rules-1     without a lexicon: of the generated shop, and of catalogues that were imported before
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
"""Their names."""


@lru_cache(maxsize=4096)
def nouns_by(tagger: str, title: str) -> tuple[str, ...]:
    """The nouns of a title in lower case and in their order; raises `LookupError` for an unknown tagger."""
    return tuple(_FINDERS[tagger](title))

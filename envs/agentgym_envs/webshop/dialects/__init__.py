"""Dialects of other projects for this shop: their observations and reply parsers, as pure functions over its
pages.

Prompts are not included: they belong to the trainer or the evaluation. The dialect of players of the web site
is `agentgym_envs.webshop.dialects.site`.
"""

from collections.abc import Sequence
from typing import TypedDict


class Available(TypedDict):
    """Available actions, in the form of AgentGym's and AgentBench's servers."""

    has_search_bar: bool
    clickables: Sequence[str]

"""What others show their models of this shop, and how they read the replies: pure functions over its pages.

Prompts are not here: they belong to who trains or tests. The language of those who play the web site is that
of `agentgym_envs.webshop.dialects.site`.
"""

from collections.abc import Sequence
from typing import TypedDict


class Available(TypedDict):
    """What an agent may do, as AgentGym's and AgentBench's servers say it."""

    has_search_bar: bool
    clickables: Sequence[str]

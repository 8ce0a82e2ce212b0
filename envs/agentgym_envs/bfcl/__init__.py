"""BFCL: multi-turn dialogues with eight simulated APIs, those of the Berkeley leaderboard's wheel."""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.bfcl.environment import BFCL
else:  # the import of data needs no wheel, and the environment does
    __getattr__, __dir__ = lazy_names(__name__, {"BFCL": "agentgym_envs.bfcl.environment:BFCL"})

__all__ = ["BFCL"]

"""Airline of tau-bench and tau2-bench: its help desk, with 14 tools.

Names for other packages: `TauAirline`.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.tau.airline.environment import TauAirline
else:
    __getattr__, __dir__ = lazy_names(
        __name__, {"TauAirline": "agentgym_envs.tau.airline.environment:TauAirline"}
    )

__all__ = ["TauAirline"]

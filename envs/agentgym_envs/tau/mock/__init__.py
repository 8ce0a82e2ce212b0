"""Mock domain of tau2-bench: the to-do list of a team and an inbox, with 6 tools, for tests of set-ups.

Names for other packages: `TauMock`.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.tau.mock.environment import TauMock
else:
    __getattr__, __dir__ = lazy_names(__name__, {"TauMock": "agentgym_envs.tau.mock.environment:TauMock"})

__all__ = ["TauMock"]

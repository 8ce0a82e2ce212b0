"""Telecom of tau2-bench: find and fix the faults of a phone and its line, with 43 tools.

Names for other packages: `TauTelecom`.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.tau.telecom.environment import TauTelecom
else:
    __getattr__, __dir__ = lazy_names(
        __name__, {"TauTelecom": "agentgym_envs.tau.telecom.environment:TauTelecom"}
    )

__all__ = ["TauTelecom"]

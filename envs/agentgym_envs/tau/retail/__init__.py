"""Retail of tau-bench and tau2-bench: the help desk of a shop, with 16 tools.

Names for other packages: `TauRetail`.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.tau.retail.environment import TauRetail
else:
    __getattr__, __dir__ = lazy_names(
        __name__, {"TauRetail": "agentgym_envs.tau.retail.environment:TauRetail"}
    )

__all__ = ["TauRetail"]

"""Simulated users of the tau domains.

`stub`       one sentence, then the end: for checks of the plumbing
`scripted`   rules over the scenario's own text
`llm`        a model behind an OpenAI-compatible endpoint

Names for other packages: `LanguageModelUser`, `User`, `UserFault`, `UserMode`, `UserModel`,
`can_be_scripted`, `has_stopped`, `make_user`.
"""

from agentgym_envs.tau.users.language_model import LanguageModelUser, UserFault, UserModel
from agentgym_envs.tau.users.making import UserMode, make_user
from agentgym_envs.tau.users.scripted import can_be_scripted
from agentgym_envs.tau.users.user import User, has_stopped

__all__ = [
    "LanguageModelUser",
    "User",
    "UserFault",
    "UserMode",
    "UserModel",
    "can_be_scripted",
    "has_stopped",
    "make_user",
]

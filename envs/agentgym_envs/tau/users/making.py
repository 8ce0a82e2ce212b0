"""Choice of the simulated user: `make_user`."""

from typing import Literal

from agentgym_envs.tau.tasks import TauTask
from agentgym_envs.tau.users.language_model import LanguageModelUser, UserModel
from agentgym_envs.tau.users.scripted import ScriptedUser
from agentgym_envs.tau.users.stub import StubUser
from agentgym_envs.tau.users.user import Seat, User

UserMode = Literal["solo", "stub", "scripted", "llm"]
"""Kind of the user; `solo` is none."""


def make_user(mode: UserMode, task: TauTask, seed: int, model: UserModel | None, seat: Seat | None) -> User:
    """The user of an episode; `model` is the endpoint of the mode `llm`."""
    if mode == "stub":
        return StubUser()
    if mode == "scripted":
        return ScriptedUser(task.scenario)
    if mode == "llm" and model is not None:
        return LanguageModelUser(task.scenario, model, seed, seat, history=task.history[:-1])
    raise ValueError(f"no user {mode!r} can be made")

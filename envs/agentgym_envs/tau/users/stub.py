"""User with one fixed sentence: `StubUser`."""

from agentgym_envs.tau.users.user import STOP, User


class StubUser(User):
    """Says one sentence, and ends the dialogue at the agent's first message."""

    def open(self, greeting: str | None) -> str:
        return "Hello, I need your help."

    def answer(self, message: str) -> str:
        return STOP

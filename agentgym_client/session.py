"""Session: one episode of one task, played turn by turn."""

import uuid
from types import TracebackType
from typing import Any

from agentgym_client.errors import ServerProblem
from agentgym_client.operations import Operation
from agentgym_client.retries import Caller
from agentgym_envs.core import Observation, StepResult

GONE = ("session-not-found", "session-expired", "session-closed")
WAIT_S = 30
"""Maximum time for which a full server holds a request, seconds."""

Action = str | dict[str, Any]


def fresh_key() -> str:
    """A new idempotency key: repeats of the request create no second episode."""
    return uuid.uuid4().hex


def waiting_s(timeout_s: float) -> int:
    """Maximum time for which a full server may hold a request with this timeout."""
    return max(0, min(WAIT_S, int(timeout_s / 2)))


class Session:
    """Episode on the server. Its attributes are its current state; `step` advances it."""

    def __init__(self, caller: Caller, reply: dict[str, Any], timeout_s: float) -> None:
        self._caller = caller
        self._timeout_s = timeout_s
        self.id: str = reply["session_id"]
        self.env: str = reply["env"]
        self.task_id: str = reply["task_id"]
        self.seed: int = reply["seed"]
        self.env_version: str = reply["env_version"]
        self.data_version: str = reply["data_version"]
        self.max_turns: int = reply["max_turns"]
        self.turn: int = reply["turn"]
        """Completed turns."""
        self.terminated: bool = reply["terminated"]
        self.truncated: bool = reply["truncated"]
        self.total_reward: float = reply["total_reward"]
        self.episode_id: str | None = reply.get("episode_id")
        """Equal for the sessions of one episode with several seats; None for a session of its own."""
        self.seat: str | None = reply.get("seat")
        self.your_turn: bool = reply.get("your_turn", True)
        """False before a seat's first turn: see `await_turn`."""
        self.outcome: str | None = None
        """After closing: the outcome that the server counted: `terminated`, `failed`, ..."""
        self._tools = _tools(reply)
        info = dict(reply["info"])
        self.observation: Observation = self._observed(reply["observation"], info)
        """The latest observation."""
        self.info: dict[str, Any] = info
        """Info of the latest reply."""

    @property
    def done(self) -> bool:
        """True if the episode is over."""
        return self.terminated or self.truncated

    async def step(self, action: Action) -> StepResult:
        """Play an action: text, or an object of the wire format.

        A lost reply is requested again; the action is executed once. Raises `ServerProblem` if the episode is
        over, failed (`problem.failure` is the kind) or gone, and `TransportError`.
        """
        members = {"session_id": self.id, "turn": self.turn + 1, "action": action}
        reply = await self._caller.perform(Operation("step", members, alone=self.seat is not None))
        info: dict[str, Any] = reply["info"]
        self.observation, self.info = self._observed(reply["observation"], info), info
        self.turn = reply["turn"]
        self.terminated, self.truncated = reply["terminated"], reply["truncated"]
        self.total_reward = reply["total_reward"]
        return StepResult(
            observation=self.observation,
            reward=reply["reward"],
            terminated=self.terminated,
            truncated=self.truncated,
            costs=reply.get("costs", {}),
            info=info,
        )

    async def await_turn(self) -> Observation:
        """Wait for the first turn of a seat, or for its end; the observation to act upon.

        Returns at once where it is its turn. Raises `ServerProblem` if the episode failed (with the
        failure `partner` where one left) or is gone.
        """
        while not self.your_turn and not self.done:
            wait_s = max(1, waiting_s(self._timeout_s))
            reply = await self._caller.perform(Operation("get", {"session_id": self.id}, wait_s=wait_s))
            if reply["state"] not in ("open", "ended"):
                raise _gone(reply)
            self.your_turn = reply["your_turn"]
            self.terminated, self.truncated = reply["terminated"], reply["truncated"]
            self.total_reward, self._tools = reply["total_reward"], _tools(reply)
            self.info = dict(reply["info"])
            self.observation = self._observed(reply["observation"], self.info)
        return self.observation

    async def fork(self, at_turn: int | None = None) -> "Session":
        """A new, independent session in the state of this one, or in its state after `at_turn` turns."""
        place = {} if at_turn is None else {"at_turn": at_turn}
        members = {"session_id": self.id, **place}
        operation = Operation("fork", members, fresh_key(), waiting_s(self._timeout_s))
        return Session(self._caller, await self._caller.perform(operation), self._timeout_s)

    async def renew(self, lease_ttl_s: float | None = None) -> None:
        """Renew the lease, optionally with another duration; every step does so by itself."""
        time = {} if lease_ttl_s is None else {"lease_ttl_s": lease_ttl_s}
        await self._caller.perform(Operation("lease", {"session_id": self.id, **time}))

    async def close(self) -> None:
        """Close the session; idempotent. A session that is already gone is no error."""
        try:
            reply = await self._caller.perform(Operation("delete", {"session_id": self.id}))
            self.outcome = reply["outcome"]
        except ServerProblem as problem:
            if problem.kind not in GONE:
                raise

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _observed(self, text: str, info: dict[str, Any]) -> Observation:
        """The observation of a reply; its members are removed from `info`."""
        actions: list[str] | None = info.pop("available_actions", None)
        if "tools" in info:
            tools: list[dict[str, Any]] | None = info.pop("tools")
            self._tools = None if tools is None else tuple(tools)
        return Observation(text=text, actions=None if actions is None else tuple(actions), tools=self._tools)


def _tools(reply: dict[str, Any]) -> tuple[dict[str, Any], ...] | None:
    tools: list[dict[str, Any]] | None = reply["tools"]
    return None if tools is None else tuple(tools)


def _gone(reply: dict[str, Any]) -> ServerProblem:
    """The problem of a session that failed or is gone while it waited for its turn."""
    state, failure = reply["state"], reply["failure"]
    members = {"failure": failure} if failure is not None else {}
    detail = f"the session is {state}" if failure is None else failure["message"]
    return ServerProblem(f"session-{state}", 409, detail, False, members)

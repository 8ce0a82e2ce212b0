"""User played by a model behind an OpenAI-compatible endpoint: `LanguageModelUser`, `UserModel`.

See `agentgym_envs.endpoints` for the requests.
"""

import json
from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from agentgym_envs.endpoints.client import ChatClient
from agentgym_envs.endpoints.records import Endpoint, EndpointFault, Function, Said
from agentgym_envs.tau.judging.judgement import Line
from agentgym_envs.tau.tasks import Scenario
from agentgym_envs.tau.users.user import STOP, Seat, User
from agentgym_envs.tooluse import CallError, parse
from agentgym_envs.tooluse.calls import mentions_call

if TYPE_CHECKING:
    import httpx

MOST_CALLS = 20
"""Tool calls of the user in one turn."""
RULES = """You play a customer who contacts a company's support agent. Write one message at a time.

- Stay in the role; use only what the scenario says. What it does not say, you do not know.
- Reveal facts when they are needed or asked for, not all at once, and in your own words.
- When your wishes are met, or cannot be, write {stop} and nothing else.
- If the agent hands you over to a human, write ###TRANSFER###.
- If the scenario does not say enough to go on, write ###OUT-OF-SCOPE###."""
TOOL_RULE = "- You have tools of your own. Use them for what the agent asks, and tell what they show."


class UserFault(EndpointFault):
    """The endpoint of the user gave no usable answer: the episode fails, and is no reward."""


class UserModel(Endpoint):
    """Endpoint and sampling of a simulated user."""


class LanguageModelUser(User):
    """User whose messages a model writes; its answers are coroutines."""

    def __init__(
        self,
        scenario: Scenario,
        model: UserModel,
        seed: int,
        seat: Seat | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
        history: Sequence[Line] = (),
    ) -> None:
        self._client = ChatClient(model, role="user", fault=UserFault, transport=transport)
        self._seed = seed
        self._seat = seat
        self._messages: list[dict[str, Any]] = [
            {"role": "system", "content": _prompt(scenario, seat)},
            *_heard(history),
        ]

    def open(self, greeting: str | None) -> str:
        raise TypeError("the answers of a language model are coroutines: answer_later")

    def answer(self, message: str) -> str:
        raise TypeError("the answers of a language model are coroutines: answer_later")

    async def answer_later(self, message: str | None) -> str:
        """The answer to a message of the agent, None at the start of a dialogue that the user opens.

        Raises `UserFault` if the endpoint gives no usable answer.
        """
        self._messages.append({"role": "user", "content": message or "(the line is open)"})
        for _ in range(MOST_CALLS):
            said = await self._client.complete(self._request(), lambda said: said)
            if not said.tool_calls or self._seat is None:
                text = (said.content or "").strip()
                if not text:
                    model = self._client.endpoint.model
                    raise UserFault(f"the user's model {model!r} answered with an empty message")
                self._messages.append({"role": "assistant", "content": text})
                return text
            self._use_tools(said, self._seat)
        raise UserFault(f"the user's model made {MOST_CALLS} rounds of tool calls without a message")

    def copied(self, seat: Seat | None) -> "LanguageModelUser":
        other = copy(self)
        other._seat, other._messages, other._client = seat, list(self._messages), self._client.copied()
        return other

    def figures(self) -> dict[str, Any]:
        return {
            **self._client.figures(),
            "transcript": [
                {"role": one["role"], "content": one.get("content")} for one in self._messages[1:]
            ],
        }

    def _use_tools(self, said: Said, seat: Seat) -> None:
        calls = said.tool_calls or ()
        self._messages.append(
            {
                "role": "assistant",
                "content": said.content,
                "tool_calls": [
                    {"id": one.id, "type": "function", "function": one.function.model_dump()} for one in calls
                ],
            }
        )
        for one in calls:
            result = _called(seat, one.function)
            self._messages.append({"role": "tool", "tool_call_id": one.id, "content": result})

    def _request(self) -> dict[str, Any]:
        tools = {"tools": list(self._seat[0].functions)} if self._seat is not None else {}
        return {"messages": self._messages, "seed": self._seed % 2**31, **tools}


def _prompt(scenario: Scenario, seat: Seat | None) -> str:
    rules = RULES.format(stop=STOP) + (f"\n{TOOL_RULE}" if seat is not None else "")
    parts = {
        "Your character": scenario.persona,
        "Why you call": scenario.reason,
        "What you know": scenario.known,
        "What you do not know": scenario.unknown,
        "How you behave, and what you want": scenario.instructions,
    }
    told = "\n\n".join(f"{title}:\n{text.strip()}" for title, text in parts.items() if text.strip(" ."))
    return f"{rules}\n\n{told}"


def _heard(history: Sequence[Line]) -> Iterator[dict[str, Any]]:
    """The texts of a dialogue so far, in the roles that they have for the user's model."""
    roles = {"agent": "user", "customer": "assistant"}
    for line in history:
        if line.speaker in roles and not mentions_call(line.text):
            yield {"role": roles[line.speaker], "content": line.text}


def _called(seat: Seat, function: Function) -> str:
    """The result of a tool call of the user's model."""
    tools, execute = seat
    tool = tools.get(function.name)
    if tool is None:
        return f"Error: Tool '{function.name[:80]}' not found."
    try:
        call = parse(json.dumps({"name": function.name, "arguments": function.arguments}))[0]
        arguments = cast("dict[str, Any]", tool.check(call.arguments, ""))
    except CallError as error:
        return f"Error: {error.message}"
    return execute(tool, arguments)

"""User played by a model behind an OpenAI-compatible endpoint: `LanguageModelUser`, `UserModel`.

The API key is read from the environment variable `OPENAI_API_KEY`; without one, none is sent. Needs httpx.
"""

import asyncio
import json
import os
import time
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from pydantic import Field, ValidationError

from agentgym_envs.core import Record
from agentgym_envs.tau.tasks import Scenario
from agentgym_envs.tau.users.user import STOP, Seat, User
from agentgym_envs.tooluse import CallError, parse

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
TOOL_RULE = "- You hold the phone. Use your tools for what the agent asks, and tell what they show."


class UserFault(RuntimeError):
    """The endpoint of the user gave no usable answer: the episode fails, and is no reward."""


class UserModel(Record):
    """Endpoint and sampling of a simulated user."""

    base_url: str
    """For example `http://127.0.0.1:8000/v1`."""
    model: str
    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=512, ge=1)
    timeout_s: float = Field(default=60.0, gt=0)
    retries: int = Field(default=2, ge=0, le=10)
    """Further attempts after a failed request."""


class _Function(Record, extra="ignore"):
    name: str
    arguments: str = "{}"


class _ToolCall(Record, extra="ignore"):
    id: str = ""
    function: _Function


class _Message(Record, extra="ignore"):
    content: str | None = None
    tool_calls: tuple[_ToolCall, ...] | None = None


class _Choice(Record, extra="ignore"):
    message: _Message


class _Usage(Record, extra="ignore"):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(Record, extra="ignore"):
    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: _Usage | None = None


class LanguageModelUser(User):
    """User whose messages a model writes; its answers are coroutines."""

    def __init__(
        self,
        scenario: Scenario,
        model: UserModel,
        seed: int,
        seat: Seat | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        self._model = model
        self._seed = seed
        self._seat = seat
        self._transport = transport
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": _prompt(scenario, seat)}]
        self._requests = 0
        self._tokens = [0, 0]
        self._latency_s = 0.0

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
            said = await self._completed()
            if not said.tool_calls or self._seat is None:
                text = (said.content or "").strip()
                if not text:
                    raise UserFault(f"the user's model {self._model.model!r} answered with an empty message")
                self._messages.append({"role": "assistant", "content": text})
                return text
            self._use_tools(said, self._seat)
        raise UserFault(f"the user's model made {MOST_CALLS} rounds of tool calls without a message")

    def copied(self, seat: Seat | None) -> "LanguageModelUser":
        other = copy(self)
        other._seat, other._messages, other._tokens = seat, list(self._messages), list(self._tokens)
        return other

    def figures(self) -> dict[str, Any]:
        return {
            "model": self._model.model,
            "temperature": self._model.temperature,
            "requests": self._requests,
            "prompt_tokens": self._tokens[0],
            "completion_tokens": self._tokens[1],
            "latency_s": round(self._latency_s, 3),
            "transcript": [
                {"role": one["role"], "content": one.get("content")} for one in self._messages[1:]
            ],
        }

    def _use_tools(self, said: _Message, seat: Seat) -> None:
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

    async def _completed(self) -> _Message:
        """One completion, with bounded retries."""
        reason = ""
        for attempt in range(self._model.retries + 1):
            started = time.perf_counter()
            try:
                return await self._requested()
            except UserFault as fault:
                reason = str(fault)
                await asyncio.sleep(min(0.5 * 2**attempt, 8.0) if attempt < self._model.retries else 0)
            finally:
                self._latency_s += time.perf_counter() - started
        raise UserFault(f"the user's endpoint failed {self._model.retries + 1} times; the last: {reason}")

    async def _requested(self) -> _Message:
        httpx = _httpx()
        self._requests += 1
        key = os.environ.get("OPENAI_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"{self._model.base_url.rstrip('/')}/chat/completions"
        try:
            async with httpx.AsyncClient(
                timeout=self._model.timeout_s, transport=self._transport, headers=headers
            ) as client:
                response = await client.post(url, json=self._request())
        except httpx.HTTPError as cause:
            raise UserFault(f"{url}: {type(cause).__name__}: {cause}") from cause
        if not response.is_success:
            raise UserFault(f"{url} answered with the status {response.status_code}: {response.text[:200]}")
        try:
            found = _Completion.model_validate_json(response.content)
        except ValidationError:
            raise UserFault(f"{url} answered with no chat completion: {response.text[:200]}") from None
        if found.usage is not None:
            self._tokens[0] += found.usage.prompt_tokens
            self._tokens[1] += found.usage.completion_tokens
        return found.choices[0].message

    def _request(self) -> dict[str, Any]:
        tools = {"tools": list(self._seat[0].functions)} if self._seat is not None else {}
        return {
            "model": self._model.model,
            "messages": self._messages,
            "temperature": self._model.temperature,
            "max_tokens": self._model.max_tokens,
            "seed": self._seed % 2**31,
            **tools,
        }


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


def _called(seat: Seat, function: _Function) -> str:
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


def _httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError as cause:
        raise UserFault("the user 'llm' needs httpx: pip install httpx") from cause
    return httpx

"""Client of endpoints: retries, repairs, bounds, cache, and the figures of its requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from agentgym_envs.endpoints import retries
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.endpoints.client import MOST_BYTES, ChatClient
from agentgym_envs.endpoints.figures import Figures
from agentgym_envs.endpoints.records import Endpoint, EndpointFault, Said

REQUEST = {"messages": [{"role": "user", "content": "a word?"}]}


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which nobody waits for."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("agentgym_envs.endpoints.client.asyncio.sleep", sleep)
    return waited


class Server:
    """Answers in order; the last one again and again."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = list(answers)
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def said(text: str, usage: dict[str, int] | None = None) -> httpx.Response:
    message = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    return httpx.Response(200, json=message | ({"usage": usage} if usage else {}))


def client(
    server: Callable[[httpx.Request], httpx.Response], cache: AnswerCache | None = None, **settings: Any
) -> ChatClient:
    endpoint = Endpoint(base_url="http://model.invalid/v1/", model="m", **settings)
    transport = httpx.MockTransport(server)
    return ChatClient(endpoint, role="judge", fault=EndpointFault, cache=cache, transport=transport)


def word(answer: Said) -> str:
    """The answer, if it is one word."""
    text = answer.content or ""
    if " " in text or not text:
        raise EndpointFault(f"not one word: {text!r}")
    return text


def test_an_answer_and_what_was_sent() -> None:
    server = Server(said("yes"))
    asked = client(server, temperature=0.7, max_tokens=9)
    assert asyncio.run(asked.complete(REQUEST, word)) == "yes"
    assert server.bodies == [{"model": "m", "temperature": 0.7, "max_tokens": 9, **REQUEST}]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_failures_that_may_pass_are_tried_again(status: int, pauses: list[float]) -> None:
    server = Server(httpx.Response(status), httpx.ConnectError("refused"), said("yes"))
    assert asyncio.run(client(server).complete(REQUEST, word)) == "yes"
    assert len(server.bodies) == 3
    assert 0.25 <= pauses[0] <= 0.5 <= pauses[1] <= 1.0


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, "no such model"),
        (401, "it refuses the key"),
        (403, "it refuses the key"),
        (404, "no such model"),
        (422, "no such model"),
    ],
)
def test_failures_that_stay_are_not(status: int, told: str, pauses: list[float]) -> None:
    server = Server(httpx.Response(status, text="no such model"))
    with pytest.raises(EndpointFault, match=f"status {status}: {told}"):
        asyncio.run(client(server).complete(REQUEST, word))
    assert len(server.bodies) == 1
    assert pauses == []


def test_attempts_are_bounded(pauses: list[float]) -> None:
    server = Server(httpx.Response(500))
    with pytest.raises(EndpointFault, match=r"the judge's endpoint failed 4 times; the last: .*500"):
        asyncio.run(client(server, retries=3).complete(REQUEST, word))
    assert len(server.bodies) == 4
    assert len(pauses) == 3


def test_the_endpoint_may_ask_for_a_pause(pauses: list[float]) -> None:
    server = Server(httpx.Response(429, headers={"Retry-After": "7"}), said("yes"))
    assert asyncio.run(client(server).complete(REQUEST, word)) == "yes"
    assert pauses == [7.0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3.0), ("9999", 60.0), ("soon", None), ("", None), ("-1", None), ("٣", None)],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    assert retries.asked_for({"retry-after": header}) == seconds


def test_retry_after_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    waits = retries.asked_for({"retry-after": later})
    assert waits is not None
    assert 25 < waits <= 30
    assert retries.asked_for({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


def test_a_useless_answer_is_repaired_at_the_same_endpoint(pauses: list[float]) -> None:
    server = Server(said("two words"), said("yes"))

    def repair(answer: str, reason: str) -> list[dict[str, str]]:
        return [{"role": "assistant", "content": answer}, {"role": "user", "content": reason}]

    assert asyncio.run(client(server).complete(REQUEST, word, repair=repair)) == "yes"
    assert server.bodies[0]["messages"] == REQUEST["messages"]
    assert server.bodies[1]["messages"] == [
        *REQUEST["messages"],
        {"role": "assistant", "content": "two words"},
        {"role": "user", "content": "not one word: 'two words'"},
    ]
    assert len(pauses) == 1


@pytest.mark.parametrize("answer", ["{", "[]", '{"choices": []}', "<html>"])
def test_what_is_no_completion_is_no_answer(answer: str, pauses: list[float]) -> None:
    server = Server(httpx.Response(200, text=answer))
    with pytest.raises(EndpointFault, match="no chat completion"):
        asyncio.run(client(server).complete(REQUEST, word))
    assert len(pauses) == 2


@pytest.mark.usefixtures("pauses")
def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b" " * (1 << 20)

    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=endless())

    with pytest.raises(EndpointFault, match=r"failed 2 times; the last: .* answered with more than 8 MiB"):
        asyncio.run(client(answer, retries=1).complete(REQUEST, word))
    assert read == 2 * 9


@pytest.mark.parametrize(("spaces", "is_read"), [(MOST_BYTES, True), (MOST_BYTES + 1, False)])
def test_the_longest_answer(spaces: int, is_read: bool) -> None:
    content = said("yes").content
    server = Server(httpx.Response(200, content=content + b" " * (spaces - len(content))))
    asked = client(server, retries=0)
    if is_read:
        assert asyncio.run(asked.complete(REQUEST, word)) == "yes"
    else:
        with pytest.raises(EndpointFault, match="more than 8 MiB"):
            asyncio.run(asked.complete(REQUEST, word))


@pytest.mark.parametrize(
    "usage", [{}, None, "none", {"prompt_tokens": 1}, {"prompt_tokens": 1, "completion_tokens": None}]
)
def test_a_usage_that_is_not_complete_is_estimated(usage: object) -> None:
    message = {"choices": [{"message": {"content": "abcdefgh"}}], "usage": usage}
    asked = client(Server(httpx.Response(200, json=message)))
    assert asyncio.run(asked.complete(REQUEST, word)) == "abcdefgh"
    told = asked.figures()
    assert (told["estimated"], told["prompt_tokens"], told["completion_tokens"]) == (1, 10, 2)


def test_messages_have_no_password_of_the_address() -> None:
    endpoint = Endpoint(base_url="http://ann:pass@model.invalid:8000/v1?version=2", model="m", retries=0)
    for answer in (httpx.Response(500), httpx.Response(200, text="{"), httpx.ConnectError("refused")):
        transport = httpx.MockTransport(Server(answer))
        asked = ChatClient(endpoint, role="judge", fault=EndpointFault, transport=transport)
        with pytest.raises(EndpointFault) as raised:
            asyncio.run(asked.complete(REQUEST, word))
        assert "http://model.invalid:8000/v1?version=2" in str(raised.value)
        assert "pass" not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["http://", "http://:80/v1", "http://[::1", "http://h:x/v1", "http://h:99999", "http://h/a b"]
)
def test_an_address_without_a_host_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match=r"^Endpoint: base_url: (?!Value error)") as raised:
        Endpoint.of({"base_url": url, "model": "m"})
    assert "\n" not in str(raised.value)


def test_why_nothing_usable_came_in_time() -> None:
    asked = client(Server(httpx.Response(429, text="slow down"), said("yes")), retries=0)
    assert asked.failing == ""
    with pytest.raises(EndpointFault):
        asyncio.run(asked.complete(REQUEST, word))
    assert asked.failing.startswith("; the latest failure: http://model.invalid/v1/chat/completions answered")
    assert asked.failing.endswith("429: slow down")
    asyncio.run(asked.complete(REQUEST, word))
    assert asked.failing == ""


def test_a_slow_endpoint_is_given_up() -> None:
    async def slow(_request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        return said("late")

    endpoint = Endpoint(base_url="http://model.invalid/v1", model="m", timeout_s=0.01, retries=0)
    asked = ChatClient(endpoint, role="user", fault=EndpointFault, transport=httpx.MockTransport(slow))
    with pytest.raises(EndpointFault, match=r"no answer within 0\.01 s"):
        asyncio.run(asked.complete(REQUEST, word))


def test_equal_requests_share_one_call_and_failures_are_not_kept() -> None:
    server = Server(httpx.Response(400), said("yes"))
    cache = AnswerCache()
    asked = client(server, cache)

    async def ask() -> list[str]:
        with pytest.raises(EndpointFault):
            await asked.complete(REQUEST, word)
        return await asyncio.gather(*(asked.complete(REQUEST, word) for _ in range(5)))

    assert asyncio.run(ask()) == ["yes"] * 5
    assert len(server.bodies) == 2
    assert asked.figures()["cached"] == 4


def test_the_cache_tells_requests_samples_and_models_apart() -> None:
    server, cache = Server(said("yes")), AnswerCache()
    other = {"messages": [{"role": "user", "content": "another?"}]}

    async def ask() -> None:
        await client(server, cache).complete(REQUEST, word)
        await client(server, cache).complete(REQUEST, word)
        await client(server, cache).complete(other, word)
        await client(server, cache).complete(REQUEST, word, sample=1)
        await client(server, cache, temperature=1.0).complete(REQUEST, word)

    asyncio.run(ask())
    assert len(server.bodies) == 4


def test_the_cache_keeps_the_latest() -> None:
    server, cache = Server(said("yes")), AnswerCache(size=2)
    requests = [{"messages": [{"role": "user", "content": str(number)}]} for number in range(3)]

    async def ask() -> None:
        asked = client(server, cache)
        for request in (*requests, requests[2], requests[1], requests[0]):
            await asked.complete(request, word)

    asyncio.run(ask())
    assert [body["messages"][0]["content"] for body in server.bodies] == ["0", "1", "2", "0"]


def test_a_cancelled_caller_does_not_cancel_the_others() -> None:
    cache = AnswerCache()

    async def ask() -> str | None:
        started = asyncio.Event()

        async def answer() -> Said:
            started.set()
            await asyncio.sleep(0.01)
            return Said(content="yes")

        first = asyncio.create_task(cache.get("key", answer))
        await started.wait()
        second = asyncio.create_task(cache.get("key", answer))
        await asyncio.sleep(0)
        first.cancel()
        return (await second)[0].content

    assert asyncio.run(ask()) == "yes"


def test_requests_at_once_are_bounded() -> None:
    running, most = 0, 0

    async def answer(_request: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return said("yes")

    endpoint = Endpoint(base_url="http://model.invalid/v1", model="m", concurrency=3)
    transport = httpx.MockTransport(answer)
    clients = [ChatClient(endpoint, role="user", fault=EndpointFault, transport=transport) for _ in range(12)]

    async def ask() -> None:
        await asyncio.gather(*(one.complete(REQUEST, word) for one in clients))

    asyncio.run(ask())
    assert most == 3


def test_figures_and_costs() -> None:
    server = Server(said("yes", {"prompt_tokens": 1_000, "completion_tokens": 10}), said("abcdefgh"))
    asked = client(server, prompt_price=2.0, completion_price=10.0)
    asyncio.run(asked.complete(REQUEST, word))
    told = asked.figures()
    assert {name: told[name] for name in ("requests", "prompt_tokens", "completion_tokens", "estimated")} == {
        "requests": 1,
        "prompt_tokens": 1_000,
        "completion_tokens": 10,
        "estimated": 0,
    }
    assert told["cost"] == 0.0021
    asyncio.run(asked.complete(REQUEST, word))
    assert asked.figures()["estimated"] == 1
    assert asked.figures()["completion_tokens"] == 12


def test_a_copy_counts_on_by_itself() -> None:
    asked = client(Server(said("yes")))
    other = asked.copied()
    asyncio.run(other.complete(REQUEST, word))
    assert (asked.figures()["requests"], other.figures()["requests"]) == (0, 1)


@pytest.mark.parametrize(
    "answer", [httpx.Response(400, text="no: sk-secret!"), httpx.Response(200, text="sk-secret")]
)
@pytest.mark.usefixtures("pauses")
def test_no_error_shows_the_key(answer: httpx.Response, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\n")
    with pytest.raises(EndpointFault) as raised:
        asyncio.run(client(Server(answer)).complete(REQUEST, word))
    assert "sk-secret" not in str(raised.value)
    assert "***" in str(raised.value)


def test_a_key_with_other_signs_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(said("yes"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sécret")
    with pytest.raises(EndpointFault, match="OPENAI_API_KEY holds no key") as raised:
        asyncio.run(client(server).complete(REQUEST, word))
    assert "cret" not in str(raised.value)
    assert server.bodies == []


def test_a_total_counts_the_requests_of_several_clients() -> None:
    total, server = Figures(), Server(said("yes", {"prompt_tokens": 10, "completion_tokens": 2}))
    endpoint, cache = Endpoint(base_url="http://model.invalid/v1", model="m"), AnswerCache()
    transport = httpx.MockTransport(server)
    clients = [
        ChatClient(endpoint, role="judge", fault=EndpointFault, cache=cache, total=total, transport=transport)
        for _ in range(2)
    ]
    for one in clients:
        asyncio.run(one.complete(REQUEST, word))
    assert [one.figures()["requests"] for one in clients] == [1, 0]
    assert (total.requests, total.prompt_tokens, total.completion_tokens, total.cached) == (1, 10, 2, 1)

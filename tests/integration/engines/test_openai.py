"""Models behind an OpenAI-compatible endpoint: an application stands in for it."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from typer.testing import CliRunner

from agentevol.cli import app as command_line
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError, PolicyFault
from agentevol.core.protocols import ContextFull, Conversation, Message, Sampling
from agentevol.engines import endpoint, openai
from agentevol.engines.endpoint import Endpoint, key_from
from agentevol.engines.openai import OpenAIPolicy, openai_policy
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.runs import evaluation

KEY = "sk-very-secret-0123456789"
SAMPLING = Sampling(temperature=0.5, max_new_tokens=9)


class FakeEndpoint:
    """Answers chats by halving what it was told; `canned` comes first."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Any], httpx.Headers]] = []
        self.canned: deque[Callable[[], Response]] = deque()
        self.usage: Any = {"prompt_tokens": 31, "completion_tokens": 3}
        app = FastAPI()
        app.post("/v1/chat/completions")(self.answer)
        self.transport = httpx.ASGITransport(app)

    async def answer(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append((body, httpx.Headers(request.headers.raw)))
        if self.canned:
            return self.canned.popleft()()
        return chat(_guess(body["messages"]), usage=self.usage)


def _guess(messages: list[dict[str, str]]) -> str:
    """Bisection between 1 and 8, by what the world said so far."""
    low, high = 1, 8
    for message in messages:
        words = message["content"].rstrip(".").split()
        if words[:2] == ["Go", "higher"]:
            low = int(words[-1]) + 1
        if words[:2] == ["Go", "lower"]:
            high = int(words[-1]) - 1
    return str((low + high) // 2)


def chat(content: Any, finish: str = "stop", usage: Any = None) -> JSONResponse:
    message = {"role": "assistant", "content": content}
    return JSONResponse({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})


def error(status: int, message: str, **more: Any) -> Callable[[], Response]:
    headers = {"retry-after": more.pop("after")} if "after" in more else None
    return lambda: JSONResponse({"error": {"message": message, **more}}, status, headers=headers)


class Waits(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def server() -> FakeEndpoint:
    return FakeEndpoint()


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def policy(server: FakeEndpoint, waits: Waits) -> OpenAIPolicy:
    return OpenAIPolicy(
        "clever", SAMPLING, url="http://host/v1", key=KEY, transport=server.transport, pause=waits
    )


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, server: FakeEndpoint) -> pytest.MonkeyPatch:
    """The endpoint where the environment says, without a socket."""

    def connected(*place: Any, **settings: Any) -> Endpoint:
        return Endpoint(*place, **settings | {"transport": server.transport})

    monkeypatch.setattr(openai, "Endpoint", connected)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://host/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return monkeypatch


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the guess world."""
    log = tmp_path_factory.mktemp("world") / "server.log"
    with EnvironmentServer(EnvironmentConfig(name="guess"), log) as running:
        yield running.url


def conversation() -> Conversation:
    return Conversation("c", [Message("system", "Play."), Message("user", "Go lower than 5.")])


async def test_a_sample_is_text_without_tokens(policy, server):
    sample = await policy.act(conversation(), 2**40 + 7)
    assert (sample.text, sample.token_ids, sample.prompt_ids, sample.logprobs) == ("2", (), (), ())
    body, headers = server.asked[0]
    assert body == {
        "model": "clever",
        "messages": [
            {"role": "system", "content": "Play."},
            {"role": "user", "content": "Go lower than 5."},
        ],
        "temperature": 0.5,
        "top_p": 1.0,
        "seed": 7,
        "max_tokens": 9,
    }
    assert headers["authorization"] == f"Bearer {KEY}"
    assert policy.usage.figures() == {
        "requests": 1,
        "unreported": 0,
        "prompt_tokens": 31,
        "completion_tokens": 3,
    }


async def test_usage_that_was_not_told_is_counted_as_that(policy, server):
    server.usage = None
    await policy.act(conversation(), 0)
    assert policy.usage.text().endswith("0 completion tokens; no usage reported for 1")


async def test_limits_and_failures_of_the_moment_are_waited_for(policy, server, waits):
    server.canned.extend([error(429, "slow down", after="3"), error(500, "oops"), error(529, "overloaded")])
    assert (await policy.act(conversation(), 0)).text == "2"
    assert waits[0] == 3.0
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("after", "least", "most"),
    [
        ("in two minutes", 100.0, 120.0),
        ("soon", 0.1, 1.0),  # our own waits begin there
        ("-5", 0.1, 1.0),
        ("nan", 0.1, 1.0),
    ],
)
async def test_a_time_to_come_back_may_be_a_date_or_nonsense(policy, server, waits, after, least, most):
    if after == "in two minutes":
        after = format_datetime(datetime.now(UTC) + timedelta(minutes=2), usegmt=True)
    server.canned.append(error(503, "busy", after=after))
    await policy.act(conversation(), 0)
    assert least < waits[0] <= most


async def test_what_stays_busy_is_a_fault_in_the_end(policy, server):
    server.canned.extend([error(503, "full", after="100") for _ in range(4)])
    with pytest.raises(PolicyFault, match="503 full"):
        await policy.act(conversation(), 0)
    assert len(server.canned) == 1  # the time of an act has room for two waits


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            error(429, "You exceeded your quota", code="insufficient_quota"),
            r"429 You exceeded your quota \(ins",
        ),
        (error(400, f"what is {KEY}?"), r"400 what is \*\*\*\?"),
        (error(401, "Incorrect API key provided: sk-ve*****6789"), "401 it refuses the key"),
        (lambda: Response("<html>"), "no JSON"),
        (lambda: JSONResponse([]), "no chat completion"),
        (lambda: JSONResponse({"choices": []}), "no chat completion"),
        (lambda: chat(["parts"]), "no text"),
        (lambda: chat("", "content_filter"), "filter withheld the answer"),
    ],
)
async def test_an_answer_that_is_none_is_a_fault_and_shows_no_key(policy, server, said, message):
    server.canned.append(said)
    with pytest.raises(PolicyFault, match=message) as fault:
        await policy.act(conversation(), 0)
    assert KEY not in str(fault.value)
    assert "6789" not in str(fault.value)


async def test_a_conversation_that_is_too_long_is_truncated(policy, server):
    server.canned.append(error(400, "too long", code="context_length_exceeded"))
    with pytest.raises(ContextFull):
        await policy.act(conversation(), 0)


async def test_an_answer_that_was_cut_or_empty_is_what_it_is(policy, server):
    server.canned.extend([lambda: chat("go no", "length"), lambda: chat(None)])
    assert (await policy.act(conversation(), 0)).finish_reason == "length"
    assert (await policy.act(conversation(), 0)).text == ""


async def test_newer_models_are_told_their_limit_by_its_newer_name(policy, server):
    server.canned.append(error(400, "'max_tokens' is not supported, use 'max_completion_tokens'"))
    await policy.act(conversation(), 0)
    await policy.act(conversation(), 0)
    limits = [[name for name in body if name.startswith("max_")] for body, _ in server.asked]
    assert limits == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (error(401, "no"), "401 it refuses the key: OPENAI_API_KEY holds it"),
        (error(404, "The model does not exist"), "no model 'clever' there"),
        (error(400, "Unsupported value: 'temperature'"), "--temperature sets it"),
        (lambda: Response("<html>"), "OPENAI_BASE_URL sets the endpoint's address"),
    ],
)
async def test_what_cannot_work_is_told_before_anything_is_played(policy, server, said, message):
    server.canned.append(said)
    with pytest.raises(ConfigError, match=message):
        await policy.check()


def test_the_environment_says_where_and_with_which_key(environment, server):
    found = openai_policy("clever", SAMPLING, 4)
    assert server.asked[0][1]["authorization"] == f"Bearer {KEY}"
    assert found.usage.requests == 1
    environment.delenv("OPENAI_API_KEY")  # endpoints of one's own may have none
    openai_policy("clever", SAMPLING, 4)
    assert "authorization" not in server.asked[1][1]
    environment.delenv("OPENAI_BASE_URL")
    with pytest.raises(ConfigError, match="the environment variable OPENAI_API_KEY is not set"):
        openai_policy("clever", SAMPLING, 4)


@pytest.mark.parametrize("key", ["two words", "sk-\x00", "schlüssel"])
def test_what_is_no_key_is_refused_without_showing_it(environment, key):
    environment.setattr(endpoint.os, "environ", {"OPENAI_API_KEY": key})
    with pytest.raises(ConfigError, match="holds no key") as refused:
        key_from("OPENAI_API_KEY")
    assert key not in str(refused.value)


def test_a_password_in_the_url_is_refused_without_showing_it(environment):
    environment.setenv("OPENAI_BASE_URL", "https://me:hush@host/v1")
    with pytest.raises(ConfigError, match="must not hold a password") as refused:
        openai_policy("clever", SAMPLING, 4)
    assert "hush" not in str(refused.value)


@pytest.mark.usefixtures("environment")
def test_an_evaluation_counts_tokens_by_what_was_told_and_trains_on_none(server, world):
    played = evaluation.trial(
        "openai:clever",
        EnvironmentConfig(name="guess", url=world),
        "test",
        difficulty=None,
        episodes=4,
        temperature=0.0,
        seed=0,
        started=lambda _: lambda batch: None,
    )
    assert all(episode.succeeded() for episode in played.episodes)
    assert {episode.policy for episode in played.episodes} == {"clever"}
    assert all(turn.sample is None for episode in played.episodes for turn in episode.turns)
    turns = sum(len(episode.turns) for episode in played.episodes)
    assert played.usage is not None
    assert played.usage.completion_tokens == 3 * (turns + 1)  # and the first answer of all
    assert played.summary("test").mean_tokens == 3 * turns / len(played.episodes)
    assert server.asked[-1][0]["max_tokens"] == openai.MAX_NEW_TOKENS


@pytest.mark.usefixtures("environment")
def test_the_command_prints_usage_and_no_key(world, caplog):
    caplog.set_level("DEBUG")
    arguments = ["eval", "--model", "openai:clever", "--env", "guess", "--episodes", "2", "--url", world]
    shown = CliRunner().invoke(command_line, arguments)
    assert shown.exit_code == 0, shown.output
    assert "usage: " in shown.output
    told = CliRunner().invoke(command_line, [*arguments, "--json"])
    assert json.loads(told.stdout)["usage"]["prompt_tokens"] > 0
    assert KEY not in shown.output + told.output + caplog.text


@pytest.mark.usefixtures("environment")
def test_episodes_that_failed_say_why_in_a_line(server, world):
    server.canned.append(lambda: chat("1"))  # to the first question of all
    server.canned.extend([error(400, "no more") for _ in range(9)])
    arguments = ["eval", "--model", "openai:clever", "--env", "guess", "--episodes", "2", "--url", world]
    shown = CliRunner().invoke(command_line, arguments)
    assert shown.exit_code == 1
    assert "2 episodes failed; the first: POST http://host/v1/chat/completions: 400 no more" in shown.stderr


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        ("expert", {"engine": ["engine=vllm"]}, "engine=vllm has no effect: expert needs no engine"),
        ("openai:x", {"engine": ["engine=vllm"]}, "engine=vllm has no effect"),
        ("expert", {"max_new_tokens": 3}, "--max-new-tokens has no effect"),
        ("starter", {"engine": ["learn.epochs=3"]}, "learn.epochs has no effect in an evaluation"),
        ("starter", {"engine": ["engine.workers=3"]}, "engine.workers has no effect in an evaluation"),
        ("starter", {"engine": ["engine.slot=3"]}, "unknown key 'engine.slot'"),
        ("starter", {"engine": ["engine.url=http://h:1"]}, "engine.url is no setting of engine 'embedded'"),
        ("vllm:starter", {"engine": ["engine.threads=2"]}, "engine.threads has no effect .* OMP_NUM_THREADS"),
        ("vllm:nothing", {}, "no model 'nothing'"),
    ],
)
def test_a_setting_without_effect_on_an_evaluation_is_refused(model, settings, message):
    with pytest.raises(ConfigError, match=message):
        evaluation.trial(
            model,
            EnvironmentConfig(name="guess"),
            "test",
            difficulty=None,
            episodes=1,
            temperature=0.0,
            seed=0,
            started=lambda _: lambda batch: None,
            **settings,
        )


@pytest.mark.usefixtures("environment")
def test_what_is_behind_one_loop_is_not_used_in_another():
    found = openai_policy("clever", SAMPLING, 4)  # asked in a loop of its own
    assert asyncio.run(found.act(conversation(), 0)).text == "2"
    asyncio.run(found.close())

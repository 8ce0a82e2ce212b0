"""The client against a server in the same process: episodes, retries, waiting, and errors."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from support.server.environments import CheapMischief, Echo

from agentgym_client import EnvClient, ServerProblem, Session, TransportError
from agentgym_client.retries import RetryRules
from agentgym_envs.core import Observation, StepResult, Task
from agentgym_server import ServerSettings, create_app

WORLDS = {"echo": Echo, "mischief": CheapMischief}
PROBLEM = {"content-type": "application/problem+json"}


def app(**settings: Any) -> Any:
    return create_app(WORLDS, settings=ServerSettings(**settings))


def client(application: Any, **options: Any) -> EnvClient:
    return EnvClient("http://localhost", transport=httpx.ASGITransport(application), **options)


@pytest.fixture
async def env() -> AsyncIterator[EnvClient]:
    async with client(app()) as env:
        yield env


async def test_an_episode_is_what_the_environment_says(env: EnvClient):
    session = await env.open("echo", "train/1", seed=3, max_turns=4, labels={"run": "r"})
    assert (session.env, session.task_id, session.seed, session.max_turns) == ("echo", "train/1", 3, 4)
    assert (session.env_version, session.data_version) == ("1.0.0", "builtin:1.0.0")
    opening = Observation(text="Say stop. This is episode 1. Seed 3.", actions=("say", "stop"))
    assert session.observation == opening
    world = Echo()
    world.reset(world.task("train/1"), 3)
    for action in ("hello", "", "stop"):
        assert await session.step(action) == world.step(action)
    assert (session.turn, session.terminated, session.truncated, session.done) == (3, True, False, True)
    assert session.total_reward == 1.25
    await session.close()
    await session.close()


async def test_a_truncated_step_says_why(env: EnvClient):
    session = await env.open("echo", "train/0", max_turns=1)
    result = await session.step("hello")
    assert (result.truncated, result.terminated) == (True, False)
    assert result.info == {"truncation_reason": "max_turns"}


async def test_forks_are_independent(env: EnvClient):
    async with await env.open("echo", "train/0") as parent:
        await parent.step("one")
        await parent.step("two")
        child, early = await parent.fork(), await parent.fork(at_turn=1)
        assert (child.observation, child.turn, child.total_reward) == (parent.observation, 2, 0.25)
        assert (await child.step("three")).observation.text == "3: one two three"
        assert (await early.step("three")).observation.text == "2: one three"
        assert (await parent.step("four")).observation.text == "3: one two four"


async def test_tasks_and_environments_are_listed(env: EnvClient):
    page = await env.tasks("echo", "test", difficulty="hard", limit=5)
    (row,) = page.tasks
    assert (row.env, row.task_id, row.split, row.index) == ("echo", "test/1", "test", 0)
    assert (row.kind, row.difficulty) == ("chat", "hard")
    assert row.instruction == "Say stop. This is episode 1."
    assert (page.total, page.offset) == (1, 0)
    assert (await env.tasks("echo", offset=4)).total == 6
    one = await env.task("echo", "test/2")
    assert (one.env, one.split, one.index, one.instruction) == (
        "echo",
        "test",
        2,
        "Say stop. This is episode 2.",
    )
    with pytest.raises(ServerProblem, match="no task has this id") as cause:
        await env.task("echo", "test/3")
    assert cause.value.kind == "task-not-found"
    infos = await env.environments()
    assert [(info.env, info.default_max_turns) for info in infos] == [("echo", 8), ("mischief", 8)]
    assert (await env.health())["status"] == "healthy"


async def test_tools_are_kept_until_they_change():
    class Tooled(Echo):
        def reset(self, task: Task, seed: int) -> Observation:
            return super().reset(task, seed).model_copy(update={"tools": ({"name": "a"},)})

        def step(self, action: str) -> StepResult:
            tools = None if action == "drop" else ({"name": action},)
            observation = Observation(text="ok", tools=tools)
            return StepResult(observation=observation)

    application = create_app({"tooled": Tooled}, settings=ServerSettings())
    async with client(application) as env:
        session = await env.open("tooled", "train/0")
        assert session.observation.tools == ({"name": "a"},)
        seen = [(await session.step(action)).observation.tools for action in ("a", "b", "drop", "b")]
        assert seen == [({"name": "a"},), ({"name": "b"},), None, ({"name": "b"},)]
        assert session.info == {}


async def test_a_lone_surrogate_of_a_model_is_an_action_like_any_other(env: EnvClient):
    session = await env.open("echo", "train/0")
    assert (await session.step("a\ud800b")).observation.text == "1: a?b"


class Scripted(httpx.AsyncBaseTransport):
    """Answers as the script says: a status and body, an exception, or on to the server."""

    def __init__(self, *script: Any, server: Any = None) -> None:
        self.script = list(script)
        self.requests: list[httpx.Request] = []
        self._server = None if server is None else httpx.ASGITransport(server)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        act = self.script.pop(0) if self.script else "pass"
        if isinstance(act, Exception):
            raise act
        if isinstance(act, httpx.Response):
            return act
        assert self._server is not None
        response = await self._server.handle_async_request(request)
        if act == "lose":
            raise httpx.ReadError("the reply was lost")
        return response


async def test_a_lost_reply_is_recovered_and_no_action_is_played_twice():
    application = app()
    transport = Scripted(*["lose", "lose", "pass"] * 6, server=application)
    async with EnvClient("http://localhost", transport=transport) as env:
        session = await env.open("echo", "train/0")
        texts = [(await session.step(action)).observation.text for action in ("a", "b", "c")]
        assert texts == ["1: a", "2: a b", "3: a b c"]
        assert session.total_reward == 0.375
        child = await session.fork()
        assert (await child.step("d")).observation.text == "4: a b c d"
        assert len(transport.requests) == 18
        health = await env.health()
        assert (health["created"], health["sessions"]["active"]) == (2, 2)


async def test_no_answer_ever_is_a_transport_error():
    transport = Scripted(*[httpx.ConnectError("refused")] * 99)
    async with EnvClient("http://localhost", transport=transport, retries=2) as env:
        with pytest.raises(TransportError, match="refused"):
            await env.health()
    assert len(transport.requests) == 3


async def test_an_answer_of_a_proxy_is_a_transport_error():
    html = [httpx.Response(502, text="<html>Bad gateway</html>") for _ in range(2)]
    other = httpx.Response(404, json={"detail": "Not Found"})
    async with EnvClient("http://localhost", transport=Scripted(*html, other), retries=2) as env:
        with pytest.raises(TransportError, match="status 404 without a problem document"):
            await env.health()


async def test_a_request_that_takes_too_long_is_repeated():
    class Stuck(httpx.AsyncBaseTransport):
        calls = 0

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            self.calls += 1
            if self.calls == 1:
                await asyncio.sleep(60)
            return httpx.Response(200, json={"status": "healthy"})

    async with EnvClient("http://localhost", transport=Stuck(), timeout_s=0.05) as env:
        assert await env.health() == {"status": "healthy"}


def problem(status: int, slug: str, retryable: bool, **headers: str) -> httpx.Response:
    document = {"type": f"urn:agentevol:problem:{slug}", "detail": "d", "retryable": retryable, "extra": 1}
    return httpx.Response(status, json=document, headers={**PROBLEM, **headers})


async def test_a_problem_is_told_with_its_members():
    transport = Scripted(problem(409, "turn-conflict", False))
    async with EnvClient("http://localhost", transport=transport) as env:
        with pytest.raises(ServerProblem, match="turn-conflict: d") as told:
            await env.health()
    assert (told.value.kind, told.value.status, told.value.retryable) == ("turn-conflict", 409, False)
    assert told.value.members == {"extra": 1}
    assert told.value.failure == "turn-conflict"
    assert len(transport.requests) == 1


async def test_retry_after_is_honoured():
    transport = Scripted(problem(429, "too-many-in-flight", True, **{"retry-after": "1"}))
    transport.script.append(httpx.Response(200, json={}))
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with EnvClient("http://localhost", transport=transport) as env:
        await env.health()
    assert 1.0 <= loop.time() - began < 10


async def test_a_full_server_is_waited_for():
    application = app(max_sessions=1)
    async with client(application, timeout_s=2) as env:
        first = await env.open("echo", "train/0")
        second = asyncio.create_task(env.open("echo", "train/1"))
        await asyncio.sleep(0.05)
        assert not second.done()
        await first.close()
        assert (await second).task_id == "train/1"


async def test_patience_ends():
    async with client(app(max_sessions=1), timeout_s=1, patience_s=0.1) as env:
        await env.open("echo", "train/0")
        with pytest.raises(ServerProblem) as told:
            await env.open("echo", "train/1")
    assert (told.value.kind, told.value.status) == ("capacity", 503)


async def test_a_failed_episode_says_what_broke(env: EnvClient):
    session = await env.open("mischief", "train/0")
    with pytest.raises(ServerProblem) as told:
        await session.step("raise")
    assert (told.value.kind, told.value.failure) == ("internal", "internal")
    with pytest.raises(ServerProblem) as later:
        await session.step("hello")
    assert (later.value.kind, later.value.failure) == ("session-failed", "internal")
    assert session.turn == 0


async def test_an_unknown_task_is_told_at_once(env: EnvClient):
    with pytest.raises(ServerProblem) as told:
        await env.open("echo", "train/9")
    assert told.value.kind == "task-not-found"


async def test_a_token_is_sent():
    application = app(host="0.0.0.0", token="top")
    async with client(application, token="top") as env:
        assert (await env.health())["created"] == 0
    async with client(application) as stranger:
        with pytest.raises(ServerProblem) as told:
            await stranger.environments()
    assert told.value.kind == "unauthorized"


def test_pauses_double_with_jitter_up_to_a_bound():
    rules = RetryRules(first_pause_s=1, longest_pause_s=5)
    for attempt, longest in enumerate([1, 2, 4, 5, 5]):
        pauses = {rules.pause_s(attempt) for _ in range(50)}
        assert len(pauses) > 1
        assert all(longest / 2 <= pause <= longest for pause in pauses)


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://host", "http://", ""])
def test_a_bad_address_is_refused(address: str):
    with pytest.raises(ValueError, match="not an http or https address"):
        EnvClient(address)


def test_the_sync_face_does_the_same():
    application = app()
    with EnvClient.sync("http://localhost", transport=httpx.ASGITransport(application)) as env:
        assert env.health()["status"] == "healthy"
        assert env.environments()[0].env == "echo"
        assert env.tasks("echo", "train", limit=2).tasks[1].task_id == "train/1"
        with env.open("echo", "train/0", seed=1) as session:
            assert session.observation.text == "Say stop. This is episode 0. Seed 1."
            assert session.step("a").observation.text == "1: a"
            assert session.fork().step("b").observation.text == "2: a b"
            session.renew(60)
            assert session.step("stop").terminated
            assert (session.done, session.turn, session.total_reward) == (True, 2, 1.125)
        with pytest.raises(ServerProblem):
            env.open("echo", "nope")
    env.close()
    with pytest.raises(RuntimeError, match="the client is closed"):
        env.health()


async def test_every_carrier_gives_the_same(env: EnvClient):
    """`Scripted` is no `ASGITransport`: it goes through httpx, the fixture's client does not."""

    async def episode(carrier: EnvClient) -> list[object]:
        session: Session = await carrier.open("echo", "train/0", seed=1)
        results: list[object] = [session.observation]
        results += [await session.step(action) for action in ("a", "\u00fc \u2028 \U0001f600", "stop")]
        return results

    async with EnvClient("http://localhost", transport=Scripted(server=app())) as other:
        assert await episode(env) == await episode(other)


def test_importing_the_client_imports_little():
    code = "import sys; from agentgym_client import *; print(*sys.modules)"
    run: Callable[..., Any] = subprocess.run
    loaded = run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "agentgym_client.session" in loaded
    assert not {"fastapi", "starlette", "httpx", "agentgym_server", "numpy", "gymnasium"} & set(loaded)

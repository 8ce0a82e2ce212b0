"""Real servers, OpenEnv's unmodified clients and tools, and sockets that misbehave.

The client lives in a virtual environment of its own, since what it depends on does not sit beside ours; it is
made once, with what importing the client really needs. `AGENTEVOL_OPENENV` may name a Python that has it.
"""

import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.readiness import ready_address
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from agentevol.rollout.environments import demonstration
from agentgym_envs.episodes import Player, follow
from agentgym_envs.formats import after_thinking
from agentgym_envs.registry import EnvironmentUnavailable, make

OPENENV = "openenv==0.10.0"  # without its dependencies, most of which its user interface needs
CLIENT = ("fastapi", "fastmcp>=3,<4", "requests")
TOOLS = ("typer", "huggingface_hub", "openai", "tomli", "tomli_w")
UNREACHABLE = ("No matching distribution", "Could not find a version", "connection")

SERVE = """
import json, sys
from agentgym_envs.core import Observation, StepResult
from agentgym_server.serve import serve_environments
from agentgym_server.settings import ServerSettings
from support.server.environments import Echo, Mischief, Slow

class Calculator(Echo):
    name = "calculator"
    def reset(self, task, seed):
        return self.seen("Add up to 3.")
    def step(self, action):
        call = json.loads(action)
        total = call["arguments"]["a"] + call["arguments"]["b"]
        return StepResult(observation=self.seen(str(total)), reward=0.5, terminated=total == 3)
    def seen(self, text):
        add = {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}
        return Observation(text=text, tools=({"type": "function", "function": add},))

if __name__ == "__main__":
    worlds = {"echo": Echo, "mischief": Mischief, "slow": Slow, "calculator": Calculator}
    sys.exit(serve_environments(worlds, 0, ServerSettings(max_sessions=8, step_deadline_s=5)))
"""

DRIVER = """
import asyncio, json, sys
from openenv import GenericAction, GenericEnvClient
from openenv.core import EnvClient, MCPToolClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction

base, alfworld = sys.argv[1:]

def shown(result):
    return [result.observation["text"], result.reward, result.done]

def error(act, *args):
    try:
        return act(*args)
    except RuntimeError as cause:
        return str(cause)

async def failure(coroutine):
    try:
        return await coroutine
    except RuntimeError as cause:
        return str(cause)

async def generic():
    async with GenericEnvClient(base_url=base + "/openenv/echo/") as env:  # it strips the slash
        found = [shown(await env.reset(task_id="train/1", seed=5, episode_id="e1"))]
        found.append(shown(await env.step({"text": "hello"})))
        found.append(shown(await env.step(GenericAction(text="stop"))))
        found.append(await env.state())
        found.append(await failure(env.step({"text": "more"})))
        child = await env.new_session()
        found.append(shown(await child.reset(split="test", index=2, seed=1)))
        return found

class Texts(EnvClient):
    def _step_payload(self, action):
        return {"text": action}
    def _parse_result(self, payload):
        return StepResult(payload["observation"]["text"], payload["reward"], payload["done"])
    def _parse_state(self, payload):
        return payload["step_count"]

def synchronous():
    with Texts(base_url=base + "/openenv/mischief").sync() as env:
        env.reset(seed=0)
        found = [env.step("hello").observation, env.state(), error(env.step, "exit")]
        return [*found, env.reset(seed=1).observation]

async def tools():
    async with MCPToolClient(base_url=base + "/openenv/calculator") as env:
        await env.reset()
        listed = [[tool.name, tool.description, tool.input_schema] for tool in await env.list_tools()]
        called = await env.call_tool("add", a=1, b=1)
        unknown = await failure(env.call_tool("sub"))
        step = await env.step(CallToolAction(tool_name="add", arguments={"a": 1, "b": 2}))
        names = [tool.name for tool in (await env.step(ListToolsAction())).observation.tools]
        done = [step.observation.result, step.reward, step.done, (await env.state()).step_count]
        return [listed, called, unknown, names, done]

async def full():
    clients = [GenericEnvClient(base_url=base + "/openenv/slow") for _ in range(9)]
    for client in clients[:8]:
        await client.connect()
    refused = await failure(clients[8].reset())
    for client in clients:
        await client.close()
    return refused

async def household():
    async with GenericEnvClient(base_url=alfworld + "/openenv/alfworld") as env:
        result = await env.reset(split="test", index=0, seed=3)
        first = result.observation
        turns = 0
        while not result.done:
            result = await env.step({"text": first["info"]["available_actions"][turns % 3]})
            turns += 1
        task = (await env.state())["task_id"]
        return ["Your task is to" in first["text"], turns, result.metadata["truncated"], task]

found = {name: asyncio.run(act()) for name, act in
         {"generic": generic, "tools": tools, "full": full, "household": household}.items()}
print(json.dumps(found | {"synchronous": synchronous()}))
"""

GAMES = ("babyai", "maze", "sciworld", "searchqa", "textcraft", "wordle")
FRESH = "sciworld"
"""The game in which equal actions have equal observations only with its option `fresh`."""

GAMES_DRIVER = """
import asyncio, json, sys
from openenv import GenericEnvClient

async def played(env, game):
    async with GenericEnvClient(base_url=f"{sys.argv[1]}/openenv/{env}") as client:
        results = [await client.reset(task_id=game["task"], seed=1)]
        for action in game["actions"]:
            results.append(await client.step({"text": action}))
        return [[result.observation["text"], result.reward, result.done] for result in results]

print(json.dumps({env: asyncio.run(played(env, game)) for env, game in json.loads(sys.argv[2]).items()}))
"""


@contextmanager
def served(*command: str) -> Iterator[str]:
    """The address of a server process; what is left of it is killed."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        yield ready_address(process)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    with served("-c", SERVE) as address:
        yield address


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has OpenEnv."""
    given = os.environ.get("AGENTEVOL_OPENENV")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("openenv")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    install(python, "--no-deps", OPENENV)
    install(python, *CLIENT, *TOOLS)
    return python


def install(python: Path, *packages: str) -> None:
    """Install packages, or skip the test where pip reaches no index that has them."""
    pip = [str(python), "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "20"]
    once = "--no-compile"  # most of these modules are never imported
    done = subprocess.run([*pip, once, *packages], capture_output=True, text=True)
    if done.returncode == 0:
        return
    reasons = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    if any(word.lower() in done.stderr.lower() for word in UNREACHABLE):
        pytest.skip(f"pip reaches no index with {' '.join(packages)}: {reasons[-1] if reasons else ''}")
    pytest.fail(done.stderr[-2000:])


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of the other virtual environment, which sees nothing of this one."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command: Sequence[str] = [str(python), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


@pytest.fixture(scope="module")
def found(interpreter: Path, address: str) -> dict[str, Any]:
    """What the unmodified clients saw."""
    with served("-m", "agentevol", "envs", "up", "alfworld", "--port", "0") as alfworld:
        done = run(interpreter, "-c", DRIVER, address, alfworld)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_generic_client_plays(found: dict[str, Any]):
    first, hello, stop, state, more, child = found["generic"]
    assert first == ["Say stop. This is episode 1. Seed 5.", 0.0, False]
    assert hello == ["1: hello", 0.125, False]
    assert stop == ["2: hello stop", 1.0, True]
    assert (state["episode_id"], state["step_count"], state["task_id"]) == ("e1", 2, "train/1")
    assert more == "Server error: the episode ended with turn 2 (code: EXECUTION_ERROR)"
    assert child == ["Say stop. This is episode 2. Seed 1.", 0.0, False]


@pytest.mark.slow
def test_a_client_of_ones_own_plays_without_async_and_survives_a_lost_worker(found: dict[str, Any]):
    assert found["synchronous"] == [
        "1: hello",
        1,
        "Server error: the worker of this episode died (code: EXECUTION_ERROR)",
        "Say stop. This is episode 1. Seed 1.",
    ]


@pytest.mark.slow
def test_the_tool_client_finds_and_calls_tools(found: dict[str, Any]):
    listed, called, unknown, names, done = found["tools"]
    assert (listed, names) == ([["add", "Adds.", {"type": "object"}]], ["add"])
    assert called == 2
    assert unknown == "Tool 'sub' failed: Tool not found: sub"
    assert done == [3, 0.5, True, 2]


@pytest.mark.slow
def test_a_client_hears_that_the_server_is_full(found: dict[str, Any]):
    assert found["full"] == "Server error: 8 of 8 sessions are in use (code: CAPACITY_REACHED)"


@pytest.mark.slow
def test_the_client_plays_alfworld(found: dict[str, Any]):
    assert found["household"] == [True, 30, True, "test/small/0"]


@pytest.mark.slow
def test_the_client_plays_each_text_game_as_in_process(interpreter: Path):
    games = {name: won(name) for name in GAMES if is_available(name)}
    assert {"maze", "searchqa", "textcraft", "wordle"} <= games.keys()  # the others need an extra, or Java
    options = ["--option", f"{FRESH}.fresh=true"] if FRESH in games else []
    with served("-m", "agentevol", "envs", "up", *games, "--port", "0", *options) as address:
        done = run(interpreter, "-c", GAMES_DRIVER, address, json.dumps(games))
    assert done.returncode == 0, done.stderr
    for name, results in json.loads(done.stdout).items():
        assert results == games[name]["results"], name
        assert sum(reward for _, reward, _ in results) == pytest.approx(1)


def is_available(name: str) -> bool:
    """False where a game needs a package or a program that is not there."""
    try:
        make(name).close()
    except EnvironmentUnavailable:
        return False
    return True


def won(name: str) -> dict[str, Any]:
    """A test task that is won in process: its id, the actions, and texts, rewards and ends."""
    environment, player = make(name, **({"fresh": True} if name == FRESH else {})), Player()
    task = environment.tasks("test")[0]
    messages = demonstration(environment, task, seed=1)
    actions = [after_thinking(message) for message in messages]
    episode = player.play(environment, task, follow(actions), seed=1)
    player.close()
    environment.close()
    first = [episode.first.text, 0.0, False]
    steps = [[one.observation.text, one.reward, one.terminated or one.truncated] for one in episode.results]
    return {"task": task.id, "actions": actions[: len(steps)], "results": [first, *steps]}


@pytest.mark.slow
def test_openenvs_own_validation_accepts_server_and_manifest(
    interpreter: Path, address: str, found: dict[str, Any], tmp_path: Path
):
    command = interpreter.parent / "openenv"
    for env in ("echo", "calculator"):
        done = run(command, "validate", "--url", f"{address}/openenv/{env}")
        assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["Verdict: PASS"]), done
    for env in ("alfworld", "guess"):
        wrote = subprocess.run(
            [sys.executable, "-m", "agentevol", "envs", "openenv", env, str(tmp_path / env)]
        )
        assert wrote.returncode == 0
        done = run(command, "validate", str(tmp_path / env), "--level", "static")
        assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["Verdict: PASS"]), done
    assert found


def health(address: str) -> dict[str, Any]:
    return json.load(urllib.request.urlopen(f"{address}/health"))


def socket(address: str, env: str, path: str = "ws") -> connect:
    return connect(f"{address.replace('http', 'ws')}/openenv/{env}/{path}", max_size=None)


async def ask(connection: ClientConnection, frame: dict[str, Any]) -> dict[str, Any]:
    await connection.send(json.dumps(frame))
    return json.loads(await connection.recv())


@pytest.mark.parametrize("path", ["ws", "mcp"])
async def test_a_frame_beyond_a_mebibyte_closes_with_1009(address: str, path: str):
    async with socket(address, "echo", path) as connection:
        await connection.send("x" * (1 << 20) + "x")
        with pytest.raises(ConnectionClosed) as closed:
            await connection.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    await free(address)


async def test_a_connection_cut_during_a_step_frees_its_slot(address: str):
    async with socket(address, "slow") as connection:
        await ask(connection, {"type": "reset"})
        await connection.send('{"type":"step","data":{"text":"4.5"}}')
        await asyncio.sleep(0.1)
        assert health(address)["sessions"]["active"] == 1
        connection.transport.abort()
    await free(address, patience_s=2.0)  # long before the step ends


async def test_many_connections_at_once_keep_their_episodes_apart(address: str):
    async def episode(number: int) -> list[str]:
        async with socket(address, "echo") as connection:
            await ask(connection, {"type": "reset", "data": {"seed": number}})
            replies = [
                await ask(connection, {"type": "step", "data": {"text": word}})
                for word in (f"a{number}", "b")
            ]
            return [reply["data"]["observation"]["text"] for reply in replies]

    results = await asyncio.gather(*map(episode, range(8)))
    assert results == [[f"1: a{number}", f"2: a{number} b"] for number in range(8)]
    await free(address)


async def test_a_client_is_refused_before_the_upgrade_where_there_is_nothing(address: str):
    for env, path in (("none", "ws"), ("echo", "harness"), ("echo", "ws/")):
        with pytest.raises(Exception, match="HTTP 403"):
            async with socket(address, env, path):
                pass


async def free(address: str, patience_s: float = 5.0) -> None:
    """Wait until no session is open; a slot is free again as soon as the server has noticed."""
    async with asyncio.timeout(patience_s):
        while health(address)["sessions"]["active"]:  # noqa: ASYNC110 - another process has no event
            await asyncio.sleep(0.05)

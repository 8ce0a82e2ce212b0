"""Loads on a server: `python -m agentevol.cli.benchmarks.serve.loads KIND URL ENV SESSIONS SECONDS`.

Every session has one step in flight at a time, as an agent has. The kinds differ in the transport of the
steps:

    client      `EnvClient` as users have it: the WebSocket lane, concurrent steps in one frame
    expert      the same, each session with the actions of its task's expert or demonstrating player
    httpx       `EnvClient(lane="rest")`: REST by httpx
    rest        REST by a bare keep-alive connection a session: the limit of the server
    websocket   one frame a step on one WebSocket
    batch       batch frames on the WebSocket lane, on two connections or more
    bare        a bare keep-alive connection a session to `/step` of the FastAPI echo
    reference   a thread a session, a new connection a step, as in AgentGym's clients

`begin` on standard output says that the sessions are open; then comes one line of JSON.
"""

import asyncio
import itertools
import json
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

from agentgym_client import EnvClient

ACTION = "go to countertop 1"
MOST_TURNS = 10_000
MOST_ITEMS = 250
MOST_TASKS, PLANS = 40, 8
"""Tasks that are looked at for plans, and plans that are played."""
Step = Callable[[], Awaitable[None]]


async def sessions_of(client: EnvClient, env: str, count: int) -> list[Any]:
    """Open `count` sessions, of the first tasks in turn."""
    page = await client.tasks(env, "train", limit=100)
    tasks = itertools.cycle([task.task_id for task in page.tasks])
    ids = itertools.islice(tasks, count)
    return [await client.open(env, task, seed=1, max_turns=MOST_TURNS, lease_ttl_s=600) for task in ids]


class Episode:
    """A session and its turns; another session follows at the turn limit."""

    def __init__(self, client: EnvClient, session: Any) -> None:
        self._client, self._session = client, session
        self._turn = 0

    async def next(self) -> tuple[str, int]:
        """Id of the session and number of its next turn."""
        if self._turn == MOST_TURNS:
            task = self._session.task_id
            self._session = await self._client.open(self._session.env, task, seed=1, max_turns=MOST_TURNS)
            self._turn = 0
        self._turn += 1
        return self._session.id, self._turn


async def run(steps: list[Step], seconds: float) -> dict[str, float]:
    """Repeat every step function for `seconds`; returns the number of steps, wall time and latency quantiles
    in seconds.
    """
    say("begin")
    began = time.perf_counter()
    until = began + seconds

    async def repeat(step: Step) -> list[float]:
        times: list[float] = []
        while (sent := time.perf_counter()) < until:
            await step()
            times.append(time.perf_counter() - sent)
        return times

    every = await asyncio.gather(*(repeat(step) for step in steps))
    return summary([one for times in every for one in times], time.perf_counter() - began)


def summary(times: list[float], wall_s: float) -> dict[str, float]:
    """Figures of one load."""
    times.sort()
    half, most = times[len(times) // 2], times[len(times) * 99 // 100]
    return {"steps": len(times), "wall_s": wall_s, "p50_s": half, "p99_s": most}


def say(line: str) -> None:
    """Send a line to the measuring process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def acting(client: EnvClient, session: Any, env: str, seed: int) -> Step:
    """A step function that plays random admissible actions; an episode that ends is followed by another."""
    generator, holder = random.Random(seed), [session]

    async def step() -> None:
        now = holder[0]
        actions = now.observation.actions
        await now.step(generator.choice(actions) if actions else ACTION)
        if now.done:
            await now.close()
            holder[0] = await client.open(env, now.task_id, seed=1, max_turns=MOST_TURNS)

    return step


async def by_client(url: str, env: str, count: int, seconds: float, lane: Any = "auto") -> dict[str, float]:
    """Load through `EnvClient`."""
    async with EnvClient(url, lane=lane) as client:
        sessions = await sessions_of(client, env, count)
        steps = [acting(client, session, env, seed) for seed, session in enumerate(sessions)]
        found = await run(steps, seconds)
        await asyncio.gather(*(session.close() for session in sessions))
        return found


def following(client: EnvClient, session: Any, env: str, plan: Sequence[str]) -> Step:
    """A step function that plays a plan over and over, each time in a new session."""
    now, at = session, 0

    async def step() -> None:
        nonlocal now, at
        await now.step(plan[at])
        at += 1
        if now.done or at == len(plan):
            await now.close()
            now, at = await client.open(env, now.task_id, seed=1, max_turns=MOST_TURNS), 0

    return step


async def by_expert(url: str, env: str, count: int, seconds: float) -> dict[str, float]:
    """Load through `EnvClient` by plans; opening sessions is a part of the time."""
    from agentgym_envs.registry import make

    plans = plans_of(make(env))
    async with EnvClient(url) as client:
        chosen = list(itertools.islice(itertools.cycle(plans), count))
        sessions = [
            await client.open(env, task, seed=1, max_turns=MOST_TURNS, lease_ttl_s=600) for task in chosen
        ]
        steps = [
            following(client, session, env, plans[task])
            for task, session in zip(chosen, sessions, strict=True)
        ]
        return await run(steps, seconds)


def plans_of(environment: Any) -> dict[str, Sequence[str]]:
    """Actions by task: those of the first tasks that have an expert, or a demonstrating player."""
    plans: dict[str, Sequence[str]] = {}
    for task in itertools.islice(environment.tasks(environment.splits[0]), MOST_TASKS):
        plan = environment.expert(task) or demonstrated(environment, task)
        if plan:
            plans[task.id] = plan
        if len(plans) == PLANS:
            break
    if not plans:
        raise RuntimeError(f"{environment.name} has neither an expert nor a player")
    return plans


def demonstrated(environment: Any, task: Any) -> Sequence[str]:
    """Actions of the demonstrating player, if there is one."""
    try:
        return environment.demonstrate(task, 0)
    except NotImplementedError:
        return []


async def by_httpx(url: str, env: str, count: int, seconds: float) -> dict[str, float]:
    """Load through `EnvClient` over REST alone."""
    return await by_client(url, env, count, seconds, "rest")


class Wire(asyncio.Protocol):
    """Keep-alive connection that parses no more of a reply than its length."""

    def __init__(self) -> None:
        self._buffer = b""
        self._reply: asyncio.Future[bytes] | None = None
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Finish the reply once it is complete."""
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) >= length and self._reply is not None:
            self._buffer = b""
            self._reply.set_result(body if b" 200 " in head[:16] else b"")

    async def post(self, path: str, body: bytes) -> bytes:
        """One request; raises `RuntimeError` for another status than 200."""
        self._reply = asyncio.get_running_loop().create_future()
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        self._transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (head.encode(), len(body), body))
        reply = await self._reply
        if not reply:
            raise RuntimeError(f"{path} was refused")
        return reply


async def wires(url: str, count: int) -> list[Wire]:
    """Open `count` connections."""
    host, _, port = urlsplit(url).netloc.rpartition(":")
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(Wire, host, int(port)))[1] for _ in range(count)]


async def by_rest(url: str, env: str, count: int, seconds: float) -> dict[str, float]:
    """Load by bare requests to our server."""
    async with EnvClient(url) as client:
        sessions = await sessions_of(client, env, count)

        def stepping(wire: Wire, session: Any) -> Step:
            episode = Episode(client, session)

            async def step() -> None:
                name, turn = await episode.next()
                await wire.post(
                    f"/sessions/{name}/steps", b'{"turn":%d,"action":"%b"}' % (turn, ACTION.encode())
                )

            return step

        pairs = zip(await wires(url, count), sessions, strict=True)
        return await run([stepping(wire, session) for wire, session in pairs], seconds)


async def by_bare(url: str, env: str, count: int, seconds: float) -> dict[str, float]:  # noqa: ARG001
    """Load by bare requests to the FastAPI echo."""

    def stepping(wire: Wire) -> Step:
        turns = itertools.count(1)
        text = b'{"session_id":"s_abcdefghijklmnopqrstuvwxyz12","turn":%d,"action":"%b"}'

        async def step() -> None:
            await wire.post("/step", text % (next(turns), ACTION.encode()))

        return step

    return await run([stepping(wire) for wire in await wires(url, count)], seconds)


async def by_batch(url: str, env: str, count: int, seconds: float) -> dict[str, float]:
    """Load by batch frames on two connections or more; a step takes as long as its batch."""
    from websockets.asyncio.client import connect

    async with EnvClient(url) as client:
        sessions = await sessions_of(client, env, count)
        frames = max(2, -(-count // MOST_ITEMS))
        groups = [group for first in range(frames) if (group := sessions[first::frames])]
        times: list[float] = []

        def batching(line: Any, group: list[Any]) -> Step:
            episodes = [Episode(client, session) for session in group]
            item = b'{"op":"step","session_id":"%b","turn":%d,"action":"%b"}'

            async def step() -> None:
                sent, places = time.perf_counter(), [await episode.next() for episode in episodes]
                items = b",".join(item % (name.encode(), turn, ACTION.encode()) for name, turn in places)
                await line.send(b'{"id":"b","op":"batch","items":[%b]}' % items, text=True)
                reply = await line.recv(decode=False)
                if reply.count(b'"ok":true') != len(group) + 1:
                    raise RuntimeError("a step of a batch was refused")
                times.extend([time.perf_counter() - sent] * len(group))

            return step

        async with AsyncExitStack() as stack:
            address = url.replace("http", "ws", 1) + "/ws"
            lines = [await stack.enter_async_context(connect(address, compression=None)) for _ in groups]
            pairs = zip(lines, groups, strict=True)
            found = await run([batching(line, group) for line, group in pairs], seconds)
        return summary(times, found["wall_s"])


async def by_websocket(url: str, env: str, count: int, seconds: float) -> dict[str, float]:
    """Load by one frame a step."""
    from websockets.asyncio.client import connect

    async with (
        EnvClient(url) as client,
        connect(url.replace("http", "ws", 1) + "/ws", compression=None) as line,
    ):
        sessions = await sessions_of(client, env, count)
        waiting: dict[str, asyncio.Future[None]] = {}

        async def read() -> None:
            while True:
                reply = json.loads(await line.recv(decode=False))
                if not reply["ok"]:
                    raise RuntimeError(str(reply))
                waiting.pop(reply["id"]).set_result(None)

        def stepping(session: Any) -> Step:
            episode = Episode(client, session)

            async def step() -> None:
                name, turn = await episode.next()
                frame = {"id": session.id, "op": "step", "session_id": name, "turn": turn}
                waiting[session.id] = asyncio.get_running_loop().create_future()
                await line.send(json.dumps(frame | {"action": ACTION}))
                await waiting[session.id]

            return step

        reader = asyncio.create_task(read())
        found = await run([stepping(session) for session in sessions], seconds)
        reader.cancel()
        return found


async def by_reference(url: str, env: str, count: int, seconds: float) -> dict[str, float]:  # noqa: ARG001
    """Load by a thread a session with a new connection a step."""
    return await asyncio.to_thread(_threads, url, count, seconds)


def _threads(url: str, count: int, seconds: float) -> dict[str, float]:
    import requests

    times: list[float] = []
    say("begin")
    began = time.perf_counter()

    def work() -> None:
        for turn in itertools.count(1):
            sent = time.perf_counter()
            if sent > began + seconds:
                return
            body = {"session_id": "s_abcdefghijklmnopqrstuvwxyz12", "turn": turn, "action": ACTION}
            requests.post(f"{url}/step", json=body, timeout=60).raise_for_status()
            times.append(time.perf_counter() - sent)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return summary(times, time.perf_counter() - began)


LOADS = {
    "client": by_client,
    "expert": by_expert,
    "httpx": by_httpx,
    "rest": by_rest,
    "websocket": by_websocket,
    "batch": by_batch,
    "bare": by_bare,
    "reference": by_reference,
}

if __name__ == "__main__":
    kind, url, env, count, seconds = sys.argv[1:]
    say(json.dumps(asyncio.run(LOADS[kind](url, env, int(count), float(seconds)))))

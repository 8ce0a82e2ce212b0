"""OpenEnv's side of the comparison, for an interpreter that has `openenv`; imports nothing of ours.

`python openenv_side.py serve` runs its server with an asynchronous echo environment; `... load URL SESSIONS
SECONDS` steps it with its own client, one connection a session, as that client works.
"""

import asyncio
import json
import socket
import sys
import time


def serve() -> None:
    """Serve an asynchronous echo."""
    import uvicorn
    from openenv.core.env_server import create_fastapi_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

    class EchoAction(Action):
        text: str

    class EchoObservation(Observation):
        text: str = ""

    class Echo(Environment):  # type: ignore[type-arg]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._state = State(episode_id="e", step_count=0)

        def reset(self, seed=None, episode_id=None, **kwargs):
            return EchoObservation(done=False, reward=0.0)

        async def reset_async(self, seed=None, episode_id=None, **kwargs):
            return self.reset(seed, episode_id, **kwargs)

        def step(self, action, timeout_s=None, **kwargs):
            return EchoObservation(text=action.text, done=False, reward=0.0)

        async def step_async(self, action, timeout_s=None, **kwargs):
            return self.step(action, timeout_s, **kwargs)

        @property
        def state(self) -> State:
            return self._state

    app = create_fastapi_app(Echo, EchoAction, EchoObservation, max_concurrent_envs=4096)
    sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
    sys.stdout.write(f"ready http://127.0.0.1:{sock.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[sock])


async def load(url: str, sessions: int, seconds: float) -> None:
    """Step `sessions` sessions for `seconds`, and print the figures."""
    from openenv.core import GenericEnvClient

    clients = [GenericEnvClient(base_url=url) for _ in range(sessions)]
    for client in clients:
        await client.connect()
        await client.reset()
    sys.stdout.write("begin\n")
    sys.stdout.flush()
    began = time.perf_counter()
    until = began + seconds

    async def play(client) -> list[float]:
        times = []
        while (sent := time.perf_counter()) < until:
            await client.step({"text": "go to countertop 1"})
            times.append(time.perf_counter() - sent)
        return times

    every = await asyncio.gather(*(play(client) for client in clients))
    wall_s = time.perf_counter() - began
    times = sorted(one for times in every for one in times)
    found = {"steps": len(times), "wall_s": wall_s}
    found |= {"p50_s": times[len(times) // 2], "p99_s": times[len(times) * 99 // 100]}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    for client in clients:
        await client.close()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        asyncio.run(load(sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))

"""Servers under measurement: `python -m agentevol.cli.benchmarks.serve.servers NAME` runs one.

`agentevol`: this project's server with the echo environment. `fastapi`: the naive one: one asynchronous
route, pydantic in and out. `reference`: AgentGym's pattern, one synchronous route, run in FastAPI's thread
pool. All under the same uvicorn, httptools and uvloop.
"""

import socket
import sys
from collections.abc import Sequence
from typing import Any

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound

MOST_SESSIONS = 4096


class Echo(Environment[Task]):
    """Environment that returns each action as the observation, without an end."""

    name = "echo"
    max_turns = 10_000
    blocking = False

    @property
    def splits(self) -> tuple[str, ...]:
        return ("train",)

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[Task]:
        return (self.task(f"{split}/0"),)

    def task(self, task_id: str) -> Task:
        if task_id != "train/0":
            raise TaskNotFound(task_id)
        return Task(env=self.name, id=task_id, split="train", instruction="Speak.")

    def reset(self, task: Task, seed: int) -> Observation:
        return Observation(text="")

    def step(self, action: str) -> StepResult:
        return StepResult(observation=Observation(text=action))


def agentevol() -> int:
    """Serve the echo environment with this project's server."""
    from agentgym_server.serve import serve_environments
    from agentgym_server.settings import ServerSettings

    settings = ServerSettings(max_sessions=MOST_SESSIONS, log_level="error")
    return serve_environments({"echo": Echo}, 0, settings)


def bare(asynchronous: bool) -> int:
    """Serve an echo by FastAPI and pydantic alone."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class StepRequest(BaseModel):
        session_id: str
        turn: int
        action: str

    class StepReply(BaseModel):
        session_id: str
        turn: int
        observation: str
        reward: float
        total_reward: float
        terminated: bool
        truncated: bool
        info: dict[str, Any]

    def echo(request: StepRequest) -> StepReply:
        return StepReply(
            session_id=request.session_id,
            turn=request.turn,
            observation=request.action,
            reward=0.0,
            total_reward=0.0,
            terminated=False,
            truncated=False,
            info={},
        )

    async def echo_async(request: StepRequest) -> StepReply:
        return echo(request)

    app = FastAPI()
    app.post("/step", response_model=StepReply)(echo_async if asynchronous else echo)
    sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
    sys.stdout.write(f"ready http://127.0.0.1:{sock.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[sock])
    return 0


SERVERS = {"agentevol": agentevol, "fastapi": lambda: bare(True), "reference": lambda: bare(False)}

if __name__ == "__main__":
    sys.exit(SERVERS[sys.argv[1]]())

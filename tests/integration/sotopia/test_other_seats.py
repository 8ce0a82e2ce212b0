"""Who plays the other seat of `sotopia` through real servers: a served policy, and a person over REST."""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.readiness import ready_address
from support.server.openenv import client
from support.sotopia_profiles import write_profiles
from support.tiny_models import write_checkpoint

from agentgym_client import EnvClient, ServerProblem
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.sotopia.environment import Sotopia
from agentgym_server import create_app

TASK = "sotopia/1"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the invented profiles."""
    import_official(write_profiles(tmp_path / "source"), tmp_path / "home")
    return tmp_path / "home"


@contextmanager
def served_policy(model: Path) -> Generator[tuple[str, "subprocess.Popen[str]"]]:
    """Address of `agentevol serve` with this model, and its process, which is killed in the end."""
    command = [sys.executable, "-m", "agentevol", "serve", str(model), "--port=0", "--max-new-tokens=4"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield f"{ready_address(process)}/v1", process
    finally:
        process.kill()
        process.wait()


async def plays(client: EnvClient, *messages: str) -> Any:
    session = await client.open("sotopia", TASK, seed=3)
    for message in messages:
        result = await session.step(message)
    return result


@pytest.mark.slow
def test_a_model_folder_is_the_partner_until_its_process_dies(home: Path, tmp_path: Path) -> None:
    async def main(url: str, process: "subprocess.Popen[str]") -> None:
        given = {"partner": "policy", "partner_url": url, "actions": "text", "judge": "none", "retries": 0}
        app = create_app({"sotopia": lambda: Sotopia(home=home, **given)})
        async with EnvClient("http://localhost", transport=httpx.ASGITransport(app)) as http:
            end = await plays(http, "Hello.", "Well?", "left the conversation")
            partner, log = end.info["partner"], end.info["conversation"]["log"]
            assert (end.terminated, partner["kind"], partner["requests"]) == (True, "policy", 2)
            assert [both[1][0] for both in log[1::2]] == ["speak", "speak"]  # what it says is said as it is
            assert partner["completion_tokens"] > 0
            again = await plays(http, "Hello.", "Well?", "left the conversation")
            assert again.info["conversation"]["log"] == log  # an equal seed draws an equal reply
            process.kill()
            process.wait()
            with pytest.raises(ServerProblem) as failed:
                await plays(http, "Hello.")
            assert failed.value.failure == "partner"

    model = write_checkpoint(tmp_path / "model", seed=0, window=2048)
    with served_policy(Path(model)) as (url, process):
        asyncio.run(main(url, process))


async def test_a_person_takes_the_other_seat_over_rest(home: Path) -> None:
    given = {"partner": "human", "actions": "text", "judge": "none"}
    app = create_app({"sotopia": lambda: Sotopia(home=home, **given)})

    async with client(app) as http:
        path = "/envs/sotopia/sessions"
        alone = await http.post(path, json={"task_id": TASK, "seed": 0})
        assert (alone.status_code, "seats=2" in alone.json()["detail"]) == (501, True)
        begun = (await http.post(path, json={"task_id": TASK, "seed": 0, "seats": 2})).json()
        agent, person = (f"/sessions/{one['session_id']}" for one in (begun, *begun["partners"]))
        assert begun["partners"][0]["your_turn"] is False
        waiting = asyncio.create_task(http.get(person, headers={"Prefer": "wait=30"}))
        step = asyncio.create_task(http.post(f"{agent}/steps", json={"turn": 1, "action": "Hello."}))
        read = (await waiting).json()
        assert read["observation"].endswith('Conversation Starts:\nTurn #0: Cy Moss said: "Hello."')
        answer = asyncio.create_task(
            http.post(f"{person}/steps", json={"turn": 1, "action": "I am no program."})
        )
        assert (await step).json()["observation"] == 'Turn #1: Ana Reed said: "I am no program."'
        end = await http.post(f"{agent}/steps", json={"turn": 2, "action": "left the conversation"})
        assert end.json()["info"]["partner"] == {"kind": "human"}
        assert (await answer).json()["terminated"] is True

"""Questions on a server: a verifier that raises fails its session, and gives no reward."""

import json
from functools import partial
from pathlib import Path

import httpx
import pytest

from agentgym_envs.questions import Questions
from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of

CODE = """
def check(reply, answer):
    if reply == "crash":
        raise ValueError("no idea of " + answer)
    return reply == answer
"""


@pytest.mark.parametrize("workers", [None, 1])
async def test_a_verifier_that_raises_is_a_failure_and_no_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int | None
):
    (tmp_path / "verifiers_of_server.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    line = {"id": "1", "split": "train", "prompt": "Capital of France?", "answer": "Paris"}
    (tmp_path / "own.jsonl").write_text(json.dumps(line) + "\n")
    make = partial(Questions, str(tmp_path / "own.jsonl"), verifier="verifiers_of_server:check")
    app = create_app({"questions": make}, settings=ServerSettings(workers=workers))
    service = service_of(app)
    await service.start()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        replies = []
        for action in ("Paris", "crash"):
            begun = (await http.post("/envs/questions/sessions", json={"task_id": "1"})).json()
            assert "Paris" not in json.dumps(begun)
            path = f"/sessions/{begun['session_id']}"
            replies.append(await http.post(f"{path}/steps", json={"turn": 1, "action": action}))
        view = (await http.get(path)).json()
    await service.close()
    right, failed = replies
    assert (right.status_code, right.json()["reward"]) == (200, 1.0)
    assert failed.status_code == 502
    assert failed.json()["type"] == "urn:agentevol:problem:verifier"
    assert (view["state"], view["failure"]["kind"]) == ("failed", "verifier")
    assert "Paris" not in failed.text  # the exception stays in the log

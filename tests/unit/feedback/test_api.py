"""The REST API of feedback over ASGI: what it takes, returns and refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.ui import client_of, episodes, make_run

from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.table import FeedbackTable

GROUP = "first/explore/0001/guess-5/"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "runs" / "first", episodes())


@pytest.fixture
def client(run: Path) -> TestClient:
    return client_of(run)


@pytest.fixture
def place(client: TestClient) -> str:
    (source,) = client.get("/api/sources").json()
    assert source["name"] == "first"
    assert source["kind"] == "run"
    return f"/api/feedback/{source['key']}"


def said(run: Path) -> list[Feedback]:
    return FeedbackTable(run / "feedback").records()


def score(value: float, source: str = "human:Anna", attempt: int = 0, **fields: Any) -> dict[str, Any]:
    opinion = {"kind": "score", "value": value, "low": 1, "high": 5}
    return {"trajectory_id": f"{GROUP}{attempt}", "source": source, "opinion": opinion, **fields}


def test_a_record_is_added_and_read_as_it_was_sent(run: Path, client: TestClient, place: str) -> None:
    reply = client.post(place, json=score(4, note="nearly"))
    assert reply.status_code == 201
    (record,) = said(run)
    assert reply.json() == {"added": 1, "known": 0, "ids": [record.id]}
    assert record.note == "nearly"
    (line,) = client.get(place).text.splitlines()
    assert json.loads(line) == record.model_dump(mode="json")


def test_what_was_read_can_be_sent_to_another_table_and_counts_once(
    client: TestClient, place: str, tmp_path: Path
) -> None:
    client.post(place, json=[score(4), score(2, attempt=1)])
    client.post(place, json=score(5))  # replaces the first
    lines = client.get(place, params={"all": True}).text
    assert len(lines.splitlines()) == 3
    assert len(client.get(place).text.splitlines()) == 2
    other = make_run(tmp_path / "elsewhere" / "first", episodes())
    another = client_of(other)
    (source,) = another.get("/api/sources").json()
    target, headers = f"/api/feedback/{source['key']}", {"content-type": "application/jsonl"}
    assert another.post(target, content=lines, headers=headers).json()["added"] == 3
    assert another.post(target, content=lines, headers=headers).json() == {"added": 0, "known": 3, "ids": []}
    assert len(said(other)) == 3


@pytest.mark.parametrize(
    ("sent", "detail"),
    [
        ({"json": [score(4), score(9)]}, "Record 2: opinion.score: 9 is not on the scale from 1 to 5"),
        ({"json": [score(4), {**score(4), "trajectory_id": "gone"}]}, "record 2: there is no episode 'gone'"),
        ({"json": score(4, turn=99)}, "turns, numbered from 0, not 99"),
        ({"json": "words"}, "Record 1 is no object"),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, "Line 1 is no JSON"),
        ({"content": b"[]\n{", "headers": {"content-type": "application/jsonl"}}, "Line 2 is no JSON"),
        ({"data": {"score": "4"}}, "not as application/x-www-form-urlencoded"),
    ],
)
def test_bad_records_are_refused_with_a_reason_and_nothing_is_written(
    run: Path, client: TestClient, place: str, sent: dict[str, Any], detail: str
) -> None:
    reply = client.post(place, **sent)
    assert reply.status_code == 400
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert problem["status"] == 400
    assert detail in problem["detail"]
    assert said(run) == []


def test_too_many_bytes_are_refused(client: TestClient, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentevol.ui.feedback.api.MOST_BYTES", 100)
    reply = client.post(place, json=score(4))
    assert reply.status_code == 400
    assert "longer than 100 bytes" in reply.json()["detail"]


def test_an_unknown_run_is_a_problem_and_no_page(client: TestClient) -> None:
    for path in ("/api/feedback/none", "/api/feedback/none/stats", "/api/nothing"):
        reply = client.get(path)
        assert reply.status_code == 404
        assert reply.headers["content-type"] == "application/problem+json"


def test_the_queue_leaves_out_what_the_person_has_rated(client: TestClient, place: str) -> None:
    first = client.get(f"{place}/queue", params={"as": "human:Anna"}).json()
    assert set(first[0]) == {"episode", "disagreement", "sources", "at_random"}
    client.post(place, json={**score(4), "trajectory_id": first[0]["episode"]})
    later = client.get(f"{place}/queue", params={"as": "human:Anna"}).json()
    assert len(later) == len(first) - 1
    assert first[0]["episode"] not in {one["episode"] for one in later}
    assert len(client.get(f"{place}/queue", params={"as": "human:Bob"}).json()) == len(first)
    assert len(client.get(f"{place}/queue", params={"as": "human:Bob", "limit": 1}).json()) == 1
    refused = client.get(f"{place}/queue", params={"as": "judge:m"})
    assert refused.status_code == 400
    assert "as: " in refused.json()["detail"]


def test_statistics_are_those_of_the_command(client: TestClient, place: str) -> None:
    client.post(place, json=[score(4), score(2, "human:Bob"), score(1, "human:Bob", 1)])
    found = client.get(f"{place}/stats").json()
    assert found["opinions"] == 3
    assert found["source"] == {"human:Anna": 1, "human:Bob": 2}
    assert [one["source"] for one in found["reliability"]["sources"]] == ["human:Anna", "human:Bob"]


def test_other_sites_and_read_only_servers_add_nothing(run: Path, client: TestClient, place: str) -> None:
    forged = client.post(place, json=score(4), headers={"origin": "http://evil.example"})
    assert forged.status_code == 403
    assert client_of(run, read_only=True).post(place, json=score(4)).status_code == 405
    assert said(run) == []

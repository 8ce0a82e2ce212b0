"""Filters of episodes by the opinions about them: in the table, in commands, on the page of the list."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.ui import episode, make_run

from agentevol.cli import main
from agentevol.cli.trajectories import tables
from agentevol.ui.app import create_app
from agentevol.ui.episodes.filters import FEEDBACK
from agentevol.ui.library import Library
from agentevol.ui.settings import UiSettings
from agentgym_store.exports import Selection
from agentgym_store.feedback.about import WANTED, Wanted, about, episodes_with
from agentgym_store.feedback.records import feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.store import Where

CASES: list[tuple[Wanted, list[str]]] = [
    ("any", ["a", "b", "c"]),
    ("none", ["d"]),
    ("score", ["a"]),
    ("comparison", ["b", "c"]),
    ("correction", ["a"]),
    ("flag", []),
    ("dimensions", []),
]


def opinion(name: str, told: dict[str, Any], turn: int | None = None, **more: Any) -> Any:
    return feedback({"trajectory_id": name, "turn": turn, "source": "human:Anna", "opinion": told, **more})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Four episodes: one rated and corrected, two compared, one whose flag was withdrawn."""
    place = make_run(tmp_path / "first", [episode(name) for name in ("a", "b", "c", "d")])
    FeedbackTable(place / "feedback").append(
        [
            opinion("a", {"kind": "score", "value": 4, "low": 1, "high": 5}),
            opinion("a", {"kind": "correction", "action": "look"}, turn=0),
            opinion("b", {"kind": "comparison", "other": "c", "verdict": "tie"}),
            opinion("d", {"kind": "flag", "reason": "unsafe"}, created_at="2026-01-01T00:00:00Z"),
            opinion("d", {"kind": "flag", "reason": "unsafe"}, withdrawn=True),
        ]
    )
    return place


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["trajectories", *map(str, arguments)])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_a_comparison_is_about_both_episodes() -> None:
    one = opinion("b", {"kind": "comparison", "other": "c", "verdict": "better"})
    assert episodes_with([one], "comparison") == episodes_with([one], "any") == {"b", "c"}
    assert episodes_with([one], "score") == set()


def test_the_other_conditions_of_a_filter_stay() -> None:
    one = opinion("b", {"kind": "flag", "reason": "broken"})
    assert about(Where(env="guess"), [one], "flag") == Where(env="guess", ids=["b"])
    assert about(Where(env="guess"), [one], "none") == Where(env="guess", without_ids=["b"])


@pytest.mark.parametrize(("wanted", "names"), CASES)
def test_commands_select_by_the_opinions_that_stand(
    run: Path, capsys: pytest.CaptureFixture[str], wanted: Wanted, names: list[str]
) -> None:
    lines = printed(capsys, "list", run, "--with-feedback", wanted, "--json").splitlines()
    assert [json.loads(line)["id"] for line in lines] == names
    counted = json.loads(printed(capsys, "stats", run, "--with-feedback", wanted, "--json"))
    assert counted["total"]["episodes"] == len(names)


def test_exports_select_by_opinions(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "export", run, tmp_path / "some.jsonl", "--with-feedback", "none")
    lines = (tmp_path / "some.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["d"]


@pytest.mark.parametrize(("wanted", "names"), CASES)
def test_the_page_selects_by_the_opinions_that_stand(run: Path, wanted: Wanted, names: list[str]) -> None:
    client = TestClient(create_app(UiSettings((run.parent,))), base_url="http://127.0.0.1:8600")
    key = Library([run.parent]).sources()[0].key
    page = client.get(f"/episodes/{key}?feedback={wanted}&sort=id").text
    assert [name for name in "abcd" if f'value="{name}"' in page] == names
    assert f"<strong>{len(names)}</strong> of 4 episodes" in page
    found = client.get(f"/episodes/{key}?feedback={wanted}&sort=id&q=o").text
    assert [name for name in "abcd" if f'value="{name}"' in found] == names


def test_a_data_card_lists_few_episodes_and_counts_many() -> None:
    few, many = Selection(Where(ids=["b", "a"])), Selection(Where(ids=[f"{n:03}" for n in range(101)]))
    assert few.terms() == {"ids": "a, b"}
    assert many.terms()["ids"].startswith("101 values, sha256 ")
    assert many.terms() != Selection(Where(ids=[f"{n:03}" for n in range(1, 102)])).terms()


def test_an_unknown_kind_is_one_line(run: Path) -> None:
    client = TestClient(create_app(UiSettings((run.parent,))), base_url="http://127.0.0.1:8600")
    key = Library([run.parent]).sources()[0].key
    reply = client.get(f"/episodes/{key}?feedback=praise")
    assert reply.status_code == 400
    assert "none of any, score" in reply.text


def test_page_and_commands_offer_the_same_kinds() -> None:
    assert set(FEEDBACK) == set(WANTED) == set(tables.Wanted.__args__)

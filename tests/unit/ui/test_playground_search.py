"""Search among the tasks of a split of any size: bounded requests, progress, and a task by its id."""

import re
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support.playground import Doors, Served, acted, begun, kept, pages, started

from agentevol.ui.playground import servers
from agentevol.ui.playground.search import next_size
from agentevol.ui.playground.tasks import needs_place
from agentgym_envs import registry
from agentgym_envs.guess import Guess

READ = re.compile(r"<strong>(\d+)</strong> found; ([\d,]+) of 1,000,000 tasks read")


class OneSplit(Doors):
    """A single split, of which runs hold a part out."""

    names = ("train",)


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "EnvironmentServer", Served)
    monkeypatch.setattr(Served, "environments", {"guess": Guess, "doors": Doors})
    monkeypatch.setattr(Served, "opened", [])
    monkeypatch.setitem(registry.REGISTRY, "doors", "support.playground:Doors")


def listed(client: TestClient, **query: str) -> str:
    """The page of the tasks of doors, at once, as text without entities."""
    return unescape(client.get("/play", params={"env": "doors", **query}).text)


def ids(page: str) -> list[str]:
    return re.findall(r'aria-label="Play ([^"]+)"', page)


def progress(page: str) -> tuple[int, int]:
    """Tasks that were found and read."""
    found = READ.search(page)
    assert found is not None, page
    return int(found[1]), int(found[2].replace(",", ""))


def test_a_search_stops_after_its_time_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with pages(tmp_path, search_s=0.0) as client:
        started(client, "doors")
        first = listed(client, q="golden")
        assert '<div id="results" data-more>' in first
        assert "Nothing found so far." in first
        assert progress(first) == (0, 16)
        on = re.search(r'href="([^"]+)">Search on</a>', first)
        assert on is not None
        assert 16 < progress(unescape(client.get(on[1]).text))[1] <= 16 + 64


def test_a_search_finds_a_task_far_behind_and_ends_with_the_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.playground.MANY", 22_000)
    with pages(tmp_path, search_s=0.05) as client:
        started(client, "doors")
        page = listed(client, q="GOLD")
        while "data-more" in page:
            page = listed(client, q="GOLD")
        assert "<strong>1</strong> found; 22,000 of 22,000 tasks read" in page
        assert ids(page) == ["train/21000"]


def test_pages_of_tasks_follow_one_another_without_gaps(tmp_path: Path) -> None:
    with pages(tmp_path, search_s=60.0) as client:
        page = started(client, "doors")
        seen = ids(page)
        for _ in range(2):
            following = re.search(r'href="([^"]+)" rel="next"', page)
            assert following is not None
            page = client.get(unescape(following[1])).text
            seen += ids(page)
        assert seen == [f"train/{number}" for number in range(150)]
        assert "Tasks 101 to 150 of 1,000,000." in page
        assert "first page" in page
        assert ids(listed(client, q="train/99999", others="1", **{"from": "999990"})) == ["train/999990"] + [
            f"train/{number}" for number in range(999_991, 1_000_000)
        ]


def test_the_next_page_of_a_search_begins_after_the_last_task_that_was_found(tmp_path: Path) -> None:
    with pages(tmp_path, search_s=60.0) as client:
        started(client, "doors")
        page = listed(client, q="0", split="valid")
        assert (len(ids(page)), ids(page)[-1]) == (50, "valid/301")
        following = re.search(r'href="([^"]+)" rel="next"', page)
        assert following is not None
        assert ids(unescape(client.get(following[1]).text))[0] == "valid/302"


def test_a_task_is_found_at_once_by_its_id(tmp_path: Path) -> None:
    with pages(tmp_path, search_s=0.0) as client:
        started(client, "doors")
        page = listed(client, q=" train/876543 ")
        assert ids(page) == ["train/876543"]
        assert "data-more" not in page
        assert "The task train/876543 of 1,000,000." in page
        others = re.search(r'href="([^"]+)">Other tasks that contain', page)
        assert others is not None
        assert progress(unescape(client.get(others[1]).text)) == (0, 16)
        address = begun(client, env="doors", index="", task="train/876543")
        assert "Door 876543." in client.get(address).text
        over = acted(client, address, 1, action="open")
        again = re.search(r'href="([^"]+)">Play this task again', over)
        assert again is not None
        assert ids(client.get(unescape(again[1])).text) == ["train/876543"]
    (episode,) = kept(tmp_path)
    assert (episode.task_id, episode.purpose) == ("train/876543", "demonstrate")


def test_an_id_of_another_split_is_told_with_the_way_there(tmp_path: Path) -> None:
    with pages(tmp_path, search_s=0.0) as client:
        started(client, "doors")
        page = listed(client, q="test/5")
        assert "“test/5” is the id of a task of the split test" in page
        there = re.search(r'href="([^"]+)">go to it', page)
        assert there is not None
        assert ids(client.get(there[1]).text) == ["test/5"]
        address = begun(client, env="doors", index="", task="test/5")
        assert "training does not read this episode" in client.get(address).text


@pytest.mark.parametrize("text", ["train/closed", "train/1000000", "x" * 300, "\x00", "a/b?c=d&e#f"])
def test_a_text_that_is_no_id_is_searched_for(tmp_path: Path, text: str) -> None:
    with pages(tmp_path, search_s=0.0) as client:
        started(client, "doors")
        assert progress(listed(client, q=text)) == (0, 16)
        fields = {"env": "doors", "split": "train", "task": text}
        assert client.post("/play", data=fields).status_code == 404


def test_a_task_whose_place_decides_about_learning_is_looked_for_in_the_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Served, "environments", {"doors": OneSplit})
    with pages(tmp_path, search_s=0.0) as client:
        started(client, "doors")
        assert progress(listed(client, q="train/15"))[0] == 1
        fields = {"env": "doors", "split": "train", "task": "train/15"}
        reply = client.post("/play", data=fields)
        assert (reply.status_code, "The place of 'train/15'" in unescape(reply.text)) == (404, True)


def test_a_place_decides_only_where_a_part_of_the_split_is_held_out() -> None:
    assert needs_place({"train": 20}, "train")
    assert not needs_place({"train": 20, "valid": 1, "test": 1}, "train")
    assert not needs_place({"train": 20, "other": 3}, "other")


def test_requests_grow_as_long_as_they_are_quick() -> None:
    assert next_size(16, 0.001) == 64
    assert next_size(800, 0.01) == 1000
    assert next_size(16, 1.6) == 1
    assert next_size(16, 0.2) == 8
    assert next_size(0, 0.1) == 1


def test_a_short_split_is_listed_as_a_whole(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        page = started(client, "guess")
        assert ids(page) == ["guess-1", "guess-2", "guess-5", "guess-7"]
        assert "Tasks 1 to 4 of 4." in page
        assert "next page" not in page
        assert "No more task of train" in client.get("/play", params={"env": "guess", "from": "9"}).text

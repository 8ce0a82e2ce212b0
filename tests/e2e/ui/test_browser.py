"""The web pages in Chromium, at the width of a phone and of a desktop, in light and dark, by keys and without
scripts. Times of the first paint are printed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from support.browser import CHROMIUM, FOLDER, needs_browser, served
from support.playing import Person
from support.ui import LONG, episode, episodes, hostile_episode, make_run

from agentevol.cli.benchmarks.store.episodes import commits
from agentevol.loop.state.progress_file import ProgressFile
from agentevol.ui.library import Library
from agentgym_envs.registry import make
from agentgym_store.store import Store

pytestmark = pytest.mark.slow

WALK = Path(__file__).with_name("walk.mjs")
MANY = int(os.environ.get("AGENTEVOL_UI_EPISODES", "100000"))
"""Episodes of the table whose first paint is measured."""
STEPS = 12


@contextmanager
def walking(base: str, **task: Any) -> Iterator[Iterator[dict[str, Any]]]:
    """Reports of the browser, as they come."""
    given = {
        "base": base,
        "chromium": CHROMIUM,
        "pages": [],
        "pictures": os.environ.get("AGENTEVOL_UI_PICTURES"),
    }
    command = ["node", str(WALK), json.dumps(given | task)]
    environment = {**os.environ, "PLAYWRIGHT": f"{FOLDER}/"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield map(json.loads, process.stdout)
        finally:
            process.kill()


def key(home: Path, name: str) -> str:
    """Key of a source."""
    return next(one.key for one in Library([home]).sources() if one.name == name)


def tell(capsys: pytest.CaptureFixture[str], what: str, report: dict[str, Any]) -> None:
    """Print the first paint of a page."""
    with capsys.disabled():
        sys.stdout.write(f"{what} first paint {report['paint_ms']:.0f} ms\n")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder / "first", episodes())
    make_run(folder / "second", episodes()[:-1], seed=1)
    return folder


@pytest.fixture(scope="module")
def base(home: Path) -> Iterator[str]:
    with served(home) as address:
        yield address


@needs_browser
def test_every_page_in_every_width_and_scheme(
    home: Path, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, group = key(home, "first"), "first/explore/0001/guess-5/"
    hostile = urlencode({"id": hostile_episode().id})
    pages = {
        "runs": "/",
        "run": f"/runs/{first}",
        "episodes": f"/episodes/{first}",
        "episode": f"/episodes/{first}/one?id={group}3&expert=1",
        "hostile": f"/episodes/{first}/one?{hostile}",
        "compare": f"/compare/episodes?source={first}&id={group}0&id={group}1",
        "compare-hostile": f"/compare/episodes?source={first}&id={group}0&{hostile}",
        "compare-runs": f"/compare/runs?run={first}&run={key(home, 'second')}",
    }
    with walking(base, pages=[{"name": name, "path": path} for name, path in pages.items()]) as reports:
        seen = list(reports)
    assert len(seen) == 4 * len(pages)
    for one in seen:
        told = {name: one[name] for name in ("status", "overflow", "hacked", "dialogs", "foreign", "errors")}
        expected = {"status": 200, "overflow": 0, "hacked": None, "dialogs": [], "foreign": [], "errors": []}
        assert told == expected, (one["name"], one["size"], one["scheme"])
        tell(capsys, f"{one['name']:16} {one['size']:8} {one['scheme']:6}", one)
    backgrounds = {one["scheme"]: one["background"] for one in seen}
    assert backgrounds["light"] != backgrounds["dark"]


@needs_browser
def test_the_keys_lead_through_the_pages(home: Path, base: str) -> None:
    path = f"/episodes/{key(home, 'first')}?purpose=explore&env=guess"
    with walking(base, list=path, search="door", plain=True) as reports:
        seen = list(reports)
    steps = {one["name"]: one["value"] for one in seen if one["kind"] == "step"}
    assert all(steps.values()), steps
    assert len(steps) == STEPS
    walk = next(one for one in seen if one["kind"] == "walk")
    assert (walk["dialogs"], walk["foreign"], walk["errors"]) == ([], [], [])
    assert next(one for one in seen if one["kind"] == "plain")["heading"].startswith("Find the number.")


@needs_browser
def test_progress_appears_without_loading_the_page_again(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "live", episodes()[:2])
    file = ProgressFile(folder)
    file.begin("explore train", 1, "episodes", done=3, total=8)
    live = {"selector": ".now", "before": "3 of 8", "after": "evaluate test"}
    with served(tmp_path) as base, walking(base, live=live) as reports:
        assert next(reports)["kind"] == "watching"
        file.begin("evaluate test", 1, "episodes", done=0, total=4)
        assert next(reports)["kind"] == "watched"


@needs_browser
def test_a_game_of_alfworld_is_played_to_its_end_by_clicks(tmp_path: Path) -> None:
    alfworld = make("alfworld")
    task = alfworld.tasks("train")[0]
    plan = alfworld.expert(task)
    assert plan is not None
    assert len(plan) > 3
    ways = [
        {"name": "keys", "javaScriptEnabled": True, "size": "desktop", "scheme": "light"},
        {"name": "plain", "javaScriptEnabled": False, "size": "phone", "scheme": "dark"},
    ]
    game = {"env": "alfworld", "option": "lenient", "value": "true", "id": task.id}
    play = {**game, "player": "Ann", "actions": plan, "ways": ways}
    with served(tmp_path) as base, walking(base, play=play) as reports:
        seen = list(reports)
    assert [one["name"] for one in seen] == ["keys", "plain"]
    for one in seen:
        assert one["verdict"].startswith(f"Won after {len(plan)} turns"), one
        assert (one["errors"], set(one["overflows"])) == ([], {0}), one
    episodes = list(Store.open(tmp_path / "human", create=False).trajectories())
    assert [[turn.action for turn in t.turns] for t in episodes] == [plan, plan]
    assert {(t.policy, t.task_id, t.purpose, t.total_reward) for t in episodes} == {
        ("human:Ann", task.id, "demonstrate", 1.0)
    }
    assert sorted(t.attempt for t in episodes) == [0, 1]


@needs_browser
def test_a_search_among_tasks_goes_on_by_itself_to_the_end(tmp_path: Path) -> None:
    path = "/play?env=alfworld&split=valid&q=nowhere"
    pages = [
        {"name": "tasks", "path": path, "until": "#results:not([data-more])"},
        {"name": "environments", "path": "/play?env=sotopia#options"},
    ]
    with served(tmp_path) as base:
        Person(base).start("alfworld")
        with walking(base, pages=pages) as reports:
            seen = list(reports)
    assert len(seen) == 8
    for one in seen:
        assert (one["status"], one["overflow"], one["errors"]) == (200, 0, []), one
        assert one["name"] != "tasks" or "0 found; 300 of 300 tasks read" in one["text"], one
        assert one["name"] != "tasks" or "No task of valid contains “nowhere”." in one["text"], one


@needs_browser
def test_the_first_paint_of_many_episodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store.open(tmp_path / "many")
    for number, batch in enumerate(commits(MANY)):
        store.append(batch, commit={"batch": str(number)})
    path = f"/episodes/{key(tmp_path, 'many')}"
    pages = [
        {"name": "many, first time", "path": path},
        {"name": "many", "path": path},
        {"name": "many, filtered", "path": f"{path}?iteration=3&sort=-total_reward"},
        {"name": "many, searched", "path": f"{path}?q=mug"},
        # goes on by itself to the end
        {"name": "many, in vain", "path": f"{path}?q=nowhere", "until": "#results:not([data-more])"},
    ]
    with served(tmp_path) as base, walking(base, pages=pages) as reports:
        for one in reports:
            assert one["status"] == 200
            assert (one["text"] == "") != ("No episode matches" in one["text"]), one
            tell(capsys, f"{MANY:,} episodes: {one['name']:18} {one['size']:8}", one)


def test_the_hostile_episode_is_hostile() -> None:
    played = hostile_episode()
    assert "<script>" in played.instruction
    assert len(played.turns[1].observation) > LONG
    assert episode("a").instruction == "Find the number."

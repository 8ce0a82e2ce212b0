"""The pages over ASGI: what they show, what they refuse, and that nothing of an episode is markup."""

import asyncio
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.ui import CONTROLS, HOSTILE, LONG, episode, episodes, hostile_episode, make_run, turn

from agentevol.ui import settings
from agentevol.ui.app import create_app
from agentevol.ui.episodes.filters import Filters
from agentevol.ui.episodes.search import Search
from agentevol.ui.library import Library
from agentevol.ui.settings import UiSettings
from agentgym_store.errors import StoreError
from agentgym_store.store import Store

OWN_LINK = re.compile(r"/(?!/)|#")


class Page(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def links(self) -> list[str]:
        return [attributes["href"] or "" for tag, attributes in self.tags if tag == "a"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder / "first", episodes())
    make_run(folder / "second", episodes()[:-1], name="first", seed=1)
    Store.open(folder / "table").append([episode("t/1"), hostile_episode()], commit={"n": "1"})
    return folder


@pytest.fixture(scope="module")
def client(home: Path) -> TestClient:
    return client_of(home)


def client_of(home: Path, **fields: Any) -> TestClient:
    app = create_app(UiSettings((home,), **fields))
    return TestClient(app, base_url="http://127.0.0.1:8600", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def keys(home: Path) -> dict[str, str]:
    return {source.name: source.key for source in Library([home]).sources()}


def paths(keys: dict[str, str]) -> list[str]:
    """An address of every page."""
    first = keys["first"]
    group = "first/explore/0001/guess-5/"
    hostile = hostile_episode().id
    query = TestClient(lambda: None).build_request  # quotes as a browser does
    url = [
        query("GET", f"/episodes/{first}/one", params={"id": name}).url.raw_path.decode()
        for name in (f"{group}0", hostile)
    ]
    return [
        "/",
        "/live/runs",
        f"/live/runs/{first}",
        f"/runs/{first}",
        f"/runs/{keys['table']}",
        f"/episodes/{first}",
        f"/episodes/{first}?q=hacked&sort=-turn_count",
        *url,
        f"/compare/episodes?source={first}&id={group}0&id={group}1",
        f"/compare/runs?run={first}&run={keys['second']}",
    ]


def test_every_page_is_whole_safe_and_only_of_this_server(client: TestClient, keys: dict[str, str]) -> None:
    for path in paths(keys):
        reply = client.get(path)
        assert reply.status_code == 200, (path, reply.text)
        page = Page(reply.text)
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert "unsafe" not in reply.headers["content-security-policy"]
        scripts = [attributes for tag, attributes in page.tags if tag == "script"]
        assert all(one["src"] and one["src"].startswith("/static/app.js") for one in scripts)
        for tag, attributes in page.tags:
            assert tag not in ("img", "iframe", "object", "style", "base")
            assert not any(name.startswith("on") or name == "style" for name in attributes), (
                path,
                tag,
                attributes,
            )
        for link in page.links():
            assert OWN_LINK.match(link), (path, link)
        raw = set("\x1b\u202e\u2066\x00\u200b") & set(reply.text)
        assert not raw, (path, raw)


def test_the_check_of_pages_notices_markup() -> None:
    page = Page(f"<p>{HOSTILE}</p>")
    assert {"script", "img", "a"} <= {tag for tag, _ in page.tags}
    assert "javascript:alert(4)" in page.links()
    assert set(CONTROLS) & set("\x1b\u202e")


def test_the_list_of_runs_shows_gain_and_tables(client: TestClient) -> None:
    page = Page(client.get("/").text)
    assert "0.0 %" in page.text
    assert "100.0 %" in page.text
    assert "Tables without a run" in page.text


def test_a_single_run_has_nothing_to_be_compared_with(client: TestClient, tmp_path: Path) -> None:
    make_run(tmp_path / "only", episodes()[:2])
    assert "checkbox" not in client_of(tmp_path).get("/").text
    assert "checkbox" in client.get("/").text


def test_a_run_shows_the_tables_of_its_report(client: TestClient, keys: dict[str, str]) -> None:
    reply = client.get(f"/runs/{keys['first']}")
    for part in (
        "Success per iteration",
        "Success by task type",
        "How episodes ended, and why",
        "Configuration",
    ):
        assert part in reply.text
    assert "the process that ran the environment ended" in reply.text
    assert "<svg" in reply.text
    live = client.get(f"/live/runs/{keys['first']}")
    assert live.headers["x-version"]


def ids_of(client: TestClient, path: str) -> list[str]:
    """Ids of the listed episodes, in order."""
    page = Page(client.get(path).text)
    return [
        str(attributes["value"])
        for tag, attributes in page.tags
        if attributes.get("name") == "id" and tag == "input"
    ]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 11),
        ("purpose=explore", 5),
        ("purpose=evaluate&iteration=2", 2),
        ("outcome=won", 6),
        ("outcome=lost&purpose=explore", 1),
        ("outcome=unscored", 1),
        ("ending=truncated(max_turns)", 4),
        ("ending=failed(worker-lost)", 1),
        ("env=guess&split=test", 6),
        ("min_turns=3", 2),
        ("max_turns=1", 1),
        ("min_reward=1", 6),
        ("mode=2", 1),
        ("mode=3", 0),
        ("q=HACKED", 1),
        ("q=door 2", 2),
        ("q=find the number", 10),
        ("q=door 2&outcome=won", 1),
        ("task=guess-1", 3),
        ("policy=p", 10),
        ("kind=numbers", 10),
    ],
)
def test_filters_select_episodes(client: TestClient, keys: dict[str, str], query: str, count: int) -> None:
    assert len(ids_of(client, f"/episodes/{keys['first']}?{query}")) == count


def test_pages_follow_each_other_without_gap_or_repetition(home: Path, keys: dict[str, str]) -> None:
    client = client_of(home, page_size=4)
    path, seen, addresses = f"/episodes/{keys['first']}?sort=-turn_count", [], []
    while path:
        addresses.append(path)
        seen.append(ids_of(client, path))
        tags = Page(client.get(path).text).tags
        path = next((str(one["href"]) for tag, one in tags if tag == "a" and one.get("rel") == "next"), "")
    assert [len(page) for page in seen] == [4, 4, 3]
    assert len({name for page in seen for name in page}) == 11
    tags = Page(client.get(addresses[-1]).text).tags
    back = next(str(one["href"]) for tag, one in tags if tag == "a" and one.get("rel") == "prev")
    assert ids_of(client, back) == seen[1]


def test_a_search_that_is_out_of_time_says_where_it_stopped_and_goes_on(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "table")
    for n in range(3):
        store.append([episode(f"{n}/{place}") for place in range(3)], commit={"n": str(n)})
    client = client_of(tmp_path, search_s=0.0)
    path = f"/episodes/{Library([tmp_path]).sources()[0].key}?q=door"
    assert "it has read 3 of 9 episodes" in Page(client.get(path).text).text
    assert "it has read 6 of 9 episodes" in Page(client.get(path).text).text
    client.get(path)
    assert "The search stopped" not in client.get(path).text
    assert len(ids_of(client, path)) == 9


def test_a_search_that_fails_names_the_table() -> None:
    def batches() -> Iterator[Any]:
        raise OSError("gone")
        yield

    with pytest.raises(StoreError, match="cannot search the table of trajectories: gone"):
        Search(Filters(q="x"), batches()).advance(1.0)


def test_the_reader_shows_the_seconds_of_a_turn_where_they_were_recorded(tmp_path: Path) -> None:
    timed = turn("go 1", policy_s=0.4249, environment_s=0.0312)
    quick = turn("go 2", policy_s=0.0, environment_s=0.00312)
    known = turn("go 3", info={"latency_s": 9.0, "seconds": 8.0})
    Store.open(tmp_path).append([episode("one", turns=(timed, quick, known))], commit={"a": "1"})
    (source,) = Library([tmp_path]).sources()
    text = client_of(tmp_path).get(f"/episodes/{source.key}/one?id=one").text
    tags = [line for line in text.splitlines() if "policy version" in line]
    found = [re.findall(r'"tag">((?:policy|environment) [0-9][^<]*)<', line) for line in tags]
    assert found == [
        ["policy 0.42 s", "environment 0.03 s"],
        ["policy 0.00 s", "environment 0.0031 s"],
        [],
    ]


def test_the_reader_shows_turns_tokens_and_group(client: TestClient, keys: dict[str, str]) -> None:
    name = "first/explore/0001/guess-5/3"
    reply = client.get(f"/episodes/{keys['first']}/one", params={"id": name, "q": "door 2"})
    page = Page(reply.text)
    for part in ("Won after 3 turns", "Thought: on. Action:", "policy version 3", "first turn with the text"):
        assert part.lower() in page.text.lower()
    tips = [str(attributes["data-tip"]) for _, attributes in page.tags if "data-tip" in attributes]
    assert len(tips) == 9
    assert tips[0].startswith("“go”, probability 99 %")
    assert tips[2].endswith("forced, not drawn")
    group = [one for tag, one in page.tags if tag == "a" and "/compare/episodes" in str(one["href"])]
    assert len(group) == 3
    beside = {
        one["rel"]: str(one["href"])
        for tag, one in page.tags
        if tag == "a" and one.get("rel") in ("prev", "next")
    }
    assert "q=door+2" in beside["next"]


def test_a_long_observation_is_cut_and_has_a_page_of_its_own(
    client: TestClient, keys: dict[str, str]
) -> None:
    name = hostile_episode().id
    reply = client.get(f"/episodes/{keys['first']}/one", params={"id": name})
    assert len(reply.content) < 300_000
    link = next(link for link in Page(reply.text).links() if "/text?" in link)
    whole = client.get(link)
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert len(whole.text) > LONG
    assert (
        client.get(f"/episodes/{keys['first']}/text", params={"id": name, "turn": 9, "part": "x"}).status_code
        == 404
    )


def test_the_expert_is_played_on_request(client: TestClient, keys: dict[str, str]) -> None:
    address = f"/episodes/{keys['first']}/one"
    name = {"id": "first/explore/0001/guess-5/0"}
    assert "Play it" in client.get(address, params=name).text
    page = Page(client.get(address, params={**name, "expert": "1"}).text)
    assert "1 action, return 1." in page.text
    assert "Right." in page.text
    assert "this machine has 1.0.0" in page.text
    hostile = {"id": hostile_episode().id, "expert": "1"}
    assert "no environment" in client.get(address, params=hostile).text


def test_an_expert_that_takes_too_long_is_ended(home: Path, keys: dict[str, str]) -> None:
    client = client_of(home, expert_s=0.001)
    params = {"id": "first/explore/0001/guess-5/0", "expert": "1"}
    assert "did not answer within 0.001 s" in client.get(f"/episodes/{keys['first']}/one", params=params).text


def test_comparisons_of_episodes_and_runs(client: TestClient, keys: dict[str, str]) -> None:
    first, group = keys["first"], "first/explore/0001/guess-5/"
    page = client.get(f"/compare/episodes?source={first}&id={group}0&id={group}1").text
    assert "They differ first in turn 2" in page
    assert "of “Find the number.”" in page
    assert {f"/runs/{first}", f"/episodes/{first}?task=guess-5"} <= set(Page(page).links())
    page = client.get(f"/compare/runs?run={first}&run={keys['second']}").text
    for part in (
        "paired by task",
        "+100.0",
        "95 % interval",
        "mean gain over 2 seeds",
        "Settings that differ",
    ):
        assert part in page


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/nothing", 404, "There is no page"),
        ("/runs/nothing-000000", 404, "There is no run or table"),
        ("/static/none.js", 404, "There is no file"),
        ("/static/..%2fapp.py", 404, "There is no"),
        ("/episodes/{first}?iteration=x", 400, "is not a number"),
        ("/episodes/{first}?after=zz", 400, "does not exist"),
        ("/episodes/{first}/one?id=none", 404, "There is no episode"),
        ("/episodes/{first}/one", 400, "id"),
        ("/compare/episodes?source={first}&id=a", 400, "needs two episodes"),
        ("/compare/runs?run={first}", 400, "needs two runs"),
        ("/compare/runs?run={first}&run={table}", 400, "Only runs"),
        ("/live/runs/{table}", 404, "is a table"),
    ],
)
def test_what_cannot_be_shown_is_told_on_a_page(
    client: TestClient, keys: dict[str, str], path: str, status: int, told: str
) -> None:
    reply = client.get(path.format(**keys))
    assert reply.status_code == status
    assert told in Page(reply.text).text
    assert "Traceback" not in reply.text
    assert "<h1>" in reply.text


def test_foreign_hosts_and_methods_are_refused(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/static/app.js", headers={"host": "evil.example"}).status_code == 421
    assert client.put("/").status_code == 405
    reply = client.get("/", headers={"host": "evil.example"})
    assert "content-security-policy" in reply.headers


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    page = client_of(tmp_path / "none").get("/").text
    assert "There is no run here yet" in page
    assert "agentevol run" in page


def test_a_run_without_episodes_or_evaluations_is_shown(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "new", [])
    shutil.rmtree(folder / "trajectories")
    shutil.rmtree(folder / "iterations")
    client, key = client_of(tmp_path), Library([tmp_path]).sources()[0].key
    assert "Nothing has been evaluated yet" in client.get(f"/runs/{key}").text
    reply = client.get(f"/episodes/{key}")
    assert (reply.status_code, "has no episodes yet" in reply.text) == (404, True)


def test_damage_is_told_and_the_other_runs_are_listed(tmp_path: Path) -> None:
    make_run(tmp_path / "good", episodes()[:2])
    damaged = make_run(tmp_path / "bad", episodes()[:2])
    (damaged / "config.toml").write_text("name = ")
    client, sources = client_of(tmp_path), {one.name: one.key for one in Library([tmp_path]).sources()}
    listed = client.get("/").text
    assert "This run cannot be read" in listed
    assert sources["good"] in listed
    reply = client.get(f"/runs/{sources['bad']}")
    assert (reply.status_code, "This cannot be read" in reply.text) == (500, True)


def test_a_damaged_or_vanished_table_is_a_page(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", episodes()[:2])
    client, key = client_of(tmp_path), Library([tmp_path]).sources()[0].key
    assert client.get(f"/episodes/{key}").status_code == 200
    for file in (folder / "trajectories").glob("*.parquet"):
        file.write_bytes(b"damaged")
    reply = client.get(f"/episodes/{key}?outcome=won")
    assert (reply.status_code, "This cannot be read" in reply.text) == (500, True)
    shutil.rmtree(folder)
    assert client.get(f"/episodes/{key}").status_code in (404, 500)


def test_a_table_of_a_newer_format_is_a_page(tmp_path: Path) -> None:
    Store.open(tmp_path / "table").append([episode("a")], commit={"n": "1"})
    log = next((tmp_path / "table" / "_delta_log").glob("*00.json"))
    log.write_text(log.read_text().replace("agentevol.trajectory/3", "agentevol.trajectory/9"))
    key = Library([tmp_path]).sources()[0].key
    reply = client_of(tmp_path).get(f"/episodes/{key}")
    assert reply.status_code == 500
    assert "agentevol.trajectory/9" in reply.text


def test_an_unexpected_error_is_a_page_with_the_headers_of_all(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentevol.ui.runs.routes.run_rows", lambda _: 1 / 0)
    reply = client_of(home).get("/")
    assert (reply.status_code, "ZeroDivisionError" in reply.text) == (500, True)
    assert "content-security-policy" in reply.headers


def test_lists_are_read_off_the_event_loop() -> None:
    from agentevol.ui.app import GROUPS

    endpoints = [route.endpoint for group in GROUPS for route in group.router.routes]
    assert len(endpoints) >= 18
    assert not any(asyncio.iscoroutinefunction(endpoint) for endpoint in endpoints)


def test_the_default_port_is_that_of_the_command() -> None:
    from agentevol.cli.ui import PORT

    assert settings.PORT == PORT

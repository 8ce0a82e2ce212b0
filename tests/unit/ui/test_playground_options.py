"""Options and limits of the playground: fields of its forms, servers by options, and what is not shown."""

import re
from html import unescape
from pathlib import Path

import pytest
from support.playground import Rooms, Served, acted, begun, kept, pages, started
from support.ui import HOSTILE

from agentevol.ui.errors import NotFound
from agentevol.ui.playground import servers
from agentevol.ui.playground.setups import Setup, Setups
from agentgym_envs import registry
from agentgym_envs.guess import Guess

URL = "http://ann:pa55word@127.0.0.1:1/v1"


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "EnvironmentServer", Served)
    monkeypatch.setattr(Served, "environments", {"guess": Guess, "rooms": Rooms})
    monkeypatch.setattr(Served, "opened", [])
    monkeypatch.setitem(registry.REGISTRY, "rooms", "support.playground:Rooms")


def field(page: str, name: str) -> str:
    """The part of a page that holds an option, without its tags' white space."""
    found = re.search(rf'<div class="option">\s*<label for="option-{name}">.*?</div>', page, re.DOTALL)
    assert found is not None, page
    return unescape(" ".join(found[0].split()))


def setup_in(page: str) -> str:
    """Key of the chosen options."""
    found = re.search(r'name="setup" value="([^"]+)"', page)
    assert found is not None, page
    return found[1]


def test_options_are_fields_with_types_defaults_and_descriptions(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        for page in (client.get("/play", params={"env": "rooms"}).text, started(client, "rooms")):
            assert '<details class="options"><summary>Options of rooms</summary>' in page
            assert 'placeholder="default: 4"' in field(page, "size")
            assert 'inputmode="numeric"' in field(page, "size")
            assert "Number of <code>rooms</code>. From 1 to 9." in field(page, "size")
            assert '<option value="">default: red</option>' in field(page, "colour")
            assert '<option value="blue">blue</option>' in field(page, "colour")
            assert '<option value="true">true</option>' in field(page, "is_dark")
        assert "Options of guess" not in started(client, "guess")


def test_an_episode_is_played_and_kept_with_its_options(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        page = started(client, "rooms", size="7", colour="blue")
        assert "colour: blue" in page
        address = begun(client, env="rooms", setup=setup_in(page))
        shown = client.get(address).text
        assert "7 blue False without a partner" in shown
        assert "colour=blue, size=7" in shown
        over = acted(client, address, 1, action="5")
        again = re.search(r'href="([^"]+)">Play this task again', over)
        assert again is not None
        assert "colour: blue" in client.get(unescape(again[1])).text
    (episode,) = kept(tmp_path)
    assert (episode.env, episode.env_version) == ("rooms", "1.0.0")
    assert episode.data_version == "builtin:7 blue False without a partner"


def test_other_options_are_another_server_and_equal_ones_are_not(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        started(client, "rooms")
        first = started(client, "rooms", size="7")
        second = started(client, "rooms", size=" 7 ", colour="red")
        started(client, "rooms", size="4")
        assert [one.config.options for one in Served.opened] == [{}, {"size": 7}]
        assert setup_in(first) == setup_in(second)
        assert "with size=7</a>" in client.get("/play").text


def test_what_is_wrong_is_told_beside_its_field_and_what_was_typed_stays(tmp_path: Path) -> None:
    fields = {"env": "rooms", "option.size": "12", "option.is_dark": "maybe", "option.colour": "blue"}
    with pages(tmp_path) as client:
        reply = client.post("/play/environments", data=fields)
        assert reply.status_code == 400
        assert 'value="12"' in field(reply.text, "size")
        assert 'role="alert">It should be less than or equal to 9.</span>' in field(reply.text, "size")
        assert "It should be true or false." in field(reply.text, "is_dark")
        assert '<option value="blue" selected>' in field(reply.text, "colour")
        assert "role=" not in field(reply.text, "colour")
        assert '<details class="options" open>' in reply.text
    assert Served.opened == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x" * 9_000, "It has 9,000 characters, of at most 8,192."),
        ("a\nb", "It has a line break, or another character that cannot be printed."),
        ("\x00", "It has a line break, or another character that cannot be printed."),
        (HOSTILE, "It has a line break, or another character that cannot be printed."),
    ],
)
def test_hostile_values_are_refused(tmp_path: Path, text: str, told: str) -> None:
    with pages(tmp_path) as client:
        reply = client.post("/play/environments", data={"env": "rooms", "option.size": text})
    assert (reply.status_code, told in field(reply.text, "size")) == (400, True)
    assert "<script>window" not in reply.text


def test_an_option_that_there_is_not_is_a_page(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        for env, name in (("rooms", "home"), ("guess", "size"), ("gues", "size")):
            reply = client.post("/play/environments", data={"env": env, f"option.{name}": "1"})
            assert (reply.status_code, f"{env} has no option" in reply.text) == (400, True)


def test_options_that_do_not_go_together_are_told_with_all_that_was_chosen(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        page = started(client, "rooms", is_dark="true", colour="blue")
        assert "is_dark excludes colour=" in page
        assert "Start rooms again" in page
        assert '<option value="true" selected>' in field(page, "is_dark")
        again = client.post("/play/environments", data={"env": "rooms", "setup": setup_in(page)})
        while "<h1>rooms starts</h1>" in again.text:
            again = client.get(str(again.url))
        assert "is_dark excludes colour=" in again.text
        assert "excludes" not in client.get("/play", params={"env": "rooms"}).text


def test_a_private_value_is_used_and_never_shown(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        seen = [started(client, "rooms", partner_url=URL)]
        address = begun(client, env="rooms", setup=setup_in(seen[0]))
        seen += [client.get("/play").text, client.get(address).text, acted(client, address, 1, action="5")]
        assert "with a partner" in seen[2]
        assert "It was given, and is not shown" in field(seen[0], "partner_url")
        seen.append(started(client, "rooms", partner_url=URL, is_dark="true", colour="blue"))
        assert "is_dark excludes colour=" in seen[-1]
        wrong = {"env": "rooms", "option.partner_url": URL, "option.size": "x"}
        seen.append(client.post("/play/environments", data=wrong).text)
        told = {"env": "rooms", "option.partner_url": f"{URL}\x00"}
        seen.append(client.post("/play/environments", data=told).text)
    for page in seen:
        for secret in ("pa55word", "ann:", "127.0.0.1:1/"):
            assert secret not in page
    assert "pa55word" not in str(kept(tmp_path))


def test_pages_that_other_machines_can_reach_do_not_offer_private_options(tmp_path: Path) -> None:
    with pages(tmp_path, host="0.0.0.0", names=frozenset({"127.0.0.1"})) as client:
        page = started(client, "rooms", size="5")
        assert "option-size" in page
        assert "partner_url" not in page
        reply = client.post("/play/environments", data={"env": "rooms", "option.partner_url": URL})
        assert (reply.status_code, "no option 'partner_url'" in unescape(reply.text)) == (400, True)


def test_the_bound_of_servers_counts_all_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MOST", 2)
    with pages(tmp_path) as client:
        first = setup_in(started(client, "rooms", size="1"))
        address = begun(client, env="rooms", setup=first)
        begun(client, env="rooms", setup=setup_in(started(client, "rooms", size="2")))
        fields = {"env": "rooms", "option.size": "3"}
        assert client.post("/play/environments", data=fields).status_code == 503
        client.post(f"{address}/end")
        started(client, "rooms", size="3")
        assert [one.is_closed for one in Served.opened[1:]] == [False, False]


def test_options_that_are_not_known_any_more_are_a_page(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        known = setup_in(started(client, "rooms", size="7"))
        for env, key in (("rooms", "none"), ("guess", known)):
            assert client.get("/play", params={"env": env, "setup": key}).status_code == 404
            assert client.post("/play/environments", data={"env": env, "setup": key}).status_code == 404
            begin = {"env": env, "setup": key, "split": "train"}
            reply = client.post("/play", data=begin)
            assert (reply.status_code, "agentevol ui was started again" in reply.text) == (404, True)


def test_the_limit_of_turns_cuts_the_episode(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        address = begun(client, max_turns="2")
        assert "of at most 2" in client.get(address).text
        acted(client, address, 1, action="1")
        assert "the limit of turns was reached" in acted(client, address, 2, action="2")
    (episode,) = kept(tmp_path)
    assert (episode.ending.kind, getattr(episode.ending, "limit", "")) == ("truncated", "max_turns")
    assert len(episode.turns) == 2


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("max_turns", "0", "max turns is a whole number from 1 to 10000, not “0”."),
        ("max_turns", "10001", "max turns is a whole number from 1 to 10000, not “10001”."),
        ("max_turns", "many", "max turns is a whole number from 1 to 10000, not “many”."),
        ("seed", "-1", "seed is a whole number from 0 to 9007199254740991, not “-1”."),
        ("name", "a\x1bb", "A name has 1 to 200 printable characters."),
    ],
)
def test_a_wrong_limit_is_told_beside_it_and_the_form_stays(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    with pages(tmp_path) as client:
        started(client)
        fields = {"env": "guess", "split": "valid", "index": "0", "seed": "5", "name": "Ann", name: text}
        reply = client.post("/play", data=fields)
        page = unescape(reply.text)
        assert reply.status_code == 400
        assert f'id="{name.replace("_", "-")}-error" role="alert">{told}</span>' in page
        assert ('name="seed" value="5"' in page) == (name != "seed")
        assert "<summary>Seed and limit of turns</summary>" in page
        assert '<option value="valid" selected>' in page
    assert not (tmp_path / "human").exists()


def test_the_options_that_runs_use_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.REGISTRY, "assistant", "agentgym_envs.assistant:Assistant")
    with pages(tmp_path) as client:
        page = client.get("/play", params={"env": "assistant"}).text
    assert "Runs use <code>text</code> by default." in field(page, "tools_in")
    assert "Runs use" not in field(page, "all_tools")


def test_a_message_is_masked_as_far_as_it_repeats_a_private_value() -> None:
    values = (("endpoint", '{"base_url": "http://h/v1", "api_key": "sk-12345678"}'), ("size", "12345678"))
    setup = Setup("rooms", values, frozenset({"endpoint"}))
    assert setup.masked("api_key: no 'sk-12345678', no sk-1234") == "api_key: no '…', no …"
    assert setup.masked("12345678 is too much") == "12345678 is too much"
    assert "sk-" not in repr(setup)
    assert setup.label == "endpoint=…, size=12345678"


def test_setups_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentevol.ui.playground.setups.MOST", 2)
    setups = Setups()
    keys = [setups.key(Setup("rooms", (("size", size),))) for size in (1, 2, 1, 3)]
    assert keys[0] == keys[2]
    assert setups.find("rooms", keys[0]).options == (("size", 1),)
    assert setups.find("rooms", "") == Setup("rooms")
    with pytest.raises(NotFound, match="not known here"):
        setups.find("rooms", keys[1])

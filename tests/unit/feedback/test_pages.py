"""The forms of feedback over ASGI: what they save, what they refuse, and what the pages show then."""

import html
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient
from support.ui import HOSTILE, MARKUP, client_of, episodes, hostile_episode, make_run

from agentevol.ui.library import Library
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Comparison, Correction, Feedback, Flag, Score
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.store import Store

GROUP = "first/explore/0001/guess-5/"
HELD_OUT = "first/evaluate/0001/guess-0/0"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "first", episodes())


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    import shutil

    return shutil.copytree(made, tmp_path / "runs" / "first")


@pytest.fixture
def client(run: Path) -> TestClient:
    return client_of(run)


@pytest.fixture
def key(run: Path) -> str:
    return Library([run.parent]).sources()[0].key


def said(run: Path) -> list[Feedback]:
    return FeedbackTable(run / "feedback").records()


def send(client: TestClient, key: str, **fields: Any) -> Any:
    given = {"id": f"{GROUP}0", "back": f"/episodes/{key}/one?id={GROUP}0", "name": "Anna", **fields}
    return client.post(f"/feedback/{key}", data=given, follow_redirects=False)


def reader(client: TestClient, key: str, name: str = f"{GROUP}0") -> str:
    return client.get(f"/episodes/{key}/one", params={"id": name}).text


def test_a_rating_is_saved_and_shown(run: Path, client: TestClient, key: str) -> None:
    assert "rated" not in reader(client, key)
    reply = send(client, key, score="4", note="nearly")
    assert reply.status_code == 303
    (record,) = said(run)
    assert record.opinion == Score(value=4, low=1, high=5)
    assert (record.source, record.turn, record.note, record.trajectory_id) == (
        "human:Anna",
        None,
        "nearly",
        f"{GROUP}0",
    )
    shown = client.get(reply.headers["location"]).text
    assert "Saved. rated 4 of 5 (Anna)." in shown
    assert "<q>nearly</q>" in shown
    assert 'value="4" data-key="4" aria-pressed="true"' in shown


def test_the_name_is_kept_in_a_cookie_of_this_site(client: TestClient, key: str) -> None:
    cookie = send(client, key, score="4", name="Änne B").headers["set-cookie"].lower()
    assert "samesite=strict" in cookie
    assert "httponly" in cookie
    reply = send(client, key, score="2", name="")
    assert reply.status_code == 303
    assert "rated 2 of 5 (Änne B)" in client.get(reply.headers["location"]).text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": ""}, "A name has 1 to 200"),
        ({"name": "a\u202eb"}, "A name has 1 to 200"),
        ({"score": "6"}, "6 is not on the scale from 1 to 5"),
        ({"score": "nan"}, "score is a number"),
        ({"score": "-1"}, "score is a number"),
        ({"score": "", "action": "x"}, "a correction is of a turn"),
        ({"score": "", "action": "x", "turn": "9"}, "the episode has 2 turns"),
        ({"score": "4", "turn": "0"}, "turn: "),
        ({"score": ""}, "This form has no action"),
        ({"score": "", "flag": "ugly"}, "opinion.flag.reason"),
        ({"score": "", "verdict": "better"}, "This form has no other"),
        ({"score": "", "verdict": "better", "other": f"{GROUP}0"}, "not compared with itself"),
        ({"score": "", "verdict": "better", "other": HELD_OUT}, "of two tasks"),
        ({"score": "", "verdict": "better", "other": "nobody"}, "There is no episode"),
        ({"id": "nobody"}, "There is no episode"),
        ({"id": ""}, "This form has no id"),
        ({"note": "x" * 10_001}, "note: "),
        ({"back": "https://evil.example/"}, "another server"),
        ({"back": "//evil.example/"}, "another server"),
        ({"back": "/\\evil.example"}, "another server"),
        ({"withdraw": "unknown"}, "no such opinion"),
    ],
)
def test_what_is_not_valid_is_told_and_nothing_is_saved(
    run: Path, client: TestClient, key: str, fields: dict[str, str], told: str
) -> None:
    reply = send(client, key, **{"score": "4", **fields})
    assert reply.status_code in (400, 404)
    assert told in reply.text
    assert said(run) == []


def test_a_correction_is_of_the_turn_that_the_page_counts_from_one(
    run: Path, client: TestClient, key: str
) -> None:
    reply = send(client, key, action=" look \n", turn="2")
    assert urlsplit(reply.headers["location"]).fragment == "turn-2"
    (record,) = said(run)
    assert (record.turn, record.opinion) == (1, Correction(action="look"))
    assert "Saved. Turn 2: better action: look (Anna)." in client.get(reply.headers["location"]).text
    assert ">look</textarea>" in reader(client, key)


def test_a_preference_is_the_same_from_both_sides(run: Path, client: TestClient, key: str) -> None:
    send(client, key, verdict="better", other=f"{GROUP}1")
    send(client, key, verdict="better", other=f"{GROUP}0", id=f"{GROUP}1")
    (record,) = standing(said(run))
    assert (record.trajectory_id, record.opinion) == (
        f"{GROUP}1",
        Comparison(other=f"{GROUP}0", verdict="better"),
    )
    ids = [f"{GROUP}0", f"{GROUP}1"]
    page = client.get("/compare/episodes", params={"source": key, "id": ids}).text
    assert 'value="worse" data-key="b" aria-pressed="true"' in page
    assert "<strong>Anna</strong> B is better" in page
    assert f"better than {GROUP}0" in reader(client, key, f"{GROUP}1")


def test_episodes_of_two_tasks_are_not_compared(client: TestClient, key: str) -> None:
    ids = [f"{GROUP}0", HELD_OUT]
    page = client.get("/compare/episodes", params={"source": key, "id": ids}).text
    assert "No preference can be given: they are of two tasks." in page
    assert 'name="verdict"' not in page


def test_an_opinion_is_changed_and_withdrawn_by_its_own_person(
    run: Path, client: TestClient, key: str
) -> None:
    send(client, key, flag="unsafe")
    send(client, key, flag="broken")
    (record,) = standing(said(run))
    assert record.opinion == Flag(reason="broken")
    assert send(client, key, withdraw=record.id, name="Bob").status_code == 400
    reply = send(client, key, withdraw=record.id)
    assert "Withdrawn." in client.get(reply.headers["location"]).text
    assert standing(said(run)) == []
    assert len(said(run)) == 3


def test_others_see_an_opinion_and_cannot_withdraw_it(run: Path, client: TestClient, key: str) -> None:
    send(client, key, score="1", turn="1")
    other = client_of(run)
    page = reader(other, key)
    assert "rated 1 of 5" in page
    assert 'name="withdraw"' not in page
    assert 'name="withdraw"' in reader(client, key)


def test_held_out_tasks_are_told(client: TestClient, key: str) -> None:
    told = "never becomes training data: its task is held out (split test)"
    assert told in reader(client, key, HELD_OUT)
    assert told not in reader(client, key)


def test_pages_that_are_only_read_have_no_forms(run: Path, client: TestClient, key: str) -> None:
    send(client, key, score="4")
    read_only = client_of(run, read_only=True)
    assert send(read_only, key, score="5").status_code == 405
    page = reader(read_only, key)
    assert "rated 4 of 5" in page
    assert 'method="post"' not in page
    assert len(said(run)) == 1


def test_forms_of_other_sites_save_nothing(run: Path, client: TestClient, key: str) -> None:
    client.headers["origin"] = "http://evil.example"
    assert send(client, key, score="4").status_code == 403
    assert said(run) == []


def test_hostile_texts_are_shown_as_text(run: Path, client: TestClient, key: str) -> None:
    send(client, key, score="4", note=HOSTILE, name="<b>x</b>")
    send(client, key, action=MARKUP, turn="1")
    send(client, key, flag="unsafe", id=hostile_episode().id)
    for page in (reader(client, key), client.get(f"/feedback/{key}").text):
        assert "window.hacked=1" in page
        assert "<script>window" not in page
        assert "<img src=x" not in page
        assert "\u202e" not in page
    assert len(said(run)) == 3


def test_the_list_has_all_opinions_with_counts(client: TestClient, key: str) -> None:
    assert "Nobody has said anything yet" in client.get(f"/feedback/{key}").text
    send(client, key, score="4")
    send(client, key, action="look", turn="2", name="Bob")
    page = client.get(f"/feedback/{key}").text
    for told in ("<strong>2</strong> opinions", "score 1", "correction 1", "human:Anna 1", "human:Bob 1"):
        assert told in page
    assert "#turn-2" in page
    assert "agentevol feedback list" in page
    assert "from 1 rating: kto" in page
    assert "agentevol compare before.jsonl after.jsonl" in page


def test_without_anything_to_learn_from_the_list_says_what_teaches(client: TestClient, key: str) -> None:
    assert "agentevol train" not in client.get(f"/feedback/{key}").text
    send(client, key, flag="broken")
    page = client.get(f"/feedback/{key}").text
    assert "Nothing said so far can be learnt from" in page
    assert "agentevol train" not in page


def test_what_was_saved_leads_to_what_becomes_of_it(client: TestClient, key: str) -> None:
    shown = client.get(send(client, key, score="4").headers["location"]).text
    assert f'<a href="/feedback/{key}">All feedback, and how to learn from it</a>' in shown


def test_the_table_of_feedback_is_no_table_of_episodes(run: Path, client: TestClient, key: str) -> None:
    send(client, key, score="4")
    assert [one.name for one in Library([run.parent]).sources()] == ["first"]


def test_the_filters_of_the_list_stay(client: TestClient, key: str) -> None:
    reply = send(client, key, score="4", back=f"/episodes/{key}/one?id={GROUP}0&purpose=explore&saved=x")
    query = parse_qs(urlsplit(reply.headers["location"]).query)
    assert query["purpose"] == ["explore"]
    assert len(query["saved"]) == 1
    assert query["saved"] != ["x"]


def rate_next(client: TestClient, key: str) -> list[str]:
    """Episodes under the heading “Rate next”."""
    _, _, section = client.get(f"/feedback/{key}").text.partition("Rate next")
    links = re.findall(r'href="([^"]*one[^"]*)"', section.partition("</section>")[0])
    return [parse_qs(urlsplit(html.unescape(link)).query)["id"][0] for link in links]


def test_the_page_says_what_to_rate_next_and_leaves_out_what_this_person_has_rated(
    client: TestClient, key: str
) -> None:
    before = rate_next(client, key)
    assert f"{GROUP}0" in before
    assert HELD_OUT not in before
    send(client, key, score="4")
    assert f"{GROUP}0" not in rate_next(client, key)
    assert rate_next(client, key)


def test_an_episode_whose_outcome_another_person_contradicts_is_rated_next(
    run: Path, client: TestClient, key: str
) -> None:
    outcomes = {t.id: t.total_reward for t in Store(run / "trajectories").trajectories()}
    lost = next(name for name in rate_next(client, key) if outcomes[name] == 0)
    send(client, key, id=lost, score="5", name="Bob")
    send(client, key, score="3", name="Anna")
    assert rate_next(client, key)[0] == lost
    assert "2 opinions, outcome among them, differ by 0.50" in client.get(f"/feedback/{key}").text

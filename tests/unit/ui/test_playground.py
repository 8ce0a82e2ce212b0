"""The playground over ASGI: an episode from the choice of its task to the table, and what can go wrong."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from support.playground import Served, acted, begun, kept, pages, started
from support.tiny_models import write_guess_model
from support.ui import HOSTILE

from agentevol.config.run import TrainConfig, load
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import RunStopped
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.runs.training_data import training_data
from agentevol.ui.playground import playground, servers
from agentevol.ui.playground.table import table_beside
from agentevol.ui.playground.tasks import learnt
from agentgym_envs.core import Observation, StepResult
from agentgym_envs.guess import Guess
from agentgym_store.store import Where

TOOL = {
    "type": "function",
    "function": {
        "name": "guess",
        "description": "Say a number.",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
}


class Choices(Guess):
    """Guess with admissible actions, tools, and hostile text."""

    def reset(self, task: Any, seed: int) -> Observation:
        super().reset(task, seed)
        return self._with_choices(HOSTILE)

    def step(self, action: str) -> StepResult:
        result = super().step(action)
        return result.model_copy(update={"observation": self._with_choices(result.observation.text)})

    def _with_choices(self, text: str) -> Observation:
        return Observation(text=text, actions=("1", "5", f"7\xa0{HOSTILE}"), tools=(TOOL,))


class Broken(Served):
    """A server that does not start."""

    def __enter__(self) -> "Served":
        raise RunStopped(f"the environment server did not start; its last output: no data {HOSTILE}")


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "EnvironmentServer", Served)
    monkeypatch.setattr(Served, "environments", {"guess": Guess})


def test_an_episode_that_a_person_plays_lands_in_the_table(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        assert "guess-5" in started(client)
        address = begun(client, name="Ann \u00e9", seed="7")
        assert "Make a guess." in client.get(address).text
        assert "Go higher than 4." in acted(client, address, 1, action="4")
        over = acted(client, address, 2, action="5")
        assert "Won after 2 turns" in over
        reader = re.search(r'href="(/episodes/[^"]+)"', over)
        assert reader is not None
        assert "Won after 2 turns" in client.get(reader[1].replace("&amp;", "&")).text
        again = re.search(r'href="([^"]+)">Play this task again', over)
        assert again is not None
        tasks = client.get(again[1].replace("&amp;", "&")).text
        assert ("guess-5" in tasks, "guess-1" in tasks) == (True, False)
        assert ">human</a>" in client.get("/").text
        assert 'value="Ann \u00e9"' in started(client)
    (episode,) = kept(tmp_path)
    assert (episode.policy, episode.seed, episode.split) == ("human:Ann \u00e9", 7, "train")
    assert (episode.purpose, episode.ending.kind, episode.total_reward) == ("demonstrate", "terminated", 1.0)
    assert [turn.action for turn in episode.turns] == ["4", "5"]
    assert all(turn.sample is None for turn in episode.turns)
    assert Served.opened[-1].is_closed


def test_a_supervised_update_reads_what_a_person_played(tmp_path: Path) -> None:
    base = write_guess_model(tmp_path / "model")
    with pages(tmp_path / "runs") as client:
        acted(client, begun(client), 1, action="5")
        held_out = begun(client, split="test", index="0")
        assert "training does not read this episode" in acted(client, held_out, 1, action="3")
    config = load(None, ["algorithm=sft", f"base={base}", "select.rule=all"], TrainConfig)
    chosen = objective("sft", config.learn.options)
    renderer = ChatRenderer(load_tokenizer(base), {})
    where = Where(purpose="demonstrate")
    sequences, _ = training_data(tmp_path / "runs" / "human", config, chosen, renderer, where)
    (demonstration,) = kept(tmp_path / "runs", where)
    assert [one.trajectory_id for one in sequences] == [demonstration.id]
    assert demonstration.task_id == "guess-5"
    assert sequences[0].mask.any()
    assert [t.split for t in kept(tmp_path / "runs", Where(purpose="evaluate"))] == ["test"]


def test_giving_up_keeps_the_turns_without_a_return(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        address = begun(client)
        acted(client, address, 1, action="4")
        assert "No return after 1 turn" in client.post(f"{address}/end").text
        assert "No return after 1 turn" in acted(client, address, 2, action="5")  # nothing happens
        assert "No return after 1 turn" in client.post(f"{address}/end").text
    (episode,) = kept(tmp_path)
    assert (episode.ending.kind, episode.total_reward, len(episode.turns)) == ("cancelled", None, 1)


def test_a_person_who_goes_away_cancels_the_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playground.Playground.__init__, "__defaults__", (0.2,))
    with pages(tmp_path) as client:
        address = begun(client)
        while "No return after 0 turns" not in client.get(address).text:
            pass
    assert [t.ending.kind for t in kept(tmp_path)] == ["cancelled"]


def test_the_end_of_the_pages_keeps_what_is_played(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        acted(client, begun(client), 1, action="4")
        begun(client)
    assert sorted((t.ending.kind, len(t.turns)) for t in kept(tmp_path)) == [
        ("cancelled", 0),
        ("cancelled", 1),
    ]


def test_a_form_of_an_earlier_turn_changes_nothing(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        address = begun(client)
        acted(client, address, 1, action="4")
        for turn in ("1", "3", "0"):
            assert "Your action in turn 2" in acted(client, address, int(turn), action="5")
        assert "Your action in turn 2" in client.post(address, data={"action": "5"}).text
        assert "Your action in turn 2" in acted(client, address, 2, choice="1")  # none is admissible
        assert "Won after 2 turns" in acted(client, address, 2, action="5")
    assert [[turn.action for turn in t.turns] for t in kept(tmp_path)] == [["4", "5"]]


def test_a_second_attempt_at_a_task_is_of_the_same_group(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        for _ in range(2):
            acted(client, begun(client), 1, action="5")
    assert sorted((t.task_id, t.attempt) for t in kept(tmp_path)) == [("guess-5", 0), ("guess-5", 1)]
    assert len({t.id for t in kept(tmp_path)}) == 2


def test_a_lost_environment_is_a_failure_and_no_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym_client.retries.RetryRules.pause_s", lambda *_: 0.0)
    with pages(tmp_path) as client:
        address = begun(client)
        acted(client, address, 1, action="4")
        Served.opened[-1].lose()
        assert "No return after 1 turn" in acted(client, address, 2, action="5")
    (episode,) = kept(tmp_path)
    assert (episode.ending.kind, episode.total_reward) == ("failed", None)
    assert getattr(episode.ending, "failure", "") == "transport"


def test_hostile_texts_are_shown_and_the_action_is_sent_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Served, "environments", {"guess": Choices})
    with pages(tmp_path) as client:
        address = begun(client)
        shown = client.get(address).text
        assert "<script>window" not in shown
        assert "&lt;script&gt;" in shown
        assert not set("\x1b\u202e\x00") & set(shown)
        assert "&#34;n&#34;: 0" in shown  # the simplest call of the tool
        told = acted(client, address, 1, action=HOSTILE)
        assert "<script>window" not in told
        assert "Go lower than 7." in acted(client, address, 2, choice="3")
        call = json.dumps({"name": "guess", "arguments": {"n": 5}})
        assert "Won after 3 turns" in acted(client, address, 3, action=call)
    (episode,) = kept(tmp_path)
    assert [turn.action for turn in episode.turns] == [HOSTILE, f"7\xa0{HOSTILE}".strip(), call]


@pytest.mark.parametrize(
    ("path", "fields", "status", "told"),
    [
        ("/play/environments", {"env": "gues"}, 404, "There is no environment gues."),
        ("/play/environments", {}, 400, "This form has no env."),
        ("/play", {"env": "guess"}, 400, "This form has no split."),
        ("/play", {"env": "guess", "split": "no"}, 404, "guess has no split no"),
        ("/play", {"env": "guess", "split": "train", "index": "4"}, 404, "none at place 4"),
        ("/play", {"env": "guess", "split": "train", "index": "-1"}, 400, "index is a whole number"),
        ("/play", {"env": "guess", "split": "train", "seed": "9" * 30}, 400, "seed is a whole number"),
        ("/play", {"env": "guess", "split": "train", "name": "x" * 201}, 400, "A name has 1 to 200"),
        ("/play", {"env": "guess", "split": "train", "name": "a\x1bb"}, 400, "A name has 1 to 200"),
        ("/play/none", {"turn": "1", "action": "5"}, 404, "This episode is not played here"),
        ("/play/none/end", {}, 404, "This episode is not played here"),
    ],
)
def test_what_is_not_there_is_a_page(
    tmp_path: Path, path: str, fields: dict[str, str], status: int, told: str
) -> None:
    with pages(tmp_path) as client:
        reply = client.post(path, data=fields, headers={"content-type": "application/x-www-form-urlencoded"})
    assert (reply.status_code, told in reply.text) == (status, True), reply.text
    assert not (tmp_path / "human").exists()


def test_an_action_that_is_too_long_is_refused_and_the_episode_goes_on(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        address = begun(client)
        assert "65,537 characters" in acted(client, address, 1, action="x" * 65_537)
        assert "Your action in turn 2" in acted(client, address, 1, action="x" * 65_536)


def test_a_server_that_does_not_start_tells_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "EnvironmentServer", Broken)
    with pages(tmp_path) as client:
        page = started(client)
        assert "its last output: no data &lt;/pre&gt;" in page
        assert "Start guess again" in page
        begun = client.post("/play", data={"env": "guess", "split": "train"})
        assert (begun.status_code, "guess cannot be played" in begun.text) == (400, True)


def test_an_environment_that_lacks_a_package_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("servers", "view"):
        monkeypatch.setattr(
            f"agentevol.ui.playground.{module}.lacking", lambda name: "pets: pip install pets"
        )
    with pages(tmp_path) as client:
        assert "It needs pets: pip install pets" in client.get("/play").text
        assert client.post("/play/environments", data={"env": "guess"}).status_code == 400


def test_so_many_can_play_at_one_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playground, "MOST_PLAYS", 2)
    with pages(tmp_path) as client:
        first, _ = begun(client), begun(client)
        more = {"env": "guess", "split": "train"}
        assert client.post("/play", data=more).status_code == 503
        client.post(f"{first}/end")
        assert client.post("/play", data=more).status_code == 200


def test_an_idle_server_is_stopped_and_a_used_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers.Servers.__init__, "__defaults__", (0.05,))
    with pages(tmp_path) as client:
        started(client)
        address = begun(client)
        used = Served.opened[-1]
        threading.Event().wait(0.2)
        assert not used.is_closed
        client.post(f"{address}/end")
        while not used.is_closed:
            pass
        assert "Its server does not run yet" in client.get("/play", params={"env": "guess"}).text


def test_pages_that_are_only_read_offer_no_form(tmp_path: Path) -> None:
    with pages(tmp_path, read_only=True) as client:
        page = client.get("/play", params={"env": "guess"}).text
        assert "--read-only" in page, page
        assert "<button name=" not in page
        assert client.post("/play/environments", data={"env": "guess"}).status_code == 405


def test_a_table_that_cannot_be_written_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "human").write_text("a file in its way")
    with pages(tmp_path) as client:
        address = begun(client)
        assert "It could not be kept" in acted(client, address, 1, action="5")
        (tmp_path / "human").unlink()
        assert "Kept in" in client.post(f"{address}/keep").text
        assert "Kept in" in client.post(f"{address}/keep").text
    assert [t.total_reward for t in kept(tmp_path)] == [1.0]


def test_tasks_are_found_by_their_words(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        started(client)
        found = client.get("/play", params={"env": "guess", "split": "valid", "q": "GUESS-8"}).text
        assert ("guess-8" in found, "guess-4" in found) == (True, False)
        assert "This split is held out" in found
        none = client.get("/play", params={"env": "guess", "q": HOSTILE}).text
        assert "No task of train contains" in none


def test_the_table_lies_beside_the_runs(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").touch()
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    run, table = tmp_path / "run", tmp_path / "table"
    assert table_beside([tmp_path]) == tmp_path / "human"
    assert table_beside([run]) == tmp_path / "human"
    assert table_beside([run, table]) == table
    assert table_beside([table, tmp_path]) == tmp_path / "human"
    assert table_beside(["s3://bucket/table"]) == "s3://bucket/table"
    assert table_beside([tmp_path / "none"]) == tmp_path / "none" / "human"


def test_what_a_run_holds_out_is_not_learnt() -> None:
    assert learnt({"train": 3, "valid": 3, "test": 3}, "train") == range(3)
    assert not learnt({"train": 3, "valid": 3, "test": 3}, "test")
    assert not learnt({"train": 3, "other": 3}, "other")
    assert list(learnt({"train": 20}, "train")) == [n for n in range(20) if n not in (0, 8, 11, 19)]
    assert list(learnt({"only": 20, "valid": 1}, "only")) == [n for n in range(20) if n not in (8, 19)]

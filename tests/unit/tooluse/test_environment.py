"""Episodes of an environment of tools."""

import json

from agentgym_envs.core import StepResult
from agentgym_envs.testing import check_environment
from tests.support.notes import Notes, call

ADD = Notes().task("notes-0")
COUNT = Notes().task("notes-1")


def answer(result: StepResult) -> object:
    """The observation as JSON."""
    return json.loads(result.observation.text)


def test_it_keeps_the_contract_of_environments() -> None:
    report = check_environment(Notes)
    assert report.passed, report.lines()


def test_the_reward_comes_with_the_control_tool_and_once() -> None:
    notes = Notes()
    assert notes.reset(ADD, 0).tools == Notes.toolset.functions
    assert notes.step(call("add_note", text="buy 0")).reward == 0
    ended = notes.step(call("submit"))
    assert (ended.reward, ended.terminated, ended.info) == (1, True, {"outcome": "success"})
    again = notes.step(call("submit"))
    assert (again.reward, again.terminated) == (0, True)
    assert answer(again) == {
        "error": {
            "code": "episode_done",
            "message": "the episode is over",
            "argument": None,
            "expected": None,
        }
    }


def test_errors_are_observations_and_change_nothing() -> None:
    notes = Notes()
    notes.reset(ADD, 0)
    before = notes.net_change()
    unknown = notes.step(call("reset"))
    assert answer(unknown) == {
        "error": {
            "code": "unknown_tool",
            "message": "there is no tool 'reset'; there are: list_notes, count_notes, add_note, submit",
            "argument": None,
            "expected": ["list_notes", "count_notes", "add_note", "submit"],
        }
    }
    assert unknown.info == {"invalid_action": True}
    assert notes.step(call("add_note", text=1)).info == {"invalid_action": True}
    assert notes.step("hello").info == {"invalid_action": True}
    refused = notes.step(call("add_note", text=""))
    assert refused.info == {}  # the tool ran, and said no
    assert answer(refused)["error"]["code"] == "tool_error"  # pyright: ignore
    assert notes.net_change() == before


def test_calls_of_one_message_are_executed_in_order_and_end_with_the_episode() -> None:
    notes = Notes()
    notes.reset(ADD, 0)
    calls = ("add_note", {"text": "buy 0"}), ("submit", {}), ("add_note", {"text": "more"})
    ended = notes.step(json.dumps([{"name": name, "arguments": given} for name, given in calls]))
    added, submitted, late = answer(ended)  # pyright: ignore
    assert (added, submitted, late["error"]["code"]) == ("added", "submitted", "episode_done")
    assert (ended.reward, ended.terminated) == (1, True)


def test_several_calls_are_refused_where_one_is_allowed() -> None:
    class One(Notes):
        parallel_calls = False

    notes = One()
    notes.reset(ADD, 0)
    assert notes.step('[{"name": "count_notes"}, {"name": "submit"}]').info == {"invalid_action": True}
    assert not notes.over


def test_texts_of_xml_are_read_by_the_schema() -> None:
    notes = Notes()
    notes.reset(COUNT, 0)
    xml = "<tool_call><function={}><parameter={}>{}</parameter></function></tool_call>"
    assert answer(notes.step(xml.format("add_note", "text", "12"))) == "added"
    assert notes.state["notes"][-1] == "12"
    assert answer(notes.step(xml.format("list_notes", "limit", "1"))) == ["note 0"]
    assert answer(notes.step(xml.format("submit", "answer", "21"))) == "submitted"
    assert notes.state["answer"] == 21


def test_the_last_turn_without_an_end_is_a_budget() -> None:
    notes = Notes()
    notes.reset(ADD, 0)
    results = [notes.step(call("add_note", text="buy 0")) for _ in range(Notes.max_turns)]
    assert [result.truncated for result in results] == [False] * 7 + [True]
    assert (results[-1].reward, results[-1].info) == (0, {"outcome": "budget"})

"""Records of each foreign format, literally."""

from typing import Any

import pytest

from agentgym_envs.tools import HEADING
from agentgym_store.imports import Draft, DraftTurn, Refusal, importer
from agentgym_store.records import Terminated, Truncated

DEEP = "[" * 100_000
"""JSON in which no parser finds an end."""


def draft(name: str, record: Any) -> Draft:
    found = importer(name).episode(record)
    assert isinstance(found, Draft)
    assert importer(name).recognises(record)
    return found


def refusal(name: str, record: Any) -> str:
    with pytest.raises(Refusal) as error:
        importer(name).episode(record)
    return error.value.reason


def human(value: str) -> dict[str, Any]:
    return {"from": "human", "loss": None, "value": value}


def gpt(value: str, loss: bool | None = True) -> dict[str, Any]:
    return {"from": "gpt", "loss": loss, "value": value}


def test_agent_traj_names_environment_and_task_and_drops_the_opening_exchange() -> None:
    said = [
        human("You shop."),
        gpt("Ok.", loss=False),
        human("WebShop"),
        gpt("search[x]"),
        human("Page 1"),
        gpt("b"),
    ]
    assert draft("agenttraj", {"item_id": "webshop_6", "conversations": said}) == Draft(
        opening="WebShop",
        turns=(DraftTurn("search[x]", "Page 1"), DraftTurn("b")),
        id="webshop_6",
        env="webshop",
        task_id="webshop_6",
        notes=("with an opening exchange, which is left out",),
    )


@pytest.mark.parametrize(
    ("name", "env"),
    [
        ({"item_id": "webshop_6"}, "webshop"),
        ({"item_id": "lmrlgym_maze_0"}, "lmrlgym_maze"),
        ({"id": "alfworld_3"}, "alfworld"),
        ({"item_id": "look_at_obj_in_light-Mug-None-DeskLamp-301/trial_T20190907_12"}, None),
        ({}, None),
    ],
)
def test_the_name_of_a_record_names_its_environment_only_before_a_number(
    name: dict[str, str], env: str | None
) -> None:
    found = draft("agenttraj", {**name, "conversations": [human("a"), gpt("x")]})
    assert found.env == env
    assert found.task_id == next(iter(name.values()), None)


def test_agent_traj_marks_messages_that_are_not_learnt_and_may_tell_the_reward() -> None:
    said = [human("a"), gpt("x"), human("b"), gpt("y", loss=False), human("c"), gpt("z", loss=None)]
    found = draft("agenttraj", {"item_id": "sciworld_3", "conversations": said, "reward": 0.25})
    assert [turn.is_learnt for turn in found.turns] == [True, False, True]
    assert (found.reward, found.notes) == (0.25, ())


def test_the_first_message_of_a_row_of_this_package_is_kept_though_it_is_not_learnt() -> None:
    said = [human("a"), gpt("given", loss=False), human("b"), gpt("own")]
    meta = {
        "env": "guess",
        "task_id": "t",
        "given_turns": 1,
        "outcome": "truncated",
        "total_reward": 0.0,
        "seed": 7,
    }
    found = draft("agenttraj", {"item_id": "guess_0", "conversations": said, "meta": meta})
    assert [turn.message for turn in found.turns] == ["given", "own"]
    assert (found.given_turns, found.task_id, found.seed) == (1, "t", 7)
    assert (found.ending, found.reward) == (Truncated(limit="unknown"), 0.0)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"item_id": "a_1", "conversations": None}, "without a conversation (evaluation tasks)"),
        ({"item_id": "a_1", "conversations": []}, "without a message of the agent"),
        ({"item_id": "a_1", "conversations": [human("a")]}, "without a message of the agent"),
        ({"item_id": "a_1", "conversations": [gpt("a")]}, "begins with a message of the agent"),
        ({"item_id": "a_1", "conversations": [{"from": "bard", "value": "a"}]}, "unknown speaker"),
        ({"item_id": "a_1", "conversations": [{"from": "gpt"}]}, "conversations.N.value: Field required"),
        (
            {"item_id": "a_1", "conversations": [human("a"), gpt("b")], "reward": "high"},
            "a reward that is not a finite number",
        ),
    ],
)
def test_a_row_of_agent_traj_that_is_no_episode_is_refused_with_a_reason(record: Any, reason: str) -> None:
    assert refusal("agenttraj", record) == reason


def test_sharegpt_has_system_tools_calls_and_observations() -> None:
    record = {
        "id": 5,
        "system": "You help.",
        "tools": '[{"name": "f"}]',
        "conversations": [
            {"from": "human", "value": "hi"},
            {"from": "function_call", "value": '{"name": "f", "arguments": {}}'},
            {"from": "observation", "value": "42"},
            {"from": "gpt", "value": "It is 42."},
        ],
    }
    found = draft("sharegpt", record)
    assert found.opening == 'You help.\n\n[{"name": "f"}]\n\nhi'
    assert found.turns == (DraftTurn('{"name": "f", "arguments": {}}', "42"), DraftTurn("It is 42."))
    assert (found.id, found.task_id, found.reward) == ("5", "5", None)


TOOL = {
    "type": "function",
    "function": {"name": "add", "description": "Add.", "parameters": {"type": "object"}},
}


def called(arguments: Any, content: str | None = None, **more: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": arguments}}
    return {"role": "assistant", "content": content, "tool_calls": [call], **more}


def test_openai_logs_become_calls_that_environments_of_tools_read() -> None:
    record = {
        "messages": [
            {"role": "developer", "content": "Use tools."},
            {"role": "user", "content": [{"type": "text", "text": "1 + 2?"}]},
            called('{"a": 1, "b": 2}'),
            {"role": "tool", "tool_call_id": "c1", "content": "3"},
            {"role": "assistant", "content": "3."},
        ],
        "tools": [TOOL],
        "reward": 1,
    }
    found = draft("openai", record)
    assert found.opening.startswith(f"Use tools.\n\n1 + 2?\n\n{HEADING}\n")
    assert found.turns == (DraftTurn('{"name": "add", "arguments": {"a": 1, "b": 2}}', "3"), DraftTurn("3."))
    assert found.reward == 1.0


def test_what_is_said_beside_a_call_is_a_thought_and_several_calls_are_one_action() -> None:
    two = called("{}", "Both.")
    two["tool_calls"] = two["tool_calls"] * 2
    messages = [
        {"role": "user", "content": "go"},
        called({"a": 1}, "First.", reasoning_content="Hm."),
        {"role": "tool", "content": "x"},
        {"role": "tool", "content": "y"},
        two,
    ]
    found = draft("openai", {"messages": messages})
    assert found.turns == (
        DraftTurn('<think>Hm.\n\nFirst.</think>{"name": "add", "arguments": {"a": 1}}', "x\n\ny"),
        DraftTurn(
            '<think>Both.</think>[{"name": "add", "arguments": {}}, {"name": "add", "arguments": {}}]', ""
        ),
    )


def test_a_request_with_its_response_is_one_log() -> None:
    record = {
        "id": "r1",
        "request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": "hello"}}]},
    }
    found = draft("openai", record)
    assert (found.id, found.opening, found.turns) == ("r1", "hi", (DraftTurn("hello"),))


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([{"role": "user", "content": "a"}, called("{1")], "arguments of a call that are not a JSON object"),
        ([{"role": "user", "content": "a"}, called("[1]")], "arguments of a call that are not a JSON object"),
        ([{"role": "user", "content": "a"}, called(DEEP)], "arguments of a call that are not a JSON object"),
        (
            [{"role": "user", "content": "a"}, called('{"n": NaN}')],
            "arguments of a call that are not a JSON object",
        ),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "content that is not text"),
        ([{"role": "judge", "content": "a"}], "unknown speaker"),
        ("hello", "messages: Input should be a valid list"),
    ],
)
def test_a_log_that_is_no_episode_is_refused_with_a_reason(messages: Any, reason: str) -> None:
    assert refusal("openai", {"messages": messages}) == reason


@pytest.mark.parametrize("tools", ["nope", DEEP, "[1]", '{"a": 1}', [{"x": 1}], [{"function": {}}], 7])
def test_a_log_with_other_tools_is_refused(tools: Any) -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    found = refusal("openai", {"messages": messages, "tools": tools})
    assert found == "tools that are not a list of functions with a name"


def test_rows_of_trl_with_prompt_and_completion_are_no_logs() -> None:
    assert not importer("openai").recognises({"prompt": [], "completion": []})


def test_react_steps_begin_with_reset_and_may_have_thoughts() -> None:
    record = {
        "id": "fixed_0",
        "reward": 0.5,
        "steps": [
            {"action": "reset", "observation": "WebShop"},
            {"action": "think[hm]", "observation": "OK."},
            {"thought": "I buy.", "action": "click[Buy Now]", "observation": ""},
        ],
    }
    found = draft("react", record)
    assert found.opening == "WebShop"
    assert found.turns == (
        DraftTurn("think[hm]", "OK."),
        DraftTurn("Thought:\nI buy.\n\nAction:\nclick[Buy Now]", ""),
    )
    assert (found.id, found.task_id, found.reward) == ("fixed_0", "fixed_0", 0.5)


TRANSCRIPT = """Find a mug.

Thought 1: I look
around.
Act 1: look
Obs 1: a mug
and a spoon
Action: take mug
Observation: taken
Reward: 1
"""


def test_a_transcript_has_labels_that_may_be_numbered_and_shortened() -> None:
    found = draft("react", TRANSCRIPT)
    assert found.opening == "Find a mug."
    assert found.turns == (
        DraftTurn("Thought:\nI look\naround.\n\nAction:\nlook", "a mug\nand a spoon"),
        DraftTurn("take mug", "taken"),
    )
    assert found.reward == 1.0


def test_a_text_may_hold_several_transcripts(tmp_path: Any) -> None:
    (tmp_path / "t.txt").write_text(f"{TRANSCRIPT}\n-----\nObservation: a door\nAction: open\n===\nnothing\n")
    found = list(importer("react").episodes(tmp_path / "t.txt"))
    assert [place for place, _ in found] == [f"t.txt, transcript {number}" for number in (1, 2, 3)]
    (_, second), (_, third) = found[1:]
    assert isinstance(second, Draft)
    assert (second.opening, second.turns) == ("a door", (DraftTurn("open"),))
    assert isinstance(third, Refusal)
    assert third.reason == "without a message of the agent"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"steps": []}, "without a first observation"),
        ({"steps": [{"action": "look", "observation": "x"}]}, "without a first observation"),
        ({"steps": [{"action": "reset", "observation": "x"}]}, "without a message of the agent"),
        ({"steps": [{"observation": "x"}]}, "steps.N.action: Field required"),
        ({"steps": [{"action": "a", "reward": 1e999}]}, "steps.N.reward: Input should be a finite number"),
        (None, "not a JSON object"),
        ("Action: look\nReward: much", "a reward that is not a finite number"),
        ("Action: look\nReward: nan", "a reward that is not a finite number"),
        ("Action: look", "without a first observation"),
    ],
)
def test_a_transcript_that_is_no_episode_is_refused_with_a_reason(record: Any, reason: str) -> None:
    assert refusal("react", record) == reason


def event(page: str, path: str, content: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    goal = {"asin": "B1", "instruction_text": "buy red shoes", "price_upper": 40.0}
    return {"page": page, "url": f"http://shop:3000/{path}", "goal": goal, "content": content or {}, **more}


def results(words: list[str], page: int = 1) -> dict[str, Any]:
    content = {"keywords": words, "search_result_asins": ["B1", "B2"], "page": page}
    return event("search_results", f"search_results/s1/x/{page}", content)


def item(options: dict[str, str], asin: str = "B1", part: str = "") -> dict[str, Any]:
    content = {"keywords": "['red', 'shoes']", "page": "1", "asin": asin, "options": options}
    if part:
        return event("item_sub_page", f"item_sub_page/s1/{asin}/x/1/{part}/%7B%7D", content)
    return event("item_page", f"item_page/s1/{asin}/x/1/%7B%7D", content)


INDEX = event("index", "s1")
DONE = event(
    "done", "done/s1/B1/%7B%7D", {"asin": "B1", "options": {}}, reward=0.5, reward_info={"r_att": 0.5}
)


def test_a_session_of_webshop_becomes_the_actions_between_its_pages() -> None:
    pages = [
        INDEX,
        results(["red"]),
        INDEX,
        results(["red", "shoes"]),
        results(["red", "shoes"], 2),
        results(["red", "shoes"], 1),
        item({}),
        item({}, part="Features"),
        item({}),
        item({"size": "8", "color": "red"}),
        results(["red", "shoes"]),
        item({}, "B2"),
        DONE,
    ]
    found = importer("webshop").episode(pages)
    assert isinstance(found, Draft)
    assert [turn.message for turn in found.turns] == [
        "search[red]",
        "click[back to search]",
        "search[red shoes]",
        "click[next >]",
        "click[< prev]",
        "click[b1]",
        "click[features]",
        "click[< prev]",
        "click[8]",
        "click[red]",
        "click[< prev]",
        "click[b2]",
        "click[buy now]",
    ]
    assert [turn.reward for turn in found.turns] == [*[0.0] * 12, 0.5]
    assert found.turns[-1].info == {"reward_parts": {"r_att": 0.5}}
    assert found.turns[0].observation == (
        "Instruction: [SEP] buy red shoes [SEP] Back to Search [SEP] Page 1 [SEP] Next > [SEP] B1 [SEP] B2"
    )
    assert (found.env, found.task_id, found.policy, found.reward) == ("webshop", "s1", "human", 0.5)
    assert (found.ending, found.instruction) == (Terminated(), "buy red shoes")


def test_a_page_that_was_loaded_again_is_no_action_and_an_unfinished_session_is_truncated() -> None:
    found = importer("webshop").episode([INDEX, INDEX, results(["red"]), results(["red"])])
    assert isinstance(found, Draft)
    assert [turn.message for turn in found.turns] == ["search[red]"]
    assert (found.ending, found.reward) == (Truncated(limit="session-end"), 0.0)
    assert "with a page that was loaded again, which is left out" in found.notes


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ([INDEX], "without a message of the agent"),
        ([results(["red"]), DONE], "without a message of the agent"),
        ([INDEX, item({}), DONE], "a page that no action leads to from the one before"),
        (
            [INDEX, results(["a"]), results(["a"], 4), DONE],
            "a page that no action leads to from the one before",
        ),
        ([INDEX, results(["a"]), {**DONE, "reward": None}], "a purchase without a reward"),
    ],
)
def test_a_session_with_a_gap_is_refused_with_a_reason(pages: Any, reason: str) -> None:
    assert refusal("webshop", pages) == reason

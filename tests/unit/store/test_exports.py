"""Episodes as JSON Lines, AgentTraj and TRL data sets."""

import json
import math

import pytest
from support.trajectories import trajectory

from agentgym_store.errors import StoreError
from agentgym_store.exports import agent_traj, conversational_sft, export_agent_traj, export_sft
from agentgym_store.jsonl import export_jsonl, import_jsonl
from agentgym_store.records import (
    Cancelled,
    Failed,
    Sample,
    Truncated,
    Turn,
)

THOUGHT = Sample(
    text="Thought: mug?\nAction: look", prompt_ids=(1, 2), token_ids=(3,), logprobs=(-0.5,), policy_version=4
)
TURNS = (
    Turn(action="look", observation="a mug", reward=0.0, sample=THOUGHT),
    Turn(action="take mug", observation="taken", reward=1.0),
)
EPISODE = trajectory(
    id="a/1/train-7/0",
    run="a",
    env="alfworld",
    env_version="1.0.0",
    data_version="builtin:1.0.0",
    task_id="train-7",
    instruction="find a mug.",
    seed=7,
    policy="checkpoint-4",
    initial_observation="You are in a room.",
    turns=TURNS,
    started_at="2025-01-01T00:00:00Z",
    wall_s=0.5,
)
META = {
    "session_id": "a/1/train-7/0",
    "env": "alfworld",
    "env_version": "1.0.0",
    "data_version": "builtin:1.0.0",
    "task_id": "train-7",
    "seed": 7,
    "policy_version": 4,
    "outcome": "terminated",
    "total_reward": 1.0,
    "given_turns": 0,
}
UNSCORED = [
    EPISODE.model_copy(update={"id": "failed", "ending": Failed(failure="worker-lost")}),
    EPISODE.model_copy(update={"id": "cancelled", "ending": Cancelled()}),
    EPISODE.model_copy(update={"id": "idle", "turns": ()}),
]


def test_agent_traj_has_the_agents_words_as_what_is_learnt():
    assert list(agent_traj([EPISODE])) == [
        {
            "item_id": "alfworld_0",
            "conversations": [
                {"from": "human", "loss": None, "value": "find a mug.\n\nYou are in a room."},
                {"from": "gpt", "loss": True, "value": "Thought: mug?\nAction: look"},
                {"from": "human", "loss": None, "value": "a mug"},
                {"from": "gpt", "loss": True, "value": "take mug"},
            ],
            "reward": 1.0,
            "success": True,
            "meta": META,
        }
    ]


def test_the_acknowledgement_of_an_opening_is_not_learnt():
    row = next(agent_traj([EPISODE], opening=("You are a robot.", "Ok."), meta=False))
    assert row["conversations"][:3] == [
        {"from": "human", "loss": None, "value": "You are a robot."},
        {"from": "gpt", "loss": False, "value": "Ok."},
        {"from": "human", "loss": None, "value": "You are in a room."},
    ]
    assert "meta" not in row


def test_a_turn_of_which_nothing_may_be_learnt_is_marked_so():
    def masked(*mask: int) -> Turn:
        ids = {"prompt_ids": (1,), "token_ids": (2, 3), "logprobs": (-1.0, -1.0)}
        said = Sample(text="ok", **ids, policy_version=0, loss_mask=mask)
        return Turn(action="ok", observation="", reward=0.0, sample=said)

    row = next(agent_traj([EPISODE.model_copy(update={"turns": (masked(0, 0), masked(0, 1))})]))
    assert [said["loss"] for said in row["conversations"][1::2]] == [False, True]


def test_rows_are_numbered_for_each_environment():
    others = [EPISODE.model_copy(update={"env": "webshop"}), EPISODE]
    assert [row["item_id"] for row in agent_traj([EPISODE, *others])] == [
        "alfworld_0",
        "webshop_0",
        "alfworld_1",
    ]


def test_conversational_sft_alternates_user_and_assistant():
    assert list(conversational_sft([EPISODE])) == [
        {
            "messages": [
                {"role": "user", "content": "find a mug.\n\nYou are in a room."},
                {"role": "assistant", "content": "Thought: mug?\nAction: look"},
                {"role": "user", "content": "a mug"},
                {"role": "assistant", "content": "take mug"},
            ],
            "meta": META,
        }
    ]


def test_an_instruction_that_the_room_text_holds_is_not_said_twice():
    episode = EPISODE.model_copy(update={"initial_observation": "A room. Your task is to: find a mug."})
    row = next(conversational_sft([episode]))
    assert row["messages"][0]["content"] == "A room. Your task is to: find a mug."


@pytest.mark.parametrize("rows", [agent_traj, conversational_sft])
def test_what_has_no_return_is_in_no_training_set(rows):
    lost = EPISODE.model_copy(update={"ending": Truncated(limit="max_turns"), "turns": TURNS[:1]})
    kept = [row["meta"]["outcome"] for row in rows([*UNSCORED, lost, EPISODE])]
    assert kept == ["truncated", "terminated"]


def test_the_agent_traj_file_is_one_array(tmp_path):
    assert export_agent_traj([EPISODE, *UNSCORED, EPISODE], tmp_path / "out.json") == 2
    assert json.loads((tmp_path / "out.json").read_text()) == list(agent_traj([EPISODE, EPISODE]))
    assert export_agent_traj([], tmp_path / "none.json") == 0
    assert json.loads((tmp_path / "none.json").read_text()) == []


def test_the_sft_file_has_a_row_per_line_even_with_odd_line_breaks(tmp_path):
    odd = EPISODE.model_copy(update={"initial_observation": "a\u2028b\r\nc\x85"})
    assert export_sft([odd, EPISODE], tmp_path / "out.jsonl") == 2
    lines = (tmp_path / "out.jsonl").read_bytes().removesuffix(b"\n").split(b"\n")
    assert [json.loads(line) for line in lines] == list(conversational_sft([odd, EPISODE]))


def test_json_lines_keep_everything(tmp_path):
    episodes = [EPISODE, *UNSCORED]
    assert export_jsonl(episodes, tmp_path / "out.jsonl") == 4
    assert list(import_jsonl(tmp_path / "out.jsonl")) == episodes


def test_json_lines_name_the_line_that_is_wrong(tmp_path):
    good = EPISODE.model_dump_json()
    (tmp_path / "in.jsonl").write_text(f"{good}\n\n{good.replace('logprobs', 'lugprobs')}\n")
    read = import_jsonl(tmp_path / "in.jsonl")
    assert next(read) == EPISODE
    with pytest.raises(StoreError, match=r"in\.jsonl, line 3: turns\.0\.sample\.logprobs: Field required"):
        next(read)


def test_a_file_that_is_no_json_lines_is_one_line(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b"\x00\xff\xfe")
    with pytest.raises(StoreError, match=r"in\.jsonl, line 1") as error:
        list(import_jsonl(tmp_path / "in.jsonl"))
    assert "\n" not in str(error.value)
    with pytest.raises(StoreError, match="cannot read"):
        list(import_jsonl(tmp_path / "missing.jsonl"))


def test_a_line_that_is_too_long_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("agentgym_store.jsonl.LINE_LIMIT", 100)
    (tmp_path / "in.jsonl").write_text("x" * 101)
    with pytest.raises(StoreError, match="line 1: longer than 100 bytes"):
        list(import_jsonl(tmp_path / "in.jsonl"))


@pytest.mark.parametrize("export", [export_jsonl, export_agent_traj, export_sft])
def test_an_export_that_breaks_leaves_the_earlier_file_alone(tmp_path, export):
    def broken():
        yield EPISODE
        raise StoreError("the table broke")

    export([EPISODE], tmp_path / "out")
    before = (tmp_path / "out").read_bytes()
    with pytest.raises(StoreError, match="the table broke"):
        export(broken(), tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == before


def test_an_export_into_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(StoreError, match=r"cannot write .*No such file or directory"):
        export_jsonl([EPISODE], tmp_path / "missing" / "out.jsonl")


def test_a_number_that_json_cannot_hold_is_refused_and_not_made_null(tmp_path):
    nowhere = Turn(action="a", observation="o", reward=math.nan)
    broken = EPISODE.model_copy(update={"turns": (nowhere,)})
    for export in (export_jsonl, export_agent_traj, export_sft):
        with pytest.raises(StoreError):
            export([broken], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_exports_read_no_further_than_they_have_to():
    def endless():
        while True:
            yield EPISODE

    assert next(agent_traj(endless()))["item_id"] == "alfworld_0"
    assert next(conversational_sft(endless()))["meta"] == META


def test_given_turns_are_context_in_agent_traj_and_counted_in_the_meta_data():
    resumed = EPISODE.model_copy(update={"given_turns": 1})
    row = next(agent_traj([resumed]))
    assert [said["loss"] for said in row["conversations"] if said["from"] == "gpt"] == [False, True]
    assert row["meta"]["given_turns"] == next(conversational_sft([resumed]))["meta"]["given_turns"] == 1
    assert [said["loss"] for said in next(agent_traj([EPISODE]))["conversations"][1::2]] == [True, True]

"""Rows of each export format, literally."""

import math
from typing import Any

import pytest
from support.exports import rows
from support.trajectories import trajectory

from agentgym_store.errors import StoreError
from agentgym_store.exports import Tally
from agentgym_store.jsonl import export_jsonl, import_jsonl
from agentgym_store.records import (
    LEARNT,
    MESSAGE,
    Cancelled,
    Failed,
    Sample,
    Terminated,
    Trajectory,
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
    kind="pick",
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
    "split": "train",
    "kind": "pick",
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
    assert rows("agenttraj", [EPISODE]) == [
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
    row = rows("agenttraj", [EPISODE], opening=("You are a robot.", "Ok."), meta=False)[0]
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

    row = rows("agenttraj", [EPISODE.model_copy(update={"turns": (masked(0, 0), masked(0, 1))})])[0]
    assert [said["loss"] for said in row["conversations"][1::2]] == [False, True]


def test_rows_are_numbered_for_each_environment():
    others = [EPISODE.model_copy(update={"env": "webshop"}), EPISODE]
    assert [row["item_id"] for row in rows("agenttraj", [EPISODE, *others])] == [
        "alfworld_0",
        "webshop_0",
        "alfworld_1",
    ]


def test_conversational_sft_alternates_user_and_assistant():
    assert rows("sft", [EPISODE]) == [
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
    row = rows("sft", [episode])[0]
    assert row["messages"][0]["content"] == "A room. Your task is to: find a mug."


@pytest.mark.parametrize("name", ["agenttraj", "sharegpt", "sft"])
def test_what_has_no_return_is_in_no_training_set(name: str):
    lost = EPISODE.model_copy(update={"ending": Truncated(limit="max_turns"), "turns": TURNS[:1]})
    tally = Tally()
    kept = [row["meta"]["outcome"] for row in rows(name, [*UNSCORED, lost, EPISODE], tally)]
    assert kept == ["truncated", "terminated"]
    assert +tally.left_out == {
        "failed: no return": 1,
        "cancelled: no return": 1,
        "without a turn": 1,
    }


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


def test_an_export_that_breaks_leaves_the_earlier_file_alone(tmp_path):
    def broken():
        yield EPISODE
        raise StoreError("the table broke")

    export_jsonl([EPISODE], tmp_path / "out")
    before = (tmp_path / "out").read_bytes()
    with pytest.raises(StoreError, match="the table broke"):
        export_jsonl(broken(), tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == before


def test_an_export_into_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(StoreError, match=r"cannot write .*No such file or directory"):
        export_jsonl([EPISODE], tmp_path / "missing" / "out.jsonl")


def test_a_number_that_json_cannot_hold_is_refused_and_not_made_null(tmp_path):
    nowhere = Turn(action="a", observation="o", reward=math.nan)
    broken = EPISODE.model_copy(update={"turns": (nowhere,)})
    with pytest.raises(StoreError):
        export_jsonl([broken], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_given_turns_are_context_in_agent_traj_and_counted_in_the_meta_data():
    resumed = EPISODE.model_copy(update={"given_turns": 1})
    (row,) = rows("agenttraj", [resumed])
    assert [said["loss"] for said in row["conversations"] if said["from"] == "gpt"] == [False, True]
    assert row["meta"]["given_turns"] == rows("sft", [resumed])[0]["meta"]["given_turns"] == 1
    assert [said["loss"] for said in rows("agenttraj", [EPISODE])[0]["conversations"][1::2]] == [True, True]


def said(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


FIRST = said("user", "find a mug.\n\nYou are in a room.")
ANSWER = said("assistant", "Thought: mug?\nAction: look")
SECOND = [FIRST, ANSWER, said("user", "a mug")]


def test_sharegpt_has_speakers_and_values():
    assert rows("sharegpt", [EPISODE], meta=False) == [
        {
            "id": "a/1/train-7/0",
            "conversations": [
                {"from": "human", "value": "find a mug.\n\nYou are in a room."},
                {"from": "gpt", "value": "Thought: mug?\nAction: look"},
                {"from": "human", "value": "a mug"},
                {"from": "gpt", "value": "take mug"},
            ],
            "reward": 1.0,
        }
    ]


def test_a_row_for_each_turn_has_what_came_before_as_its_prompt():
    assert rows("sft", [EPISODE], rows="turn", meta=False) == [
        {"prompt": [FIRST], "completion": [ANSWER]},
        {"prompt": SECOND, "completion": [said("assistant", "take mug")]},
    ]


def test_turns_that_are_not_learnt_are_in_no_row_of_turns_but_in_prompts():
    resumed, tally = EPISODE.model_copy(update={"given_turns": 1}), Tally()
    masked = EPISODE.model_copy(update={"given_turns": 2})
    assert rows("sft", [resumed, masked], tally, rows="turn", meta=False) == [
        {"prompt": SECOND, "completion": [said("assistant", "take mug")]}
    ]
    assert tally.left_out["without a turn to learn from"] == 1


def test_a_recorded_message_is_told_instead_of_its_action_and_may_be_marked_as_not_learnt():
    turns = (
        Turn(action="look", observation="a mug", reward=0.0, info={MESSAGE: "Hm.\n\nlook", LEARNT: False}),
        Turn(action="take mug", observation="taken", reward=1.0),
    )
    (row,) = rows("agenttraj", [EPISODE.model_copy(update={"turns": turns})])
    assert [(one["value"], one["loss"]) for one in row["conversations"][1::2]] == [
        ("Hm.\n\nlook", False),
        ("take mug", True),
    ]


def test_prompts_are_what_the_policy_read_first_with_their_task():
    (row,) = rows("prompts", [EPISODE])
    assert row == {
        "prompt": [FIRST],
        "meta": {
            "env": "alfworld",
            "env_version": "1.0.0",
            "data_version": "builtin:1.0.0",
            "task_id": "train-7",
            "split": "train",
            "kind": "pick",
            "seed": 7,
        },
    }
    given = [EPISODE.model_copy(update={"given_turns": count}) for count in (1, 2)]
    found = rows("prompts", given, meta=False)
    assert found[0]["prompt"] == SECOND
    assert found[1]["prompt"] == [*SECOND, said("assistant", "take mug"), said("user", "taken")]
    tally = Tally()
    unseen = EPISODE.model_copy(
        update={"initial_observation": "", "turns": (), "ending": Failed(failure="x")}
    )
    assert rows("prompts", [unseen], tally) == []
    assert tally.left_out == {"without an observation": 1}


def won(name: str, *actions: str, reward: float = 1.0, **fields: Any) -> Trajectory:
    """An episode of one task, whose last action earns the reward."""
    turns = [Turn(action=one, observation=f"after {one}", reward=0.0) for one in actions]
    turns[-1] = turns[-1].model_copy(update={"reward": reward})
    plain = {"id": name, "task_id": "t", "initial_observation": "a room", "ending": Terminated()}
    return trajectory(**{**plain, "turns": tuple(turns), **fields})


BETTER, WORSE = won("b", "look", "take"), won("w", "look", "sleep", "wake", reward=0.0)
PAIR = [said("user", "a room"), said("assistant", "look"), said("user", "after look")]


def test_a_pair_parts_in_one_message_and_what_both_began_with_is_the_prompt():
    (row,) = rows("preference", [WORSE, BETTER])
    assert row == {
        "prompt": PAIR,
        "chosen": [said("assistant", "take")],
        "rejected": [said("assistant", "sleep")],
        "meta": {
            "env": "guess",
            "env_version": "1",
            "data_version": "1",
            "task_id": "t",
            "split": "train",
            "kind": "",
            "chosen": "b",
            "rejected": "w",
            "reward_chosen": 1.0,
            "reward_rejected": 0.0,
            "margin": 1.0,
            "shared_turns": 1,
        },
    }


def test_a_pair_of_whole_episodes_has_all_that_follows():
    (row,) = rows("preference", [WORSE, BETTER], rows="episode", meta=False)
    assert row == {
        "prompt": PAIR,
        "chosen": [said("assistant", "take")],
        "rejected": [said("assistant", "sleep"), said("user", "after sleep"), said("assistant", "wake")],
    }


def test_pairs_are_within_a_task_and_what_makes_none_is_counted():
    tally = Tally()
    other = won("o", "sleep", reward=0.0, task_id="u")
    assert rows("preference", [BETTER, other], tally) == []
    assert tally.left_out["tasks in which no episode is better than another"] == 2
    cut = WORSE.model_copy(update={"ending": Truncated(limit="max_turns")})
    tally = Tally()
    assert rows("preference", [BETTER, cut], tally) == []
    assert tally.left_out["pairs lost to a limit only (truncated_is_loss keeps them)"] == 1
    assert len(rows("preference", [BETTER, cut], truncated_is_loss=True)) == 1


def test_an_episode_that_ends_where_the_other_goes_on_makes_no_pair():
    tally = Tally()
    assert rows("preference", [BETTER, won("s", "look", reward=0.0)], tally) == []
    assert tally.left_out["pairs of which one is the beginning of the other"] == 1


def test_episodes_that_part_in_an_observation_make_a_pair_of_episodes_but_not_of_turns():
    lucky = won("l", "look", "take")
    (first, second) = lucky.turns
    lucky = lucky.model_copy(
        update={"turns": (first.model_copy(update={"observation": "a door opens"}), second)}
    )
    tally = Tally()
    assert rows("preference", [lucky, WORSE], tally) == []
    assert tally.left_out["pairs that part in an observation, not in a message"] == 1
    (row,) = rows("preference", [lucky, WORSE], rows="episode", meta=False)
    assert row["prompt"] == [said("user", "a room")]
    assert row["chosen"][:2] == [said("assistant", "look"), said("user", "a door opens")]


def test_given_turns_are_in_the_prompt_of_a_pair_and_never_compared():
    given = {"given_turns": 1, "parent": "p"}
    pair = [won("b", "look", "take", **given), won("w", "look", "sleep", reward=0.0, **given)]
    (row,) = rows("preference", pair, meta=False)
    assert row == {
        "prompt": PAIR,
        "chosen": [said("assistant", "take")],
        "rejected": [said("assistant", "sleep")],
    }
    tally = Tally()
    (first, second) = won("v", "peek", "sleep", reward=0.0, **given).turns
    same_state = first.model_copy(update={"observation": "after look"})
    other = won("v", "peek", "sleep", **given).model_copy(update={"turns": (same_state, second)})
    assert rows("preference", [pair[0], other], tally) == []
    assert tally.left_out["pairs with different given turns"] == 1


def test_the_strategy_of_pairs_is_that_of_the_algorithms():
    three = [BETTER, WORSE, won("m", "look", "eat", reward=0.5)]
    count = {name: len(rows("preference", three, strategy=name)) for name in ("best_worst", "adjacent")}
    assert count == {"best_worst": 1, "adjacent": 2}
    assert len(rows("preference", three, strategy="all_capped", per_task=2)) == 2


def test_unpaired_rows_have_the_label_of_their_episode():
    lost = won("w", "sleep", reward=0.0)
    assert rows("unpaired", [BETTER, lost], meta=False) == [
        {"prompt": PAIR[:1], "completion": [said("assistant", "look")], "label": True},
        {"prompt": PAIR, "completion": [said("assistant", "take")], "label": True},
        {"prompt": PAIR[:1], "completion": [said("assistant", "sleep")], "label": False},
    ]
    (row, _) = rows("unpaired", [BETTER, lost], rows="episode", meta=False)
    assert row == {
        "prompt": PAIR[:1],
        "completion": [*PAIR[1:], said("assistant", "take")],
        "label": True,
    }


def test_an_episode_that_a_limit_ended_has_no_label_unless_that_is_a_loss():
    cut, tally = WORSE.model_copy(update={"ending": Truncated(limit="max_turns")}), Tally()
    assert rows("unpaired", [cut], tally) == []
    assert tally.left_out["truncated without success: no label (truncated_is_loss gives one)"] == 1
    labels = [row["label"] for row in rows("unpaired", [cut], truncated_is_loss=True)]
    assert labels == [False, False, False]

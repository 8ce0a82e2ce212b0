"""AMPO's data sets in the authors' formats: what is read, what is refused with its place, what is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.ampo.importing import (
    CLONING,
    STATES,
    counts,
    import_official,
    imported_states,
    verify,
)
from agentgym_envs.ampo.records import AmpoDataError, cloned_turn, kind_of, state
from agentgym_envs.ampo.sources import read
from agentgym_envs.thinking import render

DIALOG = ['Turn 0: Ada Lane said: "Hello."', 'Turn 1: Bo Reed said: "Hi."']
FLAT: dict[str, Any] = {
    "dialog": [*DIALOG, "Turn 2: Ada Lane said:"],
    "env_id": 7,
    "turn": 2,
    "instruction": "Imagine you are Ada Lane.\nTurn 2: Ada Lane said:",
    "agent1_name": "Ada Lane",
    "agent2_name": "Bo Reed",
    "agent1_goal": "Borrow the drill.",
    "agent2_goal": "Keep the drill.",
    "rollout": 0,
    "state": {"agent1": {"score": 3.0}, "agent2": {"score": 6.0}, "step": 2},
    "agent1_goal_score": 8.0,
}
"""A state of the authors' preparation of reinforcement learning."""
ROW: dict[str, Any] = {
    "data_source": "demo",
    "prompt": [
        {"role": "system", "content": "Choose a level."},
        {"role": "user", "content": FLAT["instruction"]},
    ],
    "ability": "reason",
    "reward_model": {
        "style": "model",
        **{name: FLAT[name] for name in ("turn", "dialog", "agent1_name", "agent2_name")},
        **{name: FLAT[name] for name in ("agent1_goal", "agent2_goal")},
        "state_reward": FLAT["state"],
    },
    "extra_info": {"split": "train", "index": 0, "env_id": 7, "turn": 2, "rollout": 0},
}
"""The same state as a row that verl trains on."""
OUTPUT = render(2, ("She wants it back.", "kind", "ask"), "May I have it for a day?")
TURN = {
    "system": "Choose a level.",
    "instruction": "Imagine you are Ada Lane.",
    "input": "",
    "output": OUTPUT,
}
"""A turn to clone, in the form of LLaMA-Factory."""
CHATS = [
    {
        "messages": [
            {"role": "system", "content": "Choose a level."},
            {"role": "user", "content": "Imagine you are Ada Lane."},
            {"role": "assistant", "content": OUTPUT},
        ]
    },
    {
        "system": "Choose a level.",
        "conversations": [
            {"from": "human", "value": "Imagine you are Ada Lane."},
            {"from": "gpt", "value": OUTPUT},
        ],
    },
]


def written(folder: Path, **files: object) -> Path:
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{stem}.{suffix}").write_text(text)
    return folder


def test_a_state_is_read_alike_from_both_forms() -> None:
    flat, row = state(FLAT), state(ROW)
    assert flat == row
    assert flat.dialog == tuple(DIALOG)  # the line that the actor continues is none of it
    assert (flat.actor, flat.names, flat.scores) == (0, ("Ada Lane", "Bo Reed"), (3.0, 6.0))
    assert flat.with_reply("Please.")[-1] == 'Turn 2: Ada Lane said: "Please."'
    later = state({**FLAT, "dialog": DIALOG[:1], "turn": None})
    assert (later.turn, later.actor) == (1, 1)  # without a number it is the next one


def test_a_turn_is_read_alike_from_all_forms() -> None:
    turns = [cloned_turn(raw) for raw in (TURN, *CHATS)]
    assert turns[0] == turns[1] == turns[2]
    assert turns[0].mode == 2
    assert turns[0].chat == CHATS[0]
    with_input = cloned_turn({**TURN, "input": "Turn 0: Ada Lane said:"})
    assert with_input.user == "Imagine you are Ada Lane.\nTurn 0: Ada Lane said:"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"agent1_name": 3}, "agent1_name: a int, not text"),
        ({"instruction": ""}, "instruction: String should have at least 1 character"),
        ({"state": {"agent1": {"score": 11}, "agent2": {"score": 0}}}, "scores.0: Input should be less"),
        ({"state": {"agent1": {"score": float("nan")}, "agent2": {"score": 0}}}, "scores.0: Input should"),
        ({"state": None}, "state: no scores before the reply"),
        ({"dialog": "Turn 0"}, "dialog: not a list of lines"),
        ({"turn": -1}, "turn: Input should be greater"),
    ],
)
def test_a_state_that_is_not_valid_says_why(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(AmpoDataError, match=reason):
        state({**FLAT, **change})


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({**TURN, "output": "Hello."}, "output: no reply in a thinking mode: no_level"),
        ({**TURN, "output": OUTPUT.replace("Style", "Manner")}, "missing_header"),
        ({"messages": CHATS[0]["messages"] * 2}, "one turn has a user's message and a reply, not system"),
        ({"messages": [{"role": "user"}]}, "messages: one has no role or no text"),
    ],
)
def test_a_turn_that_is_not_valid_says_why(raw: dict[str, Any], reason: str) -> None:
    with pytest.raises(AmpoDataError, match=reason):
        cloned_turn(raw)


def test_a_record_of_another_kind_is_named_by_its_keys() -> None:
    with pytest.raises(
        AmpoDataError, match=r"neither a turn \(output\) nor a state \(dialog\); its keys: a, b"
    ):
        kind_of({"a": 1, "b": 2})


def test_a_folder_is_imported_and_bad_records_are_refused_with_their_places(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    lines = "\n".join(json.dumps(one) for one in (TURN, {**TURN, "output": "no"}))
    written(source, bc_json=[TURN, *CHATS], more_jsonl=lines, rl_json={"0": FLAT, "1": {**FLAT, "turn": "x"}})
    seen: list[int] = []
    report = import_official(source, tmp_path / "home", seen.append)
    assert report.counts == {"cloning": 4, "states": 1}
    assert [one.name for one in report.refused] == ["more.jsonl, record 2", "rl.json, record 2"]
    assert report.refused[1].reason.startswith("turn: Input should be a valid integer")
    assert seen[-1] == 7
    assert any("4 in mode 2; agentevol train " in note for note in report.notes)
    assert counts(tmp_path / "home") == report.counts
    assert imported_states(tmp_path / "home") == (state(FLAT),)
    chats = (tmp_path / "home" / "ampo" / CLONING).read_text().splitlines()
    assert [json.loads(line) for line in chats] == [CHATS[0]] * 4
    assert verify(tmp_path / "home") == []
    (tmp_path / "home" / "ampo" / STATES).write_text("")
    assert "has changed since it was imported" in verify(tmp_path / "home")[0]


def test_rows_of_parquet_are_read(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.Table.from_pylist([ROW, ROW]), tmp_path / "train.parquet")
    assert read(tmp_path).states == [state(FLAT)] * 2
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises(AmpoDataError, match=r"bad\.parquet is no Parquet file"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "has no file that ends in .json, .jsonl, .parquet"),
        ({"a_json": "[1"}, r"a\.json: no JSON \(Expecting"),
        ({"a_jsonl": '{"output"'}, r"a\.jsonl, line 1: no JSON"),
        ({"a_json": "3"}, r"a\.json is neither a list nor an object of records"),
        ({"a_json": [3]}, r"has no record of AMPO's data sets: a\.json, record 1: a int, not an object"),
        ({"a_json": "[" * 100_000}, r"a\.json: no JSON"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, files: dict[str, object], reason: str) -> None:
    with pytest.raises(AmpoDataError, match=reason) as refused:
        read(written(tmp_path, **files))
    assert "\n" not in str(refused.value)


def test_a_failed_import_leaves_the_earlier_one(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir(), bad.mkdir()
    import_official(written(good, a_json=[FLAT]), tmp_path / "home")
    with pytest.raises(AmpoDataError):
        import_official(written(bad, a_json="["), tmp_path / "home")
    assert counts(tmp_path / "home") == {"cloning": 0, "states": 1}
    assert verify(tmp_path / "home") == []

"""Data sets of chats as sequences."""

import json
from pathlib import Path

import pytest

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Message
from agentevol.data.chat_datasets import read_texts
from agentevol.models.rendering import ChatRenderer
from agentevol.models.word_tokenizer import word_tokenizer

WORDS = ("You see a desk.", "look", "go", "Nothing happens.", "open", "Be brief.")


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return ChatRenderer(word_tokenizer(WORDS))


def written(tmp_path: Path, *records: object) -> Path:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def said(sequence, renderer: ChatRenderer) -> str:
    """What is learnt of a sequence, as text."""
    return renderer.tokenizer.decode(
        sequence.token_ids[sequence.mask].tolist(), skip_special_tokens=True
    ).strip()


def chat(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def test_every_answer_of_a_chat_is_learnt_with_its_end_token(tmp_path: Path, renderer: ChatRenderer):
    file = written(tmp_path, {"messages": chat("You see a desk.", "look", "Nothing happens.", "go")})
    found = read_texts(file, renderer)
    (sequence,) = found.sequences
    look, go = renderer.action_ids("look"), renderer.action_ids("go")
    assert found.kind == "episodes"
    assert sequence.token_ids[sequence.mask].tolist() == [*look, *go]
    assert sequence.turn[sequence.mask].tolist() == [0] * len(look) + [1] * len(go)
    assert sequence.trajectory_id == "data.jsonl, record 1"
    # exactly what the chat template makes of the whole conversation up to the last answer's end
    earlier = [Message("user", "You see a desk."), Message("assistant", "look")]
    whole = renderer.prompt([*earlier, Message("user", "Nothing happens.")])
    assert sequence.token_ids.tolist() == [*whole, *go]


def test_what_a_data_set_marks_as_not_learnt_is_context(tmp_path: Path, renderer: ChatRenderer):
    conversation = [
        {"from": "human", "value": "Be brief.", "loss": None},
        {"from": "gpt", "value": "open", "loss": False},
        {"from": "human", "value": "You see a desk."},
        {"from": "gpt", "value": "look", "loss": True},
    ]
    (sequence,) = read_texts(
        written(tmp_path, {"item_id": "x_0", "conversations": conversation}), renderer
    ).sequences
    assert said(sequence, renderer) == "look"


def test_pairs_and_labels_have_sides(tmp_path: Path, renderer: ChatRenderer):
    pair = {"prompt": "You see a desk.", "chosen": "look", "rejected": chat("", "go")[1:]}
    found = read_texts(written(tmp_path, pair), renderer)
    assert (found.kind, [sequence.side for sequence in found.sequences]) == ("pairs", [1, -1])
    assert [said(sequence, renderer) for sequence in found.sequences] == ["look", "go"]
    assert len({sequence.unit for sequence in found.sequences}) == 1
    label = {
        "prompt": chat("You see a desk.", "open", "Nothing happens."),
        "completion": "go",
        "label": False,
    }
    found = read_texts(written(tmp_path, label, {**label, "label": True}), renderer)
    assert (found.kind, [sequence.side for sequence in found.sequences]) == ("labels", [-1, 1])
    assert said(found.sequences[0], renderer) == "go"  # what was said in the prompt is context


def test_a_json_array_is_read_too(tmp_path: Path, renderer: ChatRenderer):
    file = tmp_path / "data.json"
    file.write_text(json.dumps([{"prompt": "You see a desk.", "completion": "look"}] * 2), encoding="utf-8")
    assert len(read_texts(file, renderer).sequences) == 2


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "has no records"),
        ([{"text": "look"}], "record 1: neither messages, conversations, completion"),
        ([{"messages": chat("look")}], "record 1: a conversation begins with a user's message"),
        ([{"messages": [{"role": "tool", "content": "x"}]}], "record 1: messages.0.role"),
        ([{"messages": [*chat("go", "look"), *chat("go", "look")[1:]]}], "exactly one user's message"),
        ([{"messages": chat("go", "look")}, {"prompt": "go", "chosen": "look", "rejected": "go"}], "mixes"),
        (["look"], "record 1: not a JSON object"),
    ],
)
def test_what_is_not_understood_is_named(tmp_path: Path, renderer: ChatRenderer, records: list, message: str):
    with pytest.raises(ConfigError, match=message):
        read_texts(written(tmp_path, *records), renderer)


def test_files_that_are_no_data_sets_are_one_line(tmp_path: Path, renderer: ChatRenderer):
    with pytest.raises(ConfigError, match="cannot read"):
        read_texts(tmp_path / "absent.jsonl", renderer)
    (tmp_path / "noise").write_text("{not json", encoding="utf-8")
    with pytest.raises(ConfigError, match="noise, line 1: not JSON, of which a line holds a record"):
        read_texts(tmp_path / "noise", renderer)

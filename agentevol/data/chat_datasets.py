"""Chat data sets as training sequences, encoded by a checkpoint's tokenizer and chat template.

JSON Lines (or one JSON array) with a record per line, in the formats of TRL and of AgentTraj:

    {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}
    {"conversations": [{"from": "human", "value": "..."}, {"from": "gpt", "value": "...", "loss": true}]}
    {"prompt": ..., "completion": ...}
    {"prompt": ..., "chosen": ..., "rejected": ...}
    {"prompt": ..., "completion": ..., "label": true}

A prompt or completion is a text or a list of messages. Messages of the assistant are learnt, unless they have
`loss: false`. A label is true or false (or 1 or 0), never a text: "false" would be true.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Message, TrainingSequence
from agentevol.learn.batches.packing import SequenceBuilder
from agentevol.models.rendering import ChatRenderer

Kind = Literal["episodes", "pairs", "labels"]


class _Said(BaseModel):
    """A message of a record."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Literal["system", "user", "assistant"]
    content: str
    loss: bool = True


class _UnusableField(ValueError):
    """A field of a record is invalid; the message names the field and the reason."""


CheckedT = TypeVar("CheckedT")

_SAID = TypeAdapter(list[_Said])
_TURNS = TypeAdapter(list[dict[str, Any]])
_LABEL = TypeAdapter(bool)
_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}


@dataclass(frozen=True)
class TextSequences:
    """Training sequences of a data set, and the kind of algorithm that can learn from them."""

    kind: Kind
    sequences: list[TrainingSequence]


def read_texts(path: Path, renderer: ChatRenderer) -> TextSequences:
    """Read all training sequences of a file. Raises `ConfigError` naming the record that is invalid."""
    sequences: list[TrainingSequence] = []
    kinds: set[Kind] = set()
    for number, record in enumerate(_records(path), start=1):
        where = f"{path.name}, record {number}"
        try:
            kind, found = _sequences(record, renderer, where)
        except _UnusableField as cause:
            raise ConfigError(f"{where}: {cause}") from cause
        kinds.add(kind)
        sequences += found
    if not kinds:
        raise ConfigError(f"{path} has no records")
    if len(kinds) > 1:
        raise ConfigError(f"{path} mixes {' and '.join(sorted(kinds))}: keep each in a file of its own")
    return TextSequences(kinds.pop(), sequences)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        for number, record in enumerate(_values(path), start=1):
            if not isinstance(record, dict):
                raise ConfigError(f"{path.name}, record {number}: not a JSON object")
            yield record
    except OSError as cause:
        raise ConfigError(f"cannot read {path}: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise ConfigError(f"{path} is no text in UTF-8, so neither JSON nor JSON Lines") from cause


def _values(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as stream:  # skips the byte order mark of an editor
        array = stream.read(1) == "["
        stream.seek(0)
        if array:
            yield from _parsed(stream.read(), str(path), "JSON")
            return
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield _parsed(line, f"{path.name}, line {number}", "JSON, of which a line holds a record")


def _parsed(text: str, where: str, what: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as cause:
        is_cut = cause.pos >= len(text.rstrip()) or cause.msg.startswith("Unterminated")
        hint = ": it may have been cut off" if is_cut else ""
        raise ConfigError(f"{where}: not {what} ({cause.msg}, column {cause.colno}){hint}") from cause
    except RecursionError as cause:
        raise ConfigError(f"{where}: nested too deeply for a record") from cause


def _sequences(
    record: dict[str, Any], renderer: ChatRenderer, where: str
) -> tuple[Kind, list[TrainingSequence]]:
    if "messages" in record:
        return "episodes", [_sequence(_checked(_SAID, record["messages"], "messages"), 0, renderer, where)]
    if "conversations" in record:
        return "episodes", [_sequence(_agent_traj(record["conversations"]), 0, renderer, where)]
    prompt = _messages(record.get("prompt", []), "user", "prompt")
    if "chosen" in record and "rejected" in record:
        sides = [(1, "chosen"), (-1, "rejected")]
        answers = [(side, _messages(record[name], "assistant", name)) for side, name in sides]
        return "pairs", [
            replace(_sequence([*prompt, *said], len(prompt), renderer, where), unit=where, side=side)
            for side, said in answers
        ]
    if "completion" not in record:
        raise ConfigError(f"{where}: neither messages, conversations, completion, nor chosen and rejected")
    answer = _messages(record["completion"], "assistant", "completion")
    sequence = _sequence([*prompt, *answer], len(prompt), renderer, where)
    if "label" in record:
        desirable = _checked(_LABEL, record["label"], "label", strict=isinstance(record["label"], str))
        return "labels", [replace(sequence, side=1 if desirable else -1)]
    return "episodes", [sequence]


def _checked(kind: TypeAdapter[CheckedT], given: Any, name: str, *, strict: bool = False) -> CheckedT:
    """Validate `given`, the value of the field `name` of a record."""
    try:
        return kind.validate_python(given, strict=strict)
    except ValidationError as cause:
        problem = cause.errors()[0]
        place = ".".join([name, *(str(part) for part in problem["loc"])])
        raise _UnusableField(f"{place}: {problem['msg']}") from cause


def _messages(given: Any, role: Literal["user", "assistant"], name: str) -> list[_Said]:
    """Convert a text to one message of `role`, or validate a list of messages."""
    if isinstance(given, str):
        return [_Said(role=role, content=given)] if given else []
    return _checked(_SAID, given, name)


def _agent_traj(conversations: Any) -> list[_Said]:
    turns = _checked(_TURNS, conversations, "conversations")
    said = [
        {
            "role": _ROLES.get(str(turn.get("from")), turn.get("from")),
            "content": turn.get("value"),
            "loss": turn.get("loss") is not False,
        }
        for turn in turns
    ]
    return _checked(_SAID, said, "conversations")


def _sequence(
    said: Sequence[_Said], learnt_from: int, renderer: ChatRenderer, where: str
) -> TrainingSequence:
    """Encode a conversation as one training sequence; messages of the assistant before `learnt_from` are
    context.
    """
    speaks = [number for number, message in enumerate(said) if message.role == "assistant"]
    if not speaks or speaks[0] == 0:
        raise ConfigError(f"{where}: a conversation begins with a user's message, and the assistant answers")
    builder = SequenceBuilder()
    builder.read(renderer.prompt([Message(message.role, message.content) for message in said[: speaks[0]]]))
    for turn, number in enumerate(speaks):
        if turn > 0:
            builder.read(
                renderer.extend(builder.token_ids, _between(said[speaks[turn - 1] + 1 : number], where))
            )
        ids = renderer.action_ids(said[number].content)
        if number >= learnt_from and said[number].loss:
            builder.imitate(ids, turn)
        else:
            builder.read(ids)
    return builder.sequence(where, 1.0)


def _between(said: Sequence[_Said], where: str) -> str:
    if len(said) != 1 or said[0].role != "user":
        raise ConfigError(f"{where}: exactly one user's message stands between two of the assistant's")
    return said[0].content

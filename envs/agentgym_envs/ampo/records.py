"""Records of AMPO's data sets: `ClonedTurn` of behaviour cloning, `State` of reinforcement learning.

Both are read from the authors' files, in which a state is flat or a row of verl:

    {"instruction": "...", "input": "", "output": "Thinking Level: 2\\n...", "system": "..."}
    {"instruction": "...", "dialog": ["Turn 0: A said: \\"Hi\\""], "turn": 1, "agent1_name": "A", ...}
    {"prompt": [{"role": "system", ...}, {"role": "user", ...}], "reward_model": {"dialog": [...], ...}}
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import Field, ValidationError

from agentgym_envs.core import Record
from agentgym_envs.thinking import check

Kind = Literal["cloning", "states"]
Score = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
RecordT = TypeVar("RecordT", bound=Record)
_OPEN = re.compile(r"Turn \d+: [^\n]{1,200} said: ?")
"""The line that an actor continues, without words."""
_SCORES = ("state", "state_reward")
"""Names of the scores before the reply: in the flat form, and in verl's."""


class AmpoDataError(ValueError):
    """A file, record or manifest is not valid; the message is one line that names the place."""


class ClonedTurn(Record):
    """One turn to imitate."""

    system: str = ""
    user: Annotated[str, Field(min_length=1)]
    output: Annotated[str, Field(min_length=1)]
    """Reply in a thinking mode."""

    @property
    def mode(self) -> int:
        """Thinking mode of the output, 1 to 4."""
        return check(self.output).mode

    @property
    def chat(self) -> dict[str, list[dict[str, str]]]:
        """The turn as a chat, of which `agentevol train` learns the last message."""
        first = [{"role": "system", "content": self.system}] if self.system else []
        said = {"user": self.user, "assistant": self.output}
        return {"messages": [*first, *({"role": role, "content": text} for role, text in said.items())]}


class State(Record):
    """A dialogue before a reply, and the goal scores of both so far."""

    instruction: Annotated[str, Field(min_length=1)]
    """Prompt of the actor: persona, goal and dialogue."""
    dialog: tuple[str, ...]
    """Lines of the dialogue, without the one that the actor continues."""
    turn: Annotated[int, Field(ge=0)]
    """Number of the reply, from 0: the first agent acts in even turns."""
    names: tuple[str, str]
    goals: tuple[str, str]
    scores: tuple[Score, Score]

    @property
    def actor(self) -> int:
        """Agent that replies, 0 or 1."""
        return self.turn % 2

    def with_reply(self, answer: str) -> list[str]:
        """The dialogue with the actor's answer."""
        return [*self.dialog, f'Turn {self.turn}: {self.names[self.actor]} said: "{answer}"']


def kind_of(raw: Mapping[str, Any]) -> Kind:
    """Kind of a record. Raises `AmpoDataError` for one that is of neither."""
    model = raw.get("reward_model")
    if "dialog" in raw or (isinstance(model, Mapping) and "dialog" in model):
        return "states"
    if "output" in raw or "messages" in raw or "conversations" in raw:
        return "cloning"
    keys = ", ".join(sorted(raw)[:8]) or "none"
    raise AmpoDataError(f"neither a turn (output) nor a state (dialog); its keys: {keys}")


def cloned_turn(raw: Mapping[str, Any]) -> ClonedTurn:
    """A turn of behaviour cloning. Raises `AmpoDataError`, also for an output that is in no mode."""
    said = _messages(raw)
    if said is None:
        parts = [_text(raw, name) for name in ("instruction", "input")]
        found = {"system": _text(raw, "system"), "user": "\n".join(filter(None, parts))}
        found["output"] = _text(raw, "output")
    else:
        roles = [role for role, _ in said]
        if roles not in (["user", "assistant"], ["system", "user", "assistant"]):
            raise AmpoDataError(
                f"one turn has a user's message and a reply, not {', '.join(roles) or 'none'}"
            )
        found = {{"user": "user", "assistant": "output"}.get(role, role): text for role, text in said}
    turn = _validated(ClonedTurn, found)
    reply = check(turn.output)
    if not reply.ok:
        raise AmpoDataError(f"output: no reply in a thinking mode: {reply.fault}")
    return turn


def state(raw: Mapping[str, Any]) -> State:
    """A state of reinforcement learning. Raises `AmpoDataError`."""
    model = raw.get("reward_model")
    fields = {**raw, **(cast("Mapping[str, Any]", model) if isinstance(model, Mapping) else {})}
    before = next((fields[name] for name in _SCORES if isinstance(fields.get(name), Mapping)), None)
    if before is None:
        raise AmpoDataError("state: no scores before the reply")
    lines = fields.get("dialog")
    if not isinstance(lines, Sequence) or isinstance(lines, str):
        raise AmpoDataError("dialog: not a list of lines")
    dialog = [str(line) for line in cast("Sequence[Any]", lines)]
    if dialog and _OPEN.fullmatch(dialog[-1]):
        dialog = dialog[:-1]
    turn = fields.get("turn")
    return _validated(
        State,
        {
            "instruction": _instruction(raw),
            "dialog": dialog,
            "turn": len(dialog) if turn is None else turn,
            "names": [_text(fields, "agent1_name"), _text(fields, "agent2_name")],
            "goals": [_text(fields, "agent1_goal"), _text(fields, "agent2_goal")],
            "scores": [_score(before, "agent1"), _score(before, "agent2")],
        },
    )


def _instruction(raw: Mapping[str, Any]) -> str:
    prompt = raw.get("prompt")
    if isinstance(prompt, Sequence) and not isinstance(prompt, str):
        said = _messages({"messages": list(cast("Sequence[Any]", prompt))}) or []
        return next((text for role, text in reversed(said) if role == "user"), "")
    return _text(raw, "instruction")


def _messages(raw: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """Role and text of each message, of OpenAI's or ShareGPT's form; None where there are none."""
    told: Any = raw.get("messages", raw.get("conversations"))
    if told is None:
        return None
    names = {"human": "user", "gpt": "assistant"}
    found = list[tuple[str, str]]()
    for one in cast("Sequence[Any]", told if isinstance(told, Sequence) else ()):
        message = cast("Mapping[str, Any]", one if isinstance(one, Mapping) else {})
        role, text = message.get("role", message.get("from")), message.get("content", message.get("value"))
        if not isinstance(role, str) or not isinstance(text, str):
            raise AmpoDataError("messages: one has no role or no text")
        found.append((names.get(role, role), text))
    system = raw.get("system")
    first = [("system", system)] if isinstance(system, str) and system else []
    return [*first, *found]


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    if value is not None and not isinstance(value, str):
        raise AmpoDataError(f"{name}: a {type(value).__name__}, not text")
    return value or ""


def _score(before: Mapping[str, Any], agent: str) -> Any:
    own = before.get(agent)
    return cast("Mapping[str, Any]", own).get("score") if isinstance(own, Mapping) else own


def _validated(kind: type[RecordT], found: Mapping[str, Any]) -> RecordT:
    try:
        return kind.model_validate(found)
    except ValidationError as cause:
        first = cause.errors()[0]
        raise AmpoDataError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None

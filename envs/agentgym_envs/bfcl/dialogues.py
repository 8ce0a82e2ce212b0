"""Dialogues: what the user of a task says turn by turn, the world it begins in, and the calls that solve it.

A task of the source, and its answer, are a line each:

    {"id": "multi_turn_base_7", "question": [[{"role": "user", "content": "..."}], ...],
     "initial_config": {"TicketAPI": {...}}, "involved_classes": ["TicketAPI"], "path": [...]}
    {"id": "multi_turn_base_7", "ground_truth": [["get_ticket(ticket_id=3)"], ...]}
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym_envs.bfcl.documents import FILES, Documents, named_arguments
from agentgym_envs.core import Record
from agentgym_envs.tooluse import CallError, parse

MORE_FUNCTIONS = "I have updated some more functions you can choose from. What about now?"
"""Message of the user in a turn in which withheld functions are added."""
LONG_CONTEXT = "long_context"
MAX_TURNS = 16


class DialogueError(ValueError):
    """A task of the source that cannot be played."""


class GoldCall(Record):
    """A call of the solution, its arguments by name."""

    name: str
    arguments: dict[str, Any]


class Dialogue(Record):
    """A task as it is played. Only what the user says is told to the agent."""

    says: tuple[str, ...] = Field(min_length=1, max_length=MAX_TURNS)
    """The user's message of each turn."""
    classes: tuple[str, ...] = Field(min_length=1)
    """Classes of the world, whose functions are the tools."""
    config: dict[str, dict[str, Any]]
    """State in which the world begins, by class."""
    excluded: tuple[str, ...] = ()
    """Functions that are not offered."""
    withheld: tuple[tuple[str, ...], ...] = ()
    """Functions by the turn in which they are added; empty if none is withheld."""
    gold: tuple[tuple[GoldCall, ...], ...]
    """The solution's calls of each turn; none where the agent has to ask, or to say that it cannot."""
    long_context: bool = False

    def hidden(self, turn: int) -> frozenset[str]:
        """Functions that are not offered in a turn."""
        later = (name for names in self.withheld[turn + 1 :] for name in names)
        return frozenset({*self.excluded, *later})

    @property
    def textual_ids(self) -> bool:
        """True if the world has tickets whose ids are strings, although the documents say integer."""
        tickets = self.config.get("TicketAPI", {}).get("ticket_queue", ())
        return any(isinstance(ticket.get("id"), str) for ticket in tickets)


class Message(BaseModel):
    """A message of the source."""

    model_config = ConfigDict(extra="ignore")

    role: str
    content: str


class SourceTask(BaseModel):
    """A task of the source. Fields that say nothing about an episode are ignored."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")
    question: tuple[tuple[Message, ...], ...]
    initial_config: dict[str, dict[str, Any]]
    involved_classes: tuple[str, ...]
    excluded_function: tuple[str, ...] = ()
    missed_function: dict[int, tuple[str, ...]] = Field(default_factory=dict[int, tuple[str, ...]])


class SourceAnswer(BaseModel):
    """The answer of a task of the source."""

    model_config = ConfigDict(extra="ignore")

    id: str
    ground_truth: tuple[tuple[str, ...], ...]


def dialogue_of(task: SourceTask, answer: SourceAnswer, category: str, documents: Documents) -> Dialogue:
    """The dialogue of a task of the source; raises `DialogueError` if it cannot be played."""
    turns = len(task.question)
    if len(answer.ground_truth) != turns:
        raise DialogueError(f"{turns} turns, but {len(answer.ground_truth)} of the answer")
    unknown = [owner for owner in task.involved_classes if owner not in FILES]
    if unknown:
        raise DialogueError(f"there is no class {unknown[0][:80]!r}")
    try:
        dialogue = Dialogue(
            says=tuple(map(_said, task.question)),
            classes=task.involved_classes,
            config={owner: task.initial_config.get(owner, {}) for owner in task.involved_classes},
            excluded=task.excluded_function,
            withheld=_by_turn(task.missed_function, turns),
            gold=tuple(tuple(_gold(text, documents) for text in texts) for texts in answer.ground_truth),
            long_context=category == LONG_CONTEXT,
        )
    except ValidationError as problem:
        raise DialogueError(first_problem(problem)) from None
    check_gold(dialogue, documents)
    return dialogue


def check_gold(dialogue: Dialogue, documents: Documents) -> None:
    """Raise `DialogueError` unless each call of the solution is one of the tools of its turn, and valid."""
    for turn, calls in enumerate(dialogue.gold):
        try:
            tools = documents.tools(dialogue.classes, dialogue.hidden(turn), dialogue.textual_ids)
            for call in calls:
                tools[call.name].check(call.arguments, "")
        except KeyError as unknown:
            raise DialogueError(f"turn {turn}: {unknown} is not offered") from None
        except (CallError, ValueError) as problem:
            raise DialogueError(f"turn {turn}: {problem}") from None


def first_problem(problem: ValidationError) -> str:
    """The first error of a validation on one line."""
    error = problem.errors()[0]
    return f"{'.'.join(map(str, error['loc']))}: {error['msg']}"


def _said(messages: Sequence[Message]) -> str:
    if len(messages) > 1 or any(message.role != "user" for message in messages):
        raise DialogueError("a turn is one message of the user, or none")
    return messages[0].content if messages else MORE_FUNCTIONS


def _by_turn(missed: Mapping[int, tuple[str, ...]], turns: int) -> tuple[tuple[str, ...], ...]:
    if any(not 0 <= turn < turns for turn in missed):
        raise DialogueError("functions are added in a turn that there is not")
    return tuple(missed.get(turn, ()) for turn in range(turns)) if missed else ()


def _gold(text: str, documents: Documents) -> GoldCall:
    try:
        calls = parse(text, python=True)
        tool = documents.every[calls[0].name]
        if len(calls) != 1:
            raise DialogueError(f"{text[:80]!r} is not one call")
        return GoldCall(name=tool.name, arguments=named_arguments(tool, calls[0]))
    except KeyError:
        raise DialogueError(f"{text[:80]!r} calls a function without a document") from None
    except CallError as problem:
        raise DialogueError(f"{text[:80]!r}: {problem}") from None

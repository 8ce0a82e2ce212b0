"""ReAct transcripts (arXiv:2210.03629): steps as JSON, or texts with their labels.

    {"id": "fixed_0", "reward": 0.5, "steps": [{"action": "reset", "observation": "..."},
                                               {"action": "search[...]", "observation": "..."}]}

    What is to be done ...
    Thought 1: I look around.
    Action 1: look
    Observation 1: a mug
    Reward: 1

Labels may be numbered and shortened (`Act`, `Obs`). Several transcripts of a text are divided by lines of
`---`, `===`, `***` or `###`. A first action `reset` is the start of the episode. `think[...]`, which ReAct's
environments answer, is an action like others.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentgym_envs.formats import render_react
from agentgym_store.imports.contract import Draft, DraftTurn, Importer, Shape, members, validated
from agentgym_store.imports.conversation import SILENT, drafted, number
from agentgym_store.imports.reading import Refusal, records
from agentgym_store.records import Trajectory

DIVIDER = re.compile(r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|#{3,})[ \t]*$", re.MULTILINE)
LABEL = re.compile(
    r"^[ \t]*(?P<label>thought|action|act|observation|obs|reward|score)(?:[ \t]+\d+)?[ \t]*:[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
LONG = {"act": "action", "obs": "observation", "score": "reward"}
NO_OPENING = "without a first observation"
RESET = "reset"


class _Step(Shape):
    action: str
    observation: str = ""
    thought: str | None = None
    reward: float | None = None


class _Steps(Shape):
    id: str | int | None = None
    steps: list[_Step]
    instruction: str | None = None
    question: str | None = None
    observation: str | None = None


class React(Importer):
    """Steps of a thought, an action and an observation."""

    name = "react"
    summary = "A ReAct transcript: steps as JSON, or a text with Thought, Action and Observation."

    def recognises(self, record: Any) -> bool:
        """See `Importer`."""
        if isinstance(record, str):
            return any(_label(match) == "action" for match in LABEL.finditer(record))
        return isinstance(members(record).get("steps"), list)

    def records(self, path: Path) -> Iterator[tuple[str, Any]]:
        """See `Importer`; a text is divided into its transcripts."""
        for place, record in records(path):
            if not isinstance(record, str):
                yield place, record
                continue
            parts = [part for part in DIVIDER.split(record) if part.strip()]
            for index, part in enumerate(parts, start=1):
                yield (f"{place}, transcript {index}" if len(parts) > 1 else place), part

    def episode(self, record: Any) -> Draft | Trajectory:
        """See `Importer`."""
        return _of_text(record) if isinstance(record, str) else _of_steps(record)


def _of_steps(record: Any) -> Draft:
    told = validated(_Steps, record)
    steps = list(told.steps)
    before = [text for text in (told.instruction, told.question, told.observation) if text]
    if steps and steps[0].action.strip() == RESET:
        before.append(steps.pop(0).observation)
    if not before:
        raise Refusal(NO_OPENING)
    if not steps:
        raise Refusal(SILENT)
    turns = tuple(
        DraftTurn(_message(step.thought, step.action), step.observation, step.reward) for step in steps
    )
    return drafted(record, "\n\n".join(before), turns, name=told.id)


def _message(thought: str | None, action: str) -> str:
    return action if thought is None else render_react(thought.strip(), action.strip())


def _of_text(text: str) -> Draft:
    pieces = _pieces(text)
    opening, reward, turns = next(pieces)[1], None, list[DraftTurn]()
    thoughts, observed = list[str](), list[str]()
    before = [opening] if opening else []
    for label, said in pieces:
        if label == "reward":
            reward = _reward(said)
        elif label == "thought":
            thoughts.append(said)
        elif label == "action":
            turns.append(DraftTurn(_message("\n".join(thoughts) if thoughts else None, said)))
            thoughts = []
        elif turns:
            turns[-1] = DraftTurn(turns[-1].message, "\n".join(filter(None, (turns[-1].observation, said))))
        else:
            observed.append(said)
    if not turns:
        raise Refusal(SILENT)
    if not (before or observed):
        raise Refusal(NO_OPENING)
    return Draft(opening="\n\n".join([*before, *observed]), turns=tuple(turns), reward=reward)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Labels with their texts; first what stands before any label."""
    matches = list(LABEL.finditer(text))
    ends = [*(match.start() for match in matches), len(text)]
    yield "", text[: ends[0]].strip()
    for match, end in zip(matches, ends[1:], strict=True):
        yield _label(match), text[match.end() : end].strip()


def _label(match: re.Match[str]) -> str:
    label = match["label"].lower()
    return LONG.get(label, label)


def _reward(said: str) -> float:
    try:
        return number(float(said))
    except ValueError as cause:
        raise Refusal("a reward that is not a finite number", said[:80]) from cause

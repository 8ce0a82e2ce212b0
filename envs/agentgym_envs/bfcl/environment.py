"""BFCL's multi-turn tasks as an `Environment`: imported ones by category, and generated ones to train on.

> environment = BFCL()
> task = environment.tasks("base")[0]
> environment.reset(task, seed=0).text
"You serve a user by tool calls. ... \\n\\nMove 'final_report.pdf' within document directory to ..."
> environment.step("[cd(folder='document'), mkdir(dir_name='temp')]").observation.text
'{"current_working_directory": "document"}\\nNone'
> environment.step("Done.").observation.text
"Perform a detailed search using grep to identify sections in the file pertaining to 'budget analysis'."

A message without a call ends the user's turn; the last one ends the episode, and the verdict is on all turns.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from agentgym_envs.bfcl import generator
from agentgym_envs.bfcl.apis import require_wheel
from agentgym_envs.bfcl.checker import Fault, Results, TurnRecord, digest, judge
from agentgym_envs.bfcl.dialogues import Dialogue, GoldCall
from agentgym_envs.bfcl.documents import Documents, named_arguments
from agentgym_envs.bfcl.library import Catalogue
from agentgym_envs.bfcl.limits import MAX_CALLS
from agentgym_envs.bfcl.sources import CATEGORIES
from agentgym_envs.bfcl.world import World
from agentgym_envs.core import StepResult, Task, TaskNotFound
from agentgym_envs.formats import after_thinking
from agentgym_envs.home import data_home
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.tooluse import Call, Tool, ToolEnvironment, Toolset, ToolsInOption, Verdict
from agentgym_envs.tooluse.calls.literals import InvalidLiteral
from agentgym_envs.tooluse.calls.python_syntax import python_calls
from agentgym_envs.tooluse.outcomes import Outcome

require_wheel()

MAX_STEPS = 20
"""Messages with calls in one turn of the user, as upstream; the next one ends the episode."""
MOST_TURNS = 8
"""Turns of the longest task of the source."""

HOW = (
    "You serve a user by tool calls. A message without a call is your answer to the user, whose next message"
    " follows it."
)
CLOSING = "Done."
SHAPING = "Pay, at the end, the part of the checked turns that passed, and not only 1 for all of them."
NO_CALLS = "[]"
"""A list of no calls: it ends the user's turn, as upstream."""
RESEMBLES_CALL = re.compile(r"""\b[A-Za-z_]\w*\(|```|"name":""")
UNREAD = (
    "no call could be read, so that the message is the answer to the user: a message of calls has nothing"
    " else; in Python's syntax they stand one after a comma, or on a line each"
)
"""`info.parse` of a step that ends a turn of the user with a text that resembles a call."""
OUTCOMES: dict[Fault, Outcome] = {
    "no_call": "no_submit",
    "state": "wrong_state",
    "result": "missing_evidence",
}


class BFCLTask(Task):
    """Dialogue with a user. `dialogue` stays on the server."""

    dialogue: Dialogue


@dataclass
class Conversation:
    """State of an episode."""

    world: World
    turn: int = 0
    steps: int = 0
    """Messages of this turn of the user that were no answers to it."""
    called: bool = False
    """True if a tool was called in this turn."""
    capped: bool = False
    """True if a turn took too many steps, which ended the episode."""
    results: Results = field(default_factory=Counter[bytes])
    ended: list[TurnRecord] = field(default_factory=list[TurnRecord])
    """Turns of the user that are over."""

    def call(self, owner: str, name: str, arguments: Mapping[str, Any]) -> str:
        """The rendered result of a function, which the verdict counts."""
        text = self.world.call(owner, name, arguments)
        self.results[digest(text)] += 1
        return text

    def end_turn(self) -> None:
        """Record the turn of the user, and begin the next."""
        self.ended.append(TurnRecord(self.called, self.world.state(), Counter(self.results)))
        self.turn += 1
        self.steps, self.called = 0, False

    def copy(self) -> "Conversation":
        """A conversation that later steps of this one do not change."""
        return replace(self, world=self.world.copy(), results=Counter(self.results), ended=list(self.ended))


class BFCL(ToolEnvironment[BFCLTask, Conversation]):
    """A user who asks several things in turn, of whom each needs calls of simulated APIs.

    `home` is where imported tasks are looked for (None: `agentgym_envs.home.data_home`).
    """

    name = "bfcl"
    max_turns = MOST_TURNS * (MAX_STEPS + 1) + 1  # the cap of a turn always comes first
    variant_splits = CATEGORIES
    forkable = True
    changing_tools = True
    most_calls = MAX_CALLS
    attack_bounds = {"extra_write": (0.0, 0.05)}  # noqa: RUF012 - a class fact, never changed
    python_calls = True

    def __init__(
        self,
        *,
        shaping: Annotated[bool, Field(description=SHAPING)] = False,
        tools_in: ToolsInOption = "schemas",
        home: Path | None = None,
    ) -> None:
        self.tell_tools_in(tools_in)
        self.shaping = shaping
        self._catalogue = Catalogue.open(home or data_home())
        self._imported = self._catalogue.documents if self._catalogue else None
        self.toolset = (self._imported or generator.documents()).every

    @property
    def speaks(self) -> bool:
        return True

    @property
    def splits(self) -> tuple[str, ...]:
        return (*generator.COUNTS, *(self._catalogue.splits if self._catalogue else ()))

    @property
    def data_version(self) -> str:
        generated = f"generated:{generator.VERSION}"
        return f"{generated}+imported:{self._catalogue.digest}" if self._catalogue else generated

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[BFCLTask]:
        if difficulty is not None:
            raise ValueError("bfcl has no difficulties")
        if split in generator.COUNTS:
            return LazySequence(
                generator.COUNTS[split],
                lambda number: task_of(f"{split}/{number}", generator.dialogue(split, number), split),
            )
        if self._catalogue is None or split not in self._catalogue.splits:
            hint = "; agentevol data import bfcl DIR brings it" if split in CATEGORIES else ""
            raise TaskNotFound(f"bfcl has no split {split[:80]!r}; there are: {', '.join(self.splits)}{hint}")
        rows = self._catalogue.rows(split)
        return LazySequence(len(rows), lambda number: task_of(rows[number].id, rows[number].dialogue, split))

    def task(self, task_id: str) -> BFCLTask:
        generated = generator.find(task_id)
        if generated is not None:
            return self.tasks(generated[0])[generated[1]]
        place = self._catalogue.places.get(task_id) if self._catalogue else None
        if place is None:
            hint = "" if self._catalogue else "; agentevol data import bfcl DIR brings the benchmark's"
            raise TaskNotFound(f"bfcl has no task {task_id[:80]!r}{hint}")
        return self.tasks(place[0])[place[1]]

    def offered_to(self, task: BFCLTask) -> Toolset:
        return self._offered(task, 0)

    def begin(self, task: BFCLTask, seed: int) -> Conversation:
        dialogue = task.dialogue
        return Conversation(World(dialogue.classes, dialogue.config, dialogue.long_context))

    def opening(self, task: BFCLTask) -> str:
        return f"{HOW}\n\n{task.dialogue.says[0]}"

    def budget(self, task: BFCLTask) -> int:
        return len(task.dialogue.says) * (MAX_STEPS + 1) + 1

    def arguments_of(self, tool: Tool, call: Call) -> dict[str, Any]:
        return super().arguments_of(tool, call._replace(arguments=named_arguments(tool, call), positional=()))

    def rendered(self, value: object) -> str:
        return cast("str", value)

    def joined(self, texts: Sequence[str]) -> str:
        return "\n".join(texts)

    def hear(self, message: str) -> str | None:
        """The user's next message; None for text that is meant as calls in Python's syntax."""
        try:
            python_calls(after_thinking(message))
        except InvalidLiteral:
            return None
        state, says = self.state, self.task_now.dialogue.says
        state.end_turn()
        if state.turn == len(says):
            self.over = True
            return "The user has no further request."
        known, self.offered = self.offered, self._offered(self.task_now, state.turn)
        return self.with_new_tools(says[state.turn], known)

    def step(self, action: str) -> StepResult:
        state, turn = self.state, self.state.turn
        result = super().step("" if after_thinking(action).strip() == NO_CALLS else action)
        if state.turn != turn and RESEMBLES_CALL.search(after_thinking(action)):
            return result.model_copy(update={"info": {**result.info, "parse": UNREAD}})
        if self.over or state.turn != turn:
            return result
        state.steps += 1
        if state.steps <= MAX_STEPS:
            return result
        state.capped = self.over = True
        return self.settled(result.observation.text, "invalid_action" in result.info)

    def verdict(self, task: BFCLTask, state: Conversation) -> Verdict:
        judgement = judge(task.dialogue, state.ended)
        details = {"checked_turns": judgement.checked, "passed_turns": judgement.passed}
        if judgement.fault is None:
            return Verdict(1.0, "success", details)
        reward = judgement.passed / judgement.checked if self.shaping else 0.0
        return Verdict(reward, "tool_limit" if state.capped else OUTCOMES[judgement.fault], details)

    def net_change(self) -> object:
        return self.state.world.state()

    def giving_up(self, task: BFCLTask) -> list[str]:
        return ["I cannot help with that."] * len(task.dialogue.says)

    def expert(self, task: BFCLTask) -> list[str]:
        """The calls of the solution, and a closing message in each turn. Each call is a message of its own,
        unless a turn has more calls than it may have messages.
        """
        return [action for calls in task.dialogue.gold for action in (*_messages(calls), CLOSING)]

    def copied(self, state: Conversation) -> Conversation:
        return state.copy()

    def _offered(self, task: BFCLTask, turn: int) -> Toolset:
        dialogue = task.dialogue
        documents = self._documents(task)
        return documents.tools(dialogue.classes, dialogue.hidden(turn), dialogue.textual_ids)

    def _documents(self, task: BFCLTask) -> Documents:
        if task.split in generator.COUNTS or self._imported is None:
            return generator.documents()
        return self._imported

    def _answer(self, call: Call) -> tuple[str, bool]:
        self.state.called = True
        return super()._answer(call)


def task_of(task_id: str, dialogue: Dialogue, split: str) -> BFCLTask:
    """A dialogue as a task."""
    kind = "+".join(sorted(dialogue.classes))
    return BFCLTask(
        env=BFCL.name, id=task_id, split=split, instruction=dialogue.says[0], kind=kind, dialogue=dialogue
    )


def _messages(calls: Sequence[GoldCall]) -> list[str]:
    written = [{"name": call.name, "arguments": call.arguments} for call in calls]
    size = max(1, math.ceil(len(calls) / MAX_STEPS))
    groups = [written[start : start + size] for start in range(0, len(written), size)]
    return [json.dumps(group[0] if size == 1 else group, ensure_ascii=False) for group in groups]

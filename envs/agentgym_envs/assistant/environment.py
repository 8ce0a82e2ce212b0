"""Environment of the assistant."""

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Annotated, Any

from pydantic import Field

from agentgym_envs import knowledge
from agentgym_envs.assistant import catalogue
from agentgym_envs.assistant.calls import run_tool
from agentgym_envs.assistant.clock import NOW, TODAY, weekday
from agentgym_envs.assistant.content.names import SPLITS
from agentgym_envs.assistant.database import NetChange, Office
from agentgym_envs.assistant.database.schema import VERSION
from agentgym_envs.assistant.histories import Beginning, Point
from agentgym_envs.assistant.player import played
from agentgym_envs.assistant.session import REASONS, Session
from agentgym_envs.assistant.shortcut import blind_refusal, first_hit
from agentgym_envs.assistant.tasks import LEVELS, judged
from agentgym_envs.assistant.tasks.refusals import POLICY
from agentgym_envs.assistant.tasks.templates import REVISION, fresh
from agentgym_envs.assistant.tools import TOOLSET, offered
from agentgym_envs.assistant.undoing import undoings
from agentgym_envs.core import Observation, StepResult, Task, TaskNotFound
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.tooluse import StrictHistory, Tool, ToolEnvironment, Toolset, ToolsInOption, Verdict
from agentgym_envs.tooluse.calls import written

OPENING = f"It is {weekday(TODAY)}, {NOW}. {POLICY}"
ALL_TOOLS = "Offer all tools in every task, not only those of its applications."
TURNS_BEYOND = {"single": 6, "chained": 7, "conditional": 9, "refusal": 10, "multi": 12}
"""Turns of a budget beyond three times those of the expert."""
SHORTENED = ("conditional", "refusal", "multi")
"""Levels on which a first hit is played; tasks of the others name all that they are about."""


class AssistantTask(Task):
    """Task in a generated office; `place` says how it is made."""

    place: catalogue.Place


class Assistant(ToolEnvironment[AssistantTask, Session]):
    """Office work by tool calls. Reward 1 for the right net change of the office and the right submission."""

    name = "assistant"
    max_turns = 60
    blocking = False
    forkable = True
    difficulties = tuple(LEVELS)
    toolset = TOOLSET
    refusals = tuple(
        f'{{"name":"submit","arguments":{{"status":"cannot","reason_code":"{reason}"}}}}'
        for reason in REASONS
    )
    attack_bounds = {  # noqa: RUF012 - a class fact, never changed
        "first_hit_conditional": (0.0, 0.28),
        "first_hit_refusal": (0.0, 0.25),
        "first_hit_multi": (0.0, 0.45),
    }

    def __init__(
        self,
        *,
        all_tools: Annotated[bool, Field(description=ALL_TOOLS)] = False,
        tools_in: ToolsInOption = "schemas",
        strict_history: StrictHistory = False,
    ) -> None:
        """With `strict_history`, a row may not become again what it was before.

        Raises `ValueError` for another `tools_in`.
        """
        self.tell_tools_in(tools_in)
        self.all_tools = all_tools
        self.strict_history = strict_history
        self._options = (all_tools, tools_in, strict_history)
        self._general = dict[Toolset, Observation]()
        """The first observation, without a task, by the tools that it offers."""

    @property
    def splits(self) -> tuple[str, ...]:
        return SPLITS

    @property
    def data_version(self) -> str:
        return f"generated:{VERSION}.{REVISION}+knowledge:{knowledge.VERSION}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[AssistantTask]:
        """As in `Environment`; without a difficulty, levels take turns."""
        if split not in SPLITS:
            raise TaskNotFound(f"assistant has no split {split[:80]!r}; there are: {', '.join(SPLITS)}")
        if difficulty is not None and difficulty not in LEVELS:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(LEVELS)}")
        levels = [difficulty] if difficulty else list(LEVELS)
        size = catalogue.SIZES[split] * len(levels)

        def task(number: int) -> AssistantTask:
            level = levels[number % len(levels)]
            return _task(catalogue.place(split, level, number // len(levels)), level)

        return LazySequence(size, task)

    def task(self, task_id: str) -> AssistantTask:
        return _task(*catalogue.parsed(task_id))

    def offered_to(self, task: AssistantTask) -> Toolset:
        applications = catalogue.made(task.place).gold.draft.applications
        return TOOLSET if self.all_tools else _offered(applications)

    def budget(self, task: AssistantTask) -> int:
        return 3 * len(catalogue.made(task.place).actions) + TURNS_BEYOND[task.difficulty]

    def begin(self, task: AssistantTask, seed: int) -> Session:
        made = catalogue.made(task.place)
        return fresh(made.gold.draft, Office(catalogue.office(made.office).image))

    def reset(self, task: AssistantTask, seed: int) -> Observation:
        """As in `ToolEnvironment`; episodes of a task share their beginning."""
        made = catalogue.made(task.place)
        self.histories = catalogue.office(made.office).histories
        known = self.histories.beginning((task.id, self._options))
        if known is None:
            known = self._beginning(task, seed)
            self.histories.begin((task.id, self._options), known)
        self.task_now, self.offered = task, known.offered
        self.turns_allowed, self.turns, self.over = known.turns_allowed, 0, False
        self.point, self.state = known.point, known.point.session
        return known.observation

    def _beginning(self, task: AssistantTask, seed: int) -> Beginning:
        self.offered = self.offered_to(task)
        general = self._general.get(self.offered)
        if general is None:
            general = self._general[self.offered] = self.first_observation(OPENING)
        first = general.model_copy(update={"text": f"{general.text}\n\n{task.instruction}"})
        return Beginning(Point(self.begin(task, seed)), self.offered, self.budget(task), first)

    def step(self, action: str) -> StepResult:
        """As in `ToolEnvironment`; what an action does at a known point is not computed again."""
        if self.over:
            return super().step(action)
        known = self.point.known.get(action)
        if known is None:
            before, self.state = self.point, self.state.copy()
            result = super().step(action)
            self.point = Point(self.state, self.turns, self.over)
            self.histories.add(before, action, result, self.point)
            return result
        self.point = known.after
        self.state, self.turns, self.over = self.point.session, self.point.turns, self.point.over
        return known.result()

    def execute(self, tool: Tool, arguments: Mapping[str, Any]) -> object:
        return run_tool(self.state, tool, arguments)

    def restore(self, snapshot: object) -> None:
        super().restore(snapshot)
        self.histories = catalogue.office(catalogue.made(self.task_now.place).office).histories
        self.point = Point(self.state, self.turns, self.over)

    def verdict(self, task: AssistantTask, state: Session) -> Verdict:
        return judged(catalogue.made(task.place).gold, state)

    def copied(self, state: Session) -> Session:
        return state.copy()

    def net_change(self) -> object:
        """As in `ToolEnvironment`; episodes share what their offices hold, and the caller has a copy."""
        changed, inserted = self.state.office.net_change()
        return NetChange(dict(changed), inserted.copy())

    def note_change(self) -> None:
        """Nothing: the office has a log of its changes."""

    def takes_back(self) -> bool:
        return self.state.office.takes_back()

    def undone(self, task: AssistantTask) -> list[str] | None:
        session, tools = self.begin(task, 0), self.offered_to(task)
        for name, wrong, right in undoings(session.office):
            if name in tools and name not in session.failing:
                return [written(name, **wrong), written(name, **right)]
        return None

    def expert(self, task: AssistantTask) -> list[str]:
        return list(catalogue.made(task.place).actions)

    def demonstrate(self, task: AssistantTask, seed: int, care: float = 1.0) -> list[str]:
        program = catalogue.made(task.place).gold.draft.program()
        session = self.begin(task, seed)
        return played(program, session, Random(f"{task.id}/{seed}"), care)

    def shortcuts(self, task: AssistantTask) -> dict[str, list[str]]:
        if task.difficulty not in SHORTENED:
            return {}
        program = catalogue.made(task.place).gold.draft.program()
        found = {f"first_hit_{task.difficulty}": first_hit(program, self.begin(task, 0), task.instruction)}
        if task.difficulty == "refusal":
            found["blind_refusal"] = blind_refusal(task.kind, self.offered_to(task))
        return found


def _task(place: catalogue.Place, level: str) -> AssistantTask:
    draft = catalogue.made(place).gold.draft
    return AssistantTask(
        env="assistant",
        id=place.id,
        split=place.split,
        instruction=draft.instruction,
        kind=place.template,
        difficulty=level,
        place=place,
    )


@cache
def _offered(applications: tuple[str, ...]) -> Toolset:
    return offered(*applications)

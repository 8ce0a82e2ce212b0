"""Environment of a family: tools on a state, and a verdict on the first answer."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Generic

from pydantic import Field

from agentgym_envs.core import TaskNotFound
from agentgym_envs.families.answers import matches
from agentgym_envs.families.drafts import StateT
from agentgym_envs.families.player import played
from agentgym_envs.families.rendering import RENDERS, Render, error_text, goal_text, value_text
from agentgym_envs.families.tasks import VERSION, FamilyTask, Generator
from agentgym_envs.knowledge import VERSION as KNOWLEDGE
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.tooluse import SUCCESS, CallError, StrictHistory, ToolEnvironment, ToolsInOption, Verdict

THINKING = "Think:"
RENDER = "Form of observations: `json`, in words (`react`), or as AgentGym writes them (`agentgym`)."
KEPT = 4096
"""Tasks that a process keeps, of about 3 kB each: making one takes about a millisecond."""


class FamilyEnvironment(ToolEnvironment[FamilyTask, StateT], Generic[StateT]):
    """Environment of a family. The first `finish` ends an episode; it earns 1 or 0.

    A question needs its answer, an unchanged state, and, where it could be guessed, that tools returned the
    rows on which the answer rests. An operation needs the wanted state.

    Raises `ValueError` for an option's value that there is not.
    """

    generator: ClassVar[Generator[Any]]
    blocking = False
    forkable = True
    max_turns = 20

    def __init__(
        self,
        render: Annotated[Render, Field(description=RENDER)] = "json",
        *,
        tools_in: ToolsInOption = "schemas",
        strict_history: StrictHistory = False,
    ) -> None:
        if render not in RENDERS:
            raise ValueError(f"no render {str(render)[:40]!r}; there are: {', '.join(RENDERS)}")
        self.render: Render = render
        self.tell_tools_in(tools_in)
        self.strict_history = strict_history

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.generator.counts)

    @property
    def data_version(self) -> str:
        return f"generated:{VERSION}.{KNOWLEDGE}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[FamilyTask]:
        counts = self.generator.counts
        if split not in counts:
            raise TaskNotFound(f"{self.name} has no split {split[:80]!r}; there are: {', '.join(counts)}")
        if difficulty is not None:
            raise ValueError(f"{self.name} has no difficulties")
        return LazySequence(counts[split], lambda number: _made(self.generator, split, number))

    def task(self, task_id: str) -> FamilyTask:
        return _made(self.generator, *self.generator.place(task_id))

    def begin(self, task: FamilyTask, seed: int) -> StateT:
        return self.generator.state(task.split, task.setting)

    def opening(self, task: FamilyTask) -> str:
        return goal_text(self.render, task.instruction)

    def giving_up(self, task: FamilyTask) -> list[str]:
        return [task.plan[-1].partition('"arguments"')[0] + '"arguments": {"answer": null}}']

    def hear(self, message: str) -> str | None:
        """A thought is answered, and changes nothing."""
        return self.rendered("OK.") if message.strip().startswith(THINKING) else None

    def rendered(self, value: object) -> str:
        return super().rendered(value) if self.render == "json" else value_text(self.render, value)

    def rendered_error(self, error: CallError) -> str:
        return super().rendered_error(error) if self.render == "json" else error_text(error)

    def joined(self, texts: Sequence[str]) -> str:
        return super().joined(texts) if self.render == "json" else "\n".join(texts)

    def net_change(self) -> object:
        return self.state.change()

    def verdict(self, task: FamilyTask, state: StateT) -> Verdict:
        if not state.reached(task.change):
            return Verdict(0.0, "collateral" if task.change is None else "wrong_state")
        if task.answer is not None and not matches(task.answer, state.given):
            return Verdict(0.0, "wrong_answer")
        if not all(map(state.knows, task.evidence)):
            return Verdict(0.0, "missing_evidence")
        return SUCCESS

    def expert(self, task: FamilyTask) -> list[str]:
        return list(task.plan)

    def demonstrate(self, task: FamilyTask, seed: int, care: float = 1.0) -> list[str]:
        return played(type(self)(), task, self.generator, seed, care)

    def copied(self, state: StateT) -> StateT:
        return state.copy()


@lru_cache(KEPT)
def _made(generator: Generator[Any], split: str, number: int) -> FamilyTask:
    return generator.task(split, number)

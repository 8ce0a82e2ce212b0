"""Environment whose actions are tool calls.

A subclass states its tools, how an episode begins, and the verdict at its end. Parsing, validation, errors as
observations, the end of the episode and its budget are here.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast, get_args

from pydantic import Field
from pydantic_core import to_json

from agentgym_envs.core import Environment, Observation, StepResult, TaskT
from agentgym_envs.tooluse.calls import MOST_CALLS, SURROGATES, Call, decoded, mentions_call, parse
from agentgym_envs.tooluse.errors import INVALID, CallError
from agentgym_envs.tooluse.outcomes import Verdict
from agentgym_envs.tooluse.renderings import reads_only, signatures
from agentgym_envs.tooluse.tool import Tool, Toolset

StateT = TypeVar("StateT")
ToolsIn = Literal["schemas", "text"]
"""Values of `ToolEnvironment.tools_in`."""
ToolsInOption = Annotated[
    ToolsIn,
    Field(
        description="Form and place of the tools: `schemas` beside each observation, or signatures in the"
        " `text` of the first observation, for models with a short memory."
    ),
]
StrictHistory = Annotated[
    bool,
    Field(
        description="A write that leads back to an earlier state costs the reward; otherwise what is undone"
        " is no change."
    ),
]

DONE = CallError("episode_done", "the episode is over")


class ToolEnvironment(Environment[TaskT], Generic[TaskT, StateT]):
    """Environment whose actions are tool calls on a state of type `StateT`.

    A successful call of a tool of the kind `control` ends the episode, and `verdict` is asked, once. The last
    allowed turn without one ends it as truncated, with reward 0 and the outcome `budget`.
    """

    toolset: Toolset
    """Tools of every task, unless `offered_to` differs: then those of all tasks."""
    parallel_calls: ClassVar[bool] = True
    """True if one message may have several calls, which are executed in their order."""
    most_calls: ClassVar[int] = MOST_CALLS
    """Calls that one message may have."""
    python_calls: ClassVar[bool] = False
    """True if calls in Python's syntax are read too."""

    refusals: ClassVar[tuple[str, ...]] = ()
    """Actions that refuse a task, of which a policy may always take the same: for the attack suite."""
    attack_bounds: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Mean returns that policies of the attack suite may have, where the suite's own bounds do not hold."""

    tools_in: ToolsIn = "schemas"
    """Form and place of tools: schemas in `Observation.tools`, or signatures in the text of the first
    observation, for models with a short memory.
    """
    strict_history: bool = False
    """True if a write that leads back to an earlier state costs the reward; otherwise what is undone is no
    change.
    """
    state: StateT
    """The state of the current episode."""
    _visited: tuple[object, ...] = ()
    """Net changes after the writes of the episode, in `strict_history` only."""
    _went_back: bool = False

    def tell_tools_in(self, place: ToolsIn) -> None:
        """Set `tools_in`; raises `ValueError` for another value."""
        if place not in get_args(ToolsIn):
            raise ValueError(f"tools_in is schemas or text, not {str(place)[:40]!r}")
        self.tools_in = place

    @property
    def tools(self) -> tuple[dict[str, Any], ...] | None:
        """The schemas of `toolset`; None where tools are told in text."""
        return self.toolset.functions if self.tools_in == "schemas" else None

    @property
    def read_only_tools(self) -> Mapping[str, bool]:
        return {tool.name: reads_only(tool) for tool in self.toolset.values()}

    def offered_to(self, task: TaskT) -> Toolset:
        """The tools of a task at its beginning."""
        return self.toolset

    @abstractmethod
    def begin(self, task: TaskT, seed: int) -> StateT:
        """The state in which an episode begins."""

    @abstractmethod
    def verdict(self, task: TaskT, state: StateT) -> Verdict:
        """The judgement of an episode that a control tool ended."""

    @abstractmethod
    def net_change(self) -> object:
        """Changes of the current episode so far, as a value that is equal for equal states.

        For checks and attacks; it never reaches an agent.
        """

    def shortcuts(self, task: TaskT) -> Mapping[str, Sequence[str]]:
        """Actions of players who leave out what a task is about, by name: for the attack suite."""
        return {}

    def undone(self, task: TaskT) -> list[str] | None:
        """A write that the task does not ask for, and the call that takes it back: for the attack suite.

        None where the tools cannot, or cannot for this task.
        """
        return None

    def giving_up(self, task: TaskT) -> list[str]:
        """Actions that end an episode at once, without an answer; none where only a turn limit does."""
        return []

    def opening(self, task: TaskT) -> str:
        """The first observation, which tells the task: an agent reads nothing else."""
        return task.instruction

    def budget(self, task: TaskT) -> int:
        """Number of turns that an episode of a task may take."""
        return self.max_turns

    def execute(self, tool: Tool, arguments: Mapping[str, Any]) -> object:
        """The result of a tool, a JSON value. One that raises `ToolError` must leave the state as it was."""
        return tool.run(self.state, **arguments)

    def hear(self, message: str) -> str | None:
        """The answer to a message without a call; None where nobody listens, so that it is a parse error."""
        return None

    def calls_in(self, action: str) -> tuple[Call, ...]:
        """The calls of an action; raises `CallError`."""
        calls = parse(action, python=self.python_calls, most=self.most_calls)
        if len(calls) > 1 and not self.parallel_calls:
            raise CallError("parse_error", f"{len(calls)} calls in one message; one is allowed", expected=1)
        return calls

    def arguments_of(self, tool: Tool, call: Call) -> dict[str, Any]:
        """The validated arguments of a call; raises `CallError`."""
        if call.positional:
            raise CallError("invalid_arguments", "arguments are given by name")
        given = decoded(call.arguments, tool.parameters) if call.texts else call.arguments
        if None in given.values():  # models write null for what they leave out
            given = {name: one for name, one in given.items() if one is not None or name in tool.required}
        return cast("dict[str, Any]", tool.check(given, ""))

    def rendered(self, value: object) -> str:
        """The result of a tool as text."""
        return to_json(value, inf_nan_mode="constants").decode()

    def rendered_error(self, error: CallError) -> str:
        """An error as text."""
        return to_json(error.as_json()).decode()

    def unknown_tool(self, name: str) -> CallError:
        """The error of a call of a tool that is not offered."""
        return unknown_tool(name, self.offered)

    def joined(self, texts: Sequence[str]) -> str:
        """The observation of several calls of one message."""
        return f"[{', '.join(texts)}]"

    def reset(self, task: TaskT, seed: int) -> Observation:
        self.task_now = task
        self.offered = self.offered_to(task)
        self.turns, self.over = 0, False
        self.turns_allowed = self.budget(task)
        self.state = self.begin(task, seed)
        self._visited, self._went_back = ((self.net_change(),) if self.strict_history else ()), False
        return self.first_observation(self.opening(task))

    def first_observation(self, opening: str) -> Observation:
        """The first observation of an episode with the tools that are offered now."""
        if self.tools_in == "schemas":
            return Observation(text=opening, tools=self.offered.functions)
        return Observation(text=f"{opening}\n{signatures(self.offered.values())}")

    def with_new_tools(self, text: str, known: Toolset) -> str:
        """`text`, followed by the tools that are offered now and not among `known`, where tools are told in
        text.
        """
        new = [tool for name, tool in self.offered.items() if name not in known]
        return f"{text}\n{signatures(new)}" if new and self.tools_in == "text" else text

    @property
    def tools_shown(self) -> tuple[dict[str, Any], ...] | None:
        """Tools of an observation."""
        return self.offered.functions if self.tools_in == "schemas" else None

    def step(self, action: str) -> StepResult:
        if self.over:
            observation = Observation(text=self.rendered_error(DONE), tools=self.tools_shown)
            return StepResult(observation=observation, terminated=True, info={"invalid_action": True})
        self.turns += 1
        try:
            calls = self.calls_in(action)
        except CallError as error:
            answer = None if mentions_call(action) else self.hear(SURROGATES.sub("\ufffd", action))
            if answer is not None:
                return self.settled(answer)
            return self.settled(self.rendered_error(error), invalid=True)
        if len(calls) == 1:
            return self.settled(*self._answer(calls[0]))
        answers = [self._answer(call) for call in calls]
        return self.settled(self.joined([text for text, _ in answers]), any(bad for _, bad in answers))

    def copied(self, state: StateT) -> StateT:
        """A copy of the state that later steps of this episode do not change; a deep copy by default."""
        return deepcopy(state)

    def snapshot(self) -> object:
        if not self.forkable:
            return super().snapshot()
        return Snapshot(
            self.name,
            self.task_now,
            self.offered,
            self.turns,
            self.over,
            self.copied(self.state),
            self._visited,
            self._went_back,
        )

    def restore(self, snapshot: object) -> None:
        if not self.forkable:
            super().restore(snapshot)
        if not isinstance(snapshot, Snapshot) or snapshot.environment != self.name:
            raise TypeError(f"not a snapshot of {self.name}: {type(snapshot).__name__}")
        self.task_now, self.offered = snapshot.task, snapshot.offered
        self.turns, self.over = snapshot.turns, snapshot.over
        self.turns_allowed = self.budget(self.task_now)
        self.state = self.copied(snapshot.state)
        self._visited, self._went_back = snapshot.visited, snapshot.went_back

    def _answer(self, call: Call) -> tuple[str, bool]:
        """The text that answers a call, and whether the call was malformed."""
        try:
            if self.over:  # an earlier call of the same message ended the episode
                raise DONE
            tool = self.offered.get(call.name)
            if tool is None:
                raise self.unknown_tool(call.name)
            value = self.execute(tool, self.arguments_of(tool, call))
        except CallError as error:
            return self.rendered_error(error), error.code in INVALID
        if tool.kind == "control":
            self.over = True
        elif self.strict_history and tool.kind == "write":
            self.note_change()
        return self.rendered(value), False

    def note_change(self) -> None:
        """Note the state after a write, in `strict_history`."""
        now = self.net_change()
        if now != self._visited[-1]:
            self._went_back = self._went_back or now in self._visited
            self._visited = (*self._visited, now)

    def takes_back(self) -> bool:
        """True if a write of the episode led back to an earlier state; known in `strict_history` only."""
        return self._went_back

    def settled(self, text: str, invalid: bool = False) -> StepResult:
        """The result of a turn; asks for the verdict at the end."""
        observation = Observation(text=text, tools=self.tools_shown)
        info: dict[str, Any] = {"invalid_action": True} if invalid else {}
        if self.over:
            verdict = self.verdict(self.task_now, self.state)
            if self.strict_history and verdict.reward and self.takes_back():
                verdict = Verdict(0.0, "collateral", verdict.details)
            info |= {"outcome": verdict.outcome, **verdict.details}
            return StepResult(observation=observation, reward=verdict.reward, terminated=True, info=info)
        if self.turns >= self.turns_allowed:
            self.over = True
            return StepResult(observation=observation, truncated=True, info=info | {"outcome": "budget"})
        return StepResult(observation=observation, info=info)


class Snapshot(NamedTuple):
    """A point of an episode."""

    environment: str
    task: Any
    offered: Toolset
    turns: int
    over: bool
    state: Any
    visited: tuple[object, ...] = ()
    went_back: bool = False


def unknown_tool(name: str, offered: Toolset) -> CallError:
    """The error of a call of a tool that is not offered."""
    known = list(offered)
    return CallError(
        "unknown_tool", f"there is no tool {name[:80]!r}; there are: {', '.join(known)}", expected=known
    )

"""Environment of a tau domain: `TauEnvironment`, which the domains complete with tools and state.

Modes of the user: `solo` (no user: the agent reads a ticket and has the tool `done`), `stub`, `scripted` and
`llm` (see `agentgym_envs.tau.users`), in which the agent's messages without a call go to the user.
"""

import inspect
import json
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast, get_args

from agentgym_envs.core import Observation, StepResult
from agentgym_envs.formats import after_thinking
from agentgym_envs.home import data_home
from agentgym_envs.tau.attempts import attempted
from agentgym_envs.tau.data.domain import Domain, TaskSource
from agentgym_envs.tau.data.library import ImportedData
from agentgym_envs.tau.data.shelf import Shelf
from agentgym_envs.tau.judging.gold import Gold, replayed
from agentgym_envs.tau.judging.judge import JudgeModel, judgement_of
from agentgym_envs.tau.judging.judgement import Line
from agentgym_envs.tau.judging.verdict import has_statements, verdict_of
from agentgym_envs.tau.options import (
    JudgeModelOption,
    ShowsPolicy,
    Strict,
    Trainable,
    UpstreamQuirks,
    UserModelOption,
    UserOption,
)
from agentgym_envs.tau.rehearsal import rehearsed
from agentgym_envs.tau.tasks import Assertion, TauTask, Version
from agentgym_envs.tau.users import (
    LanguageModelUser,
    User,
    UserMode,
    UserModel,
    can_be_scripted,
    has_stopped,
    make_user,
)
from agentgym_envs.tau.world import Executed, World
from agentgym_envs.tooluse import (
    CallError,
    StrictHistory,
    Tool,
    ToolEnvironment,
    Toolset,
    ToolsInOption,
    Verdict,
)
from agentgym_envs.tooluse.calls import mentions_call, written
from agentgym_envs.tooluse.outcomes import Outcome

WorldT = TypeVar("WorldT", bound=World)

BUILTIN = "builtin"
"""Source of the tasks that this project generates."""
SOLO_RULES = (
    "You resolve the ticket of a customer with tool calls only: you cannot talk to the customer. Follow the"
    " policy. When the ticket is resolved, or cannot be, end with a single call of the tool `done`."
)
DIALOGUE_RULES = (
    "You are a customer service agent. Help the customer and follow the policy. In each turn either send a"
    " message to the customer or call a tool, not both."
)
GREETING = "Hi! How can I help you today?"


@dataclass(frozen=True)
class _Snapshot:
    env: str
    task: TauTask
    world: World
    user: User | None
    turns: int
    over: bool


class TauEnvironment(ToolEnvironment[TauTask, WorldT]):
    """Customer service of one company, with a policy.

    Endpoints are records or what `Endpoint.of` reads. `home` is where imported data are looked for (None:
    `agentgym_envs.home.data_home`), and `sources` replaces them and the built-in tasks.
    """

    max_turns = 60
    blocking = False
    forkable = True
    modes: ClassVar[tuple[UserMode, ...]] = ("solo", "stub", "scripted", "llm")

    def __init__(
        self,
        *,
        user: UserOption = "solo",
        user_model: UserModelOption = None,
        judge_model: JudgeModelOption = None,
        strict: Strict = False,
        trainable: Trainable = False,
        policy: ShowsPolicy = True,
        tools_in: ToolsInOption = "schemas",
        upstream_quirks: UpstreamQuirks = False,
        strict_history: StrictHistory = False,
        home: Path | None = None,
        sources: Sequence[TaskSource] | None = None,
    ) -> None:
        if user not in get_args(UserMode) or user not in self.modes:
            raise ValueError(
                f"{self.name} has no user {str(user)[:80]!r}; there are: {', '.join(self.modes)}"
            )
        if (user == "llm") != (user_model is not None):
            raise ValueError("user_model=UserModel(base_url=..., model=...) goes with user='llm'")
        self.tell_tools_in(tools_in)
        self.user_mode: UserMode = user
        self.user_model = None if user_model is None else UserModel.of(user_model)
        self.judge_model = None if judge_model is None else JudgeModel.of(judge_model)
        self.strict = strict
        self.trainable = trainable
        self.shows_policy = policy
        self.quirks = upstream_quirks
        self.strict_history = strict_history
        self.user: User | None = None
        if sources is None:
            imported = ImportedData.open(home or data_home(), self.name)
            sources = (self.builtin(), *([imported] if imported else ()))
        self._sources = sources
        self._shelf = Shelf(self.name, sources)
        self.toolset = Toolset.merged(map(self._offered_in, self._shelf.versions))

    @classmethod
    @abstractmethod
    def builtin(cls) -> TaskSource:
        """The tasks that this project generates."""

    @abstractmethod
    def fresh(self, task: TauTask, domain: Domain, seed: int) -> WorldT:
        """The state in which an episode begins, after its set-up calls."""

    @abstractmethod
    def tools_of(self, version: Version) -> Toolset:
        """The agent's tools in a dialogue; `solo_tools_of` adds to them without one."""

    @abstractmethod
    def solo_tools_of(self, version: Version) -> Toolset:
        """The agent's tools where there is no user."""

    @abstractmethod
    def policy_of(self, task: TauTask, domain: Domain) -> str:
        """The policy text of a task."""

    def user_tools_of(self) -> Toolset | None:
        """Tools of a simulated user, if it has some."""
        return None

    def holds(self, world: WorldT, assertion: Assertion) -> bool:
        """True if an assertion holds in the final state."""
        raise CallError("tool_error", f"{self.name} has no assertion {assertion.function!r}")

    def strict_fault(self, task: TauTask, world: WorldT) -> Outcome | None:
        """A condition of `strict` that an episode broke."""
        return None

    @property
    def speaks(self) -> bool:
        return self.user_mode != "solo"

    @property
    def splits(self) -> tuple[str, ...]:
        return self._shelf.splits

    @property
    def data_version(self) -> str:
        return self._shelf.digest

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[TauTask]:
        """As in `Environment`. `tau2_base`, the benchmark's test set, is `tau2_train` and `tau2_test`."""
        if difficulty is not None:
            raise ValueError(f"{self.name} has no difficulty {difficulty[:80]!r}: its tasks have none")
        found = self._shelf.tasks(split)
        return [self._shown(one) for one in found if self._is_offered(one)]

    def task(self, task_id: str) -> TauTask:
        return self._shown(self._shelf.task(task_id))

    def _is_offered(self, task: TauTask) -> bool:
        """True for a task that this mode and the option `trainable` list."""
        if self.trainable and not task.trainable:
            return False
        if self.user_mode != "scripted":
            return True
        return can_be_scripted(task.scenario) and self.wins_rehearsal(task)

    def wins_rehearsal(self, task: TauTask) -> bool:
        """True if a player with the gold calls wins in a dialogue with the scripted user; played once per
        process.
        """
        found = self.domain_of(task).rehearsals
        key = (task.id, self.quirks)
        if key not in found:
            found[key] = rehearsed(self._stage, task).won
        return found[key]

    @cached_property
    def _stage(self) -> "TauEnvironment[WorldT]":
        """An environment for rehearsals: they do not disturb the current episode."""
        return type(self)(user="scripted", policy=False, upstream_quirks=self.quirks, sources=self._sources)

    def _shown(self, task: TauTask) -> TauTask:
        """The task as this mode tells it: in a dialogue the user knows the wishes, not the agent."""
        if self.user_mode == "solo":
            return task
        return task.model_copy(update={"instruction": "Help the customer, as the policy says."})

    def domain_of(self, task: TauTask) -> Domain:
        """The data that a task is played on."""
        return self._shelf.domain_of(task)

    def gold(self, task: TauTask, seed: int = 0) -> Gold:
        """The gold state, replayed once per process; once more where its rows have ids by the seed."""
        domain = self.domain_of(task)
        key = (task.id, self.quirks)
        if key not in domain.golds:
            domain.golds[key] = self._replayed(task, 0)
        found = domain.golds[key]
        return self._replayed(task, seed) if found.has_seeded_ids and seed else found

    def _replayed(self, task: TauTask, seed: int) -> Gold:
        return replayed(task, self._start(task, seed), self.solo_tools_of(task.version), self._run)

    def _run(self, world: Any, tool: Tool, arguments: Mapping[str, Any]) -> object:
        return self.run_tool(world, tool, arguments)

    def run_tool(self, world: WorldT, tool: Tool, arguments: Mapping[str, Any]) -> object:
        """The result of a tool on a state, which is as before if the tool raises. Raises `CallError` only."""
        return attempted(world, tool, arguments, self.after_call)

    def after_call(self, world: WorldT) -> None:
        """Apply to the state what follows from each successful call."""

    def offered_to(self, task: TauTask) -> Toolset:
        return self._offered_in(task.version)

    def _offered_in(self, version: Version) -> Toolset:
        return self.solo_tools_of(version) if self.user_mode == "solo" else self.tools_of(version)

    def begin(self, task: TauTask, seed: int) -> WorldT:
        world = self._start(task, seed)
        world.calls.clear()
        return world

    def _start(self, task: TauTask, seed: int) -> WorldT:
        world = self.fresh(task, self.domain_of(task), seed)
        world.quirks = self.quirks
        return world

    def execute(self, tool: Tool, arguments: Mapping[str, Any]) -> object:
        given = dict(arguments)
        try:
            value = self.run_tool(self.state, tool, arguments)
        except CallError:
            self.state.calls.append(Executed(tool.name, given, refused=True))
            raise
        text = value if isinstance(value, str) else ""
        self.state.calls.append(Executed(tool.name, given, text=text))
        if tool.kind == "control":
            self.state.ended_by = tool.name
        return value

    def opening(self, task: TauTask) -> str:
        rules = SOLO_RULES if self.user_mode == "solo" else DIALOGUE_RULES
        policy = self.policy_of(task, self.domain_of(task)) if self.shows_policy else ""
        so_far = "\n".join(f"{line.speaker.capitalize()}: {line.text}" for line in task.history)
        history = f"The dialogue so far:\n{so_far}" if so_far else ""
        ticket = f"Ticket:\n{task.instruction}" if self.user_mode == "solo" else ""
        return "\n\n".join(part for part in (rules, policy, history, ticket) if part)

    def reset(  # pyright: ignore[reportIncompatibleMethodOverride] - a model as the user is waited for
        self, task: TauTask, seed: int
    ) -> Observation | Awaitable[Observation]:
        observation = super().reset(task, seed)
        self.user = None
        self.state.dialogue.extend(task.history)
        if self.user_mode == "solo":
            self.state.dialogue.append(Line("ticket", task.instruction))
            return observation
        self.user = make_user(self.user_mode, task, seed, self.user_model, self._user_seat(task))
        if task.version == "tau2" and not task.history:
            self.state.dialogue.append(Line("agent", GREETING))
        greeting = self.state.dialogue[-1].text if self.state.dialogue else None
        if isinstance(self.user, LanguageModelUser):
            return self._greeted(observation, self.user, greeting)
        return self._with_message(observation, self.user.open(greeting))

    async def _greeted(
        self, observation: Observation, user: LanguageModelUser, greeting: str | None
    ) -> Observation:
        return self._with_message(observation, await user.answer_later(greeting))

    def _with_message(self, observation: Observation, message: str) -> Observation:
        self.state.dialogue.append(Line("customer", message))
        return observation.model_copy(update={"text": f"{observation.text}\n\nCustomer: {message}"})

    def step(  # pyright: ignore[reportIncompatibleMethodOverride] - a model as the user is waited for
        self, action: str
    ) -> StepResult | Awaitable[StepResult]:
        if self.over:
            return super().step(action)
        message = after_thinking(action).strip()
        self.state.dialogue.append(Line("agent", message))
        if isinstance(self.user, LanguageModelUser) and not mentions_call(action):
            self.turns += 1
            return self._asked(self.user, message)
        return super().step(action)

    async def _asked(self, user: LanguageModelUser, message: str) -> StepResult:
        self.state.messages.append(message)
        result = self.settled(self._heard(await user.answer_later(message)))
        return await result if inspect.isawaitable(result) else result

    def settled(  # pyright: ignore[reportIncompatibleMethodOverride] - a judge is waited for
        self, text: str, invalid: bool = False
    ) -> StepResult | Awaitable[StepResult]:
        if self.state.dialogue[-1].speaker == "agent":
            self.state.dialogue.append(Line("tools", text))
        if self.over and self.judge_model is not None and has_statements(self.task_now):
            return self._judged(self.judge_model, text, invalid)
        return self._concluded(text, invalid)

    async def _judged(self, model: JudgeModel, text: str, invalid: bool) -> StepResult:
        """The result of the last turn. The judge is asked also where another part has failed already: with a
        judge that is out of order all episodes fail then, and not only those that would have won.
        """
        self.state.judgement = await judgement_of(self.task_now.statements, self.state.dialogue, model)
        return self._concluded(text, invalid)

    def _concluded(self, text: str, invalid: bool) -> StepResult:
        """The result of a turn; the last one tells whether its task is trainable, none before it does."""
        result = super().settled(text, invalid)
        if not self.over:
            return result
        return result.model_copy(update={"info": {**result.info, "trainable": self.task_now.trainable}})

    def hear(self, message: str) -> str | None:
        if self.user is None or isinstance(self.user, LanguageModelUser):
            return None
        text = after_thinking(message).strip()
        if not text:
            return None
        self.state.messages.append(text)
        return self._heard(self.user.answer(text))

    def _heard(self, reply: str) -> str:
        if has_stopped(reply):
            self.over, self.state.ended_by = True, "user"
        self.state.dialogue.append(Line("customer", reply))
        return reply

    def _user_seat(self, task: TauTask) -> tuple[Toolset, Callable[[Tool, dict[str, Any]], str]] | None:
        """The tools of the user, and what executes them."""
        tools = self.user_tools_of()
        return None if tools is None else (tools, self._user_call)

    def _user_call(self, tool: Tool, arguments: dict[str, Any]) -> str:
        try:
            return self.rendered(self.execute(tool, arguments))
        except CallError as error:
            return self.rendered_error(error)

    def verdict(self, task: TauTask, state: WorldT) -> Verdict:
        return verdict_of(self, task, state)

    def rendered(self, value: object) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    def rendered_error(self, error: CallError) -> str:
        return f"Error: {error.message}"

    def unknown_tool(self, name: str) -> CallError:
        return CallError("unknown_tool", f"Tool '{name[:80]}' not found.", expected=list(self.offered))

    def joined(self, texts: Sequence[str]) -> str:
        return "\n".join(texts)

    def net_change(self) -> object:
        return self.state.changes(), self.state.user_changes(), list(self.state.messages)

    def giving_up(self, task: TauTask) -> list[str]:
        return [written("done")]

    def expert(self, task: TauTask) -> list[str] | None:
        """The gold actions, what is to be told, and the end; None where there is a user."""
        if self.user_mode != "solo":
            return None
        tools = self.solo_tools_of(task.version)
        plan = [*self.evidence(task), *self._gold_actions(task)]
        if task.communicate:
            plan.append(written("reply", text=", ".join(task.communicate)))
        ends = any(tools[action.name].kind == "control" for action in task.gold if action.name in tools)
        return plan if ends and not task.communicate else [*plan, written("done")]

    def evidence(self, task: TauTask) -> list[str]:
        """Reads that `strict` asks for, before the gold actions."""
        return []

    def _gold_actions(self, task: TauTask) -> list[str]:
        return [written(action.name, **action.arguments) for action in task.gold]

    def snapshot(self) -> object:
        if not hasattr(self, "state"):
            raise RuntimeError("snapshot before reset")
        user = self.user.copied(None) if self.user is not None else None
        return _Snapshot(self.name, self.task_now, self.state.copy(), user, self.turns, self.over)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Snapshot) or snapshot.env != self.name:
            raise TypeError(f"not a snapshot of {self.name}: {type(snapshot).__name__}")
        self.task_now = snapshot.task
        self.offered = self.offered_to(snapshot.task)
        self.turns, self.over = snapshot.turns, snapshot.over
        self.turns_allowed = self.budget(snapshot.task)
        self.state = cast("WorldT", snapshot.world.copy())
        seat = self._user_seat(snapshot.task)
        self.user = snapshot.user.copied(seat) if snapshot.user is not None else None

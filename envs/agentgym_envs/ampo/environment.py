"""One reply to a dialogue, as an `Environment`: `Ampo`."""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from agentgym_envs.ampo.importing import imported_states
from agentgym_envs.ampo.judging import change_reward, goal_after
from agentgym_envs.ampo.records import State
from agentgym_envs.ampo.staging import staged, transcript, value
from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.home import data_home
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.options import PRIVATE
from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.family import LEVELS
from agentgym_envs.social.outcome import LABEL
from agentgym_envs.social.tasks import COUNTS, VERSION, SocialTask, tasks
from agentgym_envs.social.tasks import task as social_task
from agentgym_envs.social.thinking_seat import ThinkingSeat
from agentgym_envs.sotopia.models.judge import JudgeFault, JudgeModel
from agentgym_envs.sotopia.protocol.actions import NOTHING, Action, ReplyError, from_text
from agentgym_envs.thinking import HEADERS

STATES = "states"
"""Split of the imported states."""
INSTRUCTION = "Reply to the conversation so that you come nearer to your goal."
_IMPORTED = re.compile(rf"{STATES}/(0|[1-9][0-9]{{0,8}})")

JudgeOption = Annotated[
    JudgeModel | Mapping[str, Any] | str | None,
    AfterValidator(JudgeModel.checked),
    Field(
        description="Endpoint that judges replies to imported states, as a JSON object with `base_url` and"
        " `model`; without one such a reply is `failed(judge)`.",
        json_schema_extra=PRIVATE,
    ),
]


class AmpoTask(Task):
    """A dialogue before a reply."""

    origin: SocialTask | None = None
    """Task of the social worlds behind a generated state."""
    state: State | None = None
    """Imported state."""


class Ampo(Environment[AmpoTask]):
    """The reply to a dialogue; its reward is AMPO's, by the change of the actor's goal score.

    1/2 for no change, up to 1 for all that was missing, down to 0 for the loss of everything. The scores of
    generated states, in `train`, `valid` and `test`, are what a player of the social worlds makes of a state:
    rule-based partner and outcome verifier; not Sotopia's judge; not a measure of social intelligence. Those
    of imported states, in `states`, are a judge's, before the reply as recorded and after it as `judge` says.
    """

    name = "ampo"
    max_turns = 1
    blocking = False
    difficulties = LEVELS
    baselines = {"idle": (0.35, 0.5), "spray": (0.35, 0.5)}  # noqa: RUF012 - a class fact, never changed

    def __init__(self, judge: JudgeOption = None) -> None:
        self._judge = None if judge is None else JudgeModel.of(judge)
        self._task: AmpoTask | None = None
        self._seat: ThinkingSeat | None = None
        self._before = 0.0
        self._is_over = False

    @property
    def splits(self) -> tuple[str, ...]:
        return (*COUNTS, *([STATES] if imported_states(data_home()) else []))

    @property
    def data_version(self) -> str:
        return f"generated:{VERSION}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[AmpoTask]:
        """As in `Environment`; generated states are of all families in turn, imported ones have no levels."""
        if difficulty is not None and difficulty not in LEVELS:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(LEVELS)}")
        if split == STATES and split in self.splits:
            count = len(imported_states(data_home())) if difficulty is None else 0
            return LazySequence(count, _imported)
        if split not in COUNTS:
            raise TaskNotFound(f"ampo has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        origins = tasks(split, list(FAMILIES), LEVELS if difficulty is None else (difficulty,))
        return LazySequence(len(origins), lambda index: _generated(origins[index]))

    def task(self, task_id: str) -> AmpoTask:
        if found := _IMPORTED.fullmatch(task_id):
            if int(found[1]) < len(imported_states(data_home())):
                return _imported(int(found[1]))
        elif not task_id.startswith(f"{STATES}/"):
            return _generated(_social(task_id))
        raise TaskNotFound(f"ampo has no task {task_id[:80]!r}")

    def reset(self, task: AmpoTask, seed: int) -> Observation:
        self._task, self._is_over = task, False
        if task.state is not None:
            self._seat, self._before = None, task.state.scores[task.state.actor]
            return Observation(text=task.state.instruction)
        self._seat = staged(_origin(task))
        self._before = value(self._seat)
        return Observation(text=transcript(self._seat))

    async def step(self, action: str) -> StepResult:
        task = self._task
        if task is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        self._is_over = True
        if self._seat is not None:
            return self._result(value(self._seat, _spoken(action)), {"label": LABEL})
        if task.state is None or self._judge is None:
            raise JudgeFault("no judge: set environment.options.judge to its endpoint")
        return self._result(await goal_after(task.state, action, self._judge), {})

    def demonstrate_in_modes(
        self, task: AmpoTask, seed: int, care: float = 1.0, modes: Sequence[int] = tuple(HEADERS)
    ) -> list[str]:
        """The reply of the family's thinker to a generated state."""
        if task.origin is None:
            raise NotImplementedError("nobody demonstrates replies to imported states")
        origin, draws = task.origin, Random(f"{task.id}/{seed}/modes")
        thought = staged(origin).think()
        if draws.random() >= care:
            thought = thought.instead(origin.family.random_move(origin.setting, origin.seat, draws))
        return [thought.reply(draws.choice(modes))]

    def close(self) -> None:
        self._task, self._seat = None, None

    def _result(self, after: float, info: Mapping[str, Any]) -> StepResult:
        before, reward = self._before, change_reward(self._before, after)
        return StepResult(
            observation=Observation(text="That is all."),
            reward=reward,
            terminated=True,
            info={**info, "before": round(before, 3), "after": round(after, 3)},
        )


def _spoken(message: str) -> Action:
    """The action in a message; a message that is none does nothing."""
    try:
        return from_text(message)
    except ReplyError:
        return NOTHING


def _social(task_id: str) -> SocialTask:
    try:
        return social_task(task_id, list(FAMILIES))
    except TaskNotFound:
        raise TaskNotFound(f"ampo has no task {task_id[:80]!r}") from None


def _origin(task: AmpoTask) -> SocialTask:
    if task.origin is None:
        raise ValueError(f"{task.id!r} has neither a state nor an origin")
    return task.origin


def _generated(origin: SocialTask) -> AmpoTask:
    return AmpoTask(
        env=Ampo.name,
        id=origin.id,
        split=origin.split,
        instruction=origin.instruction,
        kind=origin.kind,
        difficulty=origin.difficulty,
        origin=origin,
    )


def _imported(number: int) -> AmpoTask:
    state = imported_states(data_home())[number]
    return AmpoTask(
        env=Ampo.name,
        id=f"{STATES}/{number}",
        split=STATES,
        instruction=INSTRUCTION,
        kind="imported",
        state=state,
    )

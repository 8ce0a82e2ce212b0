"""BabyAI as an `Environment`."""

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from random import Random
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from agentgym_envs.babyai import levels
from agentgym_envs.babyai.actions import UNCHANGED
from agentgym_envs.babyai.episode import Moment, Outcome, moment, perform
from agentgym_envs.babyai.player import played
from agentgym_envs.babyai.tasks import (
    AGENTGYM_SEEDS,
    COUNTS,
    FIRST_SEEDS,
    BabyAITask,
    Draft,
    drafted,
    found,
)
from agentgym_envs.core import Environment, Observation, StepResult, TaskNotFound
from agentgym_envs.lazy_sequence import LazySequence

Variant = Literal["default", "agentgym"]

AGENTGYM: Final = "agentgym"
ROOMS: Final = {"room": range(1, 2), "rooms": range(2, 9), "maze": range(9, 100)}
"""Difficulties by number of rooms. Some levels have nine and use one."""
VARIANT = (
    "`agentgym`: tasks by AgentGym's numbers, its texts and rewards; an episode that ends with a reward of at"
    " most 1/2 goes on there."
)
LEVELS = "Levels: `agentgym` has the 40 of AgentGym, `all` those of the package; or names with commas."
LIMIT = "Most actions of an episode."

_ID = re.compile(r"(train|valid|test)/(\w{1,40})/(0|[1-9][0-9]{0,6})")
_GAME = re.compile(r"agentgym/(0|[1-9][0-9]{0,4})")


@dataclass(frozen=True)
class _Snapshot:
    """State of an episode."""

    task: BabyAITask
    level: Any
    now: Moment
    is_over: bool
    paid: bool


class BabyAI(Environment[BabyAITask]):
    """Reward 1 for the mission, once. The agent sees seven by seven cells in front of it."""

    name = "babyai"
    forkable = True
    # Spray turns, walks and picks up: a small level is won by chance.
    baselines = {"idle": (0.0, 0.0), "spray": (0.0, 0.5)}  # noqa: RUF012 - a class fact, never changed

    def __init__(
        self,
        variant: Annotated[Variant, Field(description=VARIANT)] = "default",
        levels: Annotated[str, Field(description=LEVELS)] = AGENTGYM,
        limit: Annotated[int, Field(description=LIMIT, ge=1, le=1000)] = 20,
    ) -> None:
        if variant not in get_args(Variant):
            raise ValueError(f"no variant {variant!r}; there are: {', '.join(get_args(Variant))}")
        if variant == AGENTGYM and levels != AGENTGYM:
            raise ValueError("variant=agentgym has AgentGym's levels: leave out the option levels")
        self.variant: Variant = variant
        self.max_turns = limit
        self._levels = _named(levels)
        self.difficulties = () if variant == AGENTGYM else tuple(ROOMS)
        self._task: BabyAITask | None = None
        self._level: Any = None
        self._now: Moment | None = None
        self._is_over = self._paid = False

    @property
    def splits(self) -> tuple[str, ...]:
        return (AGENTGYM,) if self.variant == AGENTGYM else tuple(COUNTS)

    @property
    def data_version(self) -> str:
        return f"generated:minigrid-{version('minigrid')}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[BabyAITask]:
        if split not in self.splits:
            raise TaskNotFound(f"babyai has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in self.difficulties:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(self.difficulties)}")
        if self.variant == AGENTGYM:
            return LazySequence(len(levels.AGENTGYM) * AGENTGYM_SEEDS, self._game)
        names = [name for name in self._levels if difficulty in (None, _difficulty(_rooms(name)))]
        return LazySequence(
            len(names) * COUNTS[split],
            lambda index: _task(split, found(names[index % len(names)], split, index // len(names))),
        )

    def task(self, task_id: str) -> BabyAITask:
        game = _GAME.fullmatch(task_id)
        if self.variant == AGENTGYM and game and int(game[1]) < len(levels.AGENTGYM) * AGENTGYM_SEEDS:
            return self._game(int(game[1]))
        parts = _ID.fullmatch(task_id)
        if self.variant == "default" and parts and parts[2] in self._levels:
            split, level, seed = parts[1], parts[2], int(parts[3])
            if 0 <= seed - FIRST_SEEDS[split] < 1_000_000:
                try:
                    draft = drafted(level, seed)
                except levels.UnluckySeedError as cause:
                    raise TaskNotFound(f"babyai has no task {task_id[:80]!r}: {cause}") from cause
                if draft.split == split:
                    return _task(split, draft)
        raise TaskNotFound(f"babyai has no task {task_id[:80]!r}")

    def reset(self, task: BabyAITask, seed: int) -> Observation:
        self._level = levels.opened(task.level)
        image = levels.generate(self._level, task.level_seed)
        if self.variant == "default":
            image = self._level.gen_obs()["image"]
        self._task, self._is_over, self._paid = task, False, False
        self._now = now = moment(self._level, image, original=self.variant == AGENTGYM)
        text = f"Your goal: {task.mission}\n{now.text}{now.listed}"
        return Observation(text=text, actions=now.actions)

    def step(self, action: str) -> StepResult:
        if self._now is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        wanted = action.lower().strip()
        if self.variant == "default":
            wanted = wanted.replace("pick up ", "pickup ")
        plan = None if "check" in wanted else self._now.plan(wanted)
        if plan:
            outcome = perform(self._level, plan, self._now.image, original=self.variant == AGENTGYM)
            return self._moved(outcome)
        return self._told(wanted, is_known=plan is not None)

    def expert(self, task: BabyAITask) -> list[str] | None:
        """Actions along the way of minigrid's bot; None where it does not win within the limit."""
        mine = played(_generated(task), Random(0), 1.0, self.max_turns)
        return mine.actions if mine.reward > 0 and self.variant == "default" else None

    def demonstrate(self, task: BabyAITask, seed: int, care: float = 1.0) -> list[str]:
        draw = Random(f"{task.id}/{seed}")
        return played(_generated(task), draw, care, self.max_turns).actions

    def snapshot(self) -> object:
        if self._task is None or self._now is None:
            raise RuntimeError("snapshot before reset")
        return _Snapshot(self._task, deepcopy(self._level), self._now, self._is_over, self._paid)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Snapshot):
            raise TypeError(f"not a snapshot of babyai: {type(snapshot).__name__}")
        self._task, self._level = snapshot.task, deepcopy(snapshot.level)
        self._is_over, self._paid = snapshot.is_over, snapshot.paid
        self._now = snapshot.now

    def _told(self, wanted: str, *, is_known: bool) -> StepResult:
        """Result of an action that leaves the world as it is."""
        now = self._now
        if now is None:
            raise RuntimeError("step before reset")
        info: dict[str, Any] = {"variant": self.variant}
        if "check" in wanted:
            text = f"You can take the following actions: {', '.join(now.choices.plans)}"
        elif is_known:
            text = UNCHANGED
        else:
            text = now.choices.why_not(wanted)
            info["invalid_action"] = True
        return StepResult(observation=Observation(text=text + now.listed, actions=now.actions), info=info)

    def _moved(self, outcome: Outcome) -> StepResult:
        self._now = now = moment(self._level, outcome.image, original=self.variant == AGENTGYM)
        info: dict[str, Any] = {"variant": self.variant}
        raw = 0.0 if self._paid else outcome.reward
        reward = raw if self.variant == AGENTGYM else float(raw > 0)
        self._paid = self._paid or raw > 0
        if outcome.terminated:
            info |= {"success": int(outcome.reward > 0), "raw_reward": outcome.reward}
        text = now.text
        if outcome.terminated:
            failed = self.variant == "default" and outcome.reward <= 0
            text += "\n The task has failed." if failed else "\n The task is completed."
        ends = outcome.terminated and (self.variant == "default" or outcome.reward > 0.5)
        cut = outcome.truncated and not outcome.terminated and self.variant == "default"
        self._is_over = ends or cut
        return StepResult(
            observation=Observation(text=text + now.listed, actions=now.actions),
            reward=reward,
            terminated=ends,
            truncated=cut,
            info=info,
        )

    def _game(self, number: int) -> BabyAITask:
        """Task of AgentGym's number: the level counts fastest."""
        seed, place = divmod(number, len(levels.AGENTGYM))
        draft = drafted(levels.AGENTGYM[place], seed)
        task = _task(AGENTGYM, draft)
        mission = draft.mission.replace("then", "and").replace("after you", "and")
        return task.model_copy(update={"id": f"{AGENTGYM}/{number}", "mission": mission})


def _named(text: str) -> tuple[str, ...]:
    """Levels of the option. Raises `ValueError` for an unknown one."""
    if text == AGENTGYM:
        return levels.AGENTGYM
    if text == "all":
        return tuple(sorted(levels.known()))
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in levels.known():
            raise ValueError(f"no level {name[:80]!r}; there are: {', '.join(sorted(levels.known()))}")
    if not names:
        raise ValueError("no level is named")
    return names


def _generated(task: BabyAITask) -> Any:
    level = levels.opened(task.level)
    levels.generate(level, task.level_seed)
    return level


@cache
def _rooms(name: str) -> int:
    level = levels.opened(name)
    return level.num_rows * level.num_cols


def _difficulty(rooms: int) -> str:
    return next(name for name, counts in ROOMS.items() if rooms in counts)


def _task(split: str, draft: Draft) -> BabyAITask:
    mission = draft.mission
    return BabyAITask(
        env=BabyAI.name,
        id=f"{split}/{draft.level}/{draft.seed}",
        split=split,
        instruction=f"{mission[:1].upper()}{mission[1:]}.",
        kind=draft.level,
        difficulty="" if split == AGENTGYM else _difficulty(draft.rooms),
        level=draft.level,
        level_seed=draft.seed,
        mission=mission,
    )

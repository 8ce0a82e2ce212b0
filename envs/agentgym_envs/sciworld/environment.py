"""ScienceWorld as an `Environment`."""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.sciworld.games import (
    SIMPLIFICATIONS,
    SPLITS,
    TASKS,
    Game,
    agentgym_games,
    games,
    is_game,
)
from agentgym_envs.sciworld.jvm import SMALL_HEAP_MB, Jvm, Simulator, check_java, shared

Variant = Literal["default", "agentgym"]

AGENTGYM: Final = "agentgym"
VARIANT = "`agentgym`: AgentGym's 4,639 games by its numbers; the first look around is an action of the game."
SIMPLIFICATION = f"Helpers, with commas: {', '.join(SIMPLIFICATIONS)}. It is a part of task ids."
LIMIT = "Most moves of an episode; waiting is ten of them."
FRESH = (
    "Each episode in a Java machine of its own, which starts in a second, so that equal actions have equal"
    " observations: in one that has played before, temperatures and orders of lists differ."
)
VALID = "Observations list the valid actions, which takes most of the time of a step."

_ID = re.compile(r"(train|valid|test)/(\d{1,2}-\d)/(0|[1-9]\d{0,3})")
_GAME = re.compile(r"agentgym/(0|[1-9]\d{0,3})")


class ScienceWorldTask(Task):
    """Game of ScienceWorld, with its description."""

    game: str
    """The task's name in the package."""
    variation: int


class ScienceWorld(Environment[ScienceWorldTask]):
    """Rewards are the changes of the score, from 0 to 1. A forbidden action ends the game and loses all."""

    name = "sciworld"

    def __init__(
        self,
        variant: Annotated[Variant, Field(description=VARIANT)] = "default",
        simplification: Annotated[str, Field(description=SIMPLIFICATION)] = "",
        limit: Annotated[int, Field(description=LIMIT, ge=1, le=10_000)] = 100,
        fresh: Annotated[bool, Field(description=FRESH)] = False,
        valid: Annotated[bool, Field(description=VALID)] = False,
    ) -> None:
        if variant not in get_args(Variant):
            raise ValueError(f"no variant {variant!r}; there are: {', '.join(get_args(Variant))}")
        check_java()
        self.variant: Variant = variant
        self._simplification = _checked(simplification)
        self.max_turns = self._limit = limit
        self.deterministic = fresh
        self._lists = valid
        self.difficulties = () if variant == AGENTGYM else tuple(TASKS)
        self._jvm: Jvm | None = None
        self._simulator: Simulator | None = None
        self._earned, self._is_over = 0.0, True

    @property
    def splits(self) -> tuple[str, ...]:
        return (AGENTGYM,) if self.variant == AGENTGYM else SPLITS

    @property
    def data_version(self) -> str:
        return f"generated:scienceworld-{version('scienceworld')}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[ScienceWorldTask]:
        if split not in self.splits:
            raise TaskNotFound(f"sciworld has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in self.difficulties:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(self.difficulties)}")
        if split == AGENTGYM:
            numbered = agentgym_games()
            return LazySequence(
                len(numbered), lambda index: self._task(split, numbered[index], f"{AGENTGYM}/{index}")
            )
        found = games(split, difficulty)
        return LazySequence(len(found), lambda index: self._task(split, found[index]))

    def task(self, task_id: str) -> ScienceWorldTask:
        own, _, helpers = task_id.partition("+")
        if helpers == self._simplification:
            number, parts = _GAME.fullmatch(own), _ID.fullmatch(own)
            if self.variant == AGENTGYM and number:
                numbered = agentgym_games()
                if int(number[1]) < len(numbered):
                    return self._task(AGENTGYM, numbered[int(number[1])], own)
            elif self.variant == "default" and parts and is_game(*parts.groups()):
                return self._task(parts[1], Game(parts[2], int(parts[3])))
        raise TaskNotFound(f"sciworld has no task {task_id[:80]!r}")

    def reset(self, task: ScienceWorldTask, seed: int) -> Observation:
        self.close()
        self._jvm = Jvm(SMALL_HEAP_MB, most=1) if self.deterministic else shared()
        self._simulator = simulator = self._jvm.simulator()
        simulator.load(task.game, task.variation, self._simplification)
        self._earned, self._is_over = 0.0, False
        seen = simulator.text("step", "look around") if self.variant == AGENTGYM else None
        text = f"{simulator.text('getTaskDescription')}\n{seen or simulator.text('freeActionLook')}"
        return Observation(text=text, actions=self._actions(simulator))

    def step(self, action: str) -> StepResult:
        simulator = self._simulator
        if simulator is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        text = simulator.text("step", action.strip())
        score, moves = simulator.score(), simulator.moves()
        forbidden = score < 0
        ends = simulator.is_complete() or forbidden
        cut = not ends and moves > self._limit
        self._is_over = ends or cut
        before, self._earned = self._earned, max(score, 0) / 100
        return StepResult(
            observation=Observation(text=text, actions=self._actions(simulator)),
            reward=self._earned - before,
            terminated=ends,
            truncated=cut,
            info=self._info(simulator, text, score, moves),
        )

    def close(self) -> None:
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None
        if self._jvm is not None and self.deterministic:
            self._jvm.close()
        self._jvm = None

    def expert(self, task: ScienceWorldTask) -> list[str] | None:
        """The package's gold path, which need not be the shortest; None where it has too many moves."""
        path, moves = _gold(task.game, task.variation, self._simplification)
        return list(path) if path and max(len(path), moves) <= self._limit else None

    def _actions(self, simulator: Simulator) -> tuple[str, ...] | None:
        if not self._lists or self._is_over:
            return None
        return tuple(sorted(set(simulator.texts("getValidActionObjectCombinations"))))

    def _info(self, simulator: Simulator, text: str, score: int, moves: int) -> dict[str, Any]:
        info: dict[str, Any] = {"variant": self.variant, "score": score, "moves": moves}
        if score < 0:
            info["forbidden"] = True
        if text.startswith("No known action matches that input."):
            info["invalid_action"] = True
        if self.variant == AGENTGYM:
            info["goals"] = simulator.text("getGoalProgressStr")
            info["possible_actions"] = simulator.texts("getPossibleActions")
            info["possible_objects"] = simulator.texts("getPossibleObjects")
        return info

    def _task(self, split: str, game: Game, name: str | None = None) -> ScienceWorldTask:
        own = name or f"{split}/{game.task}/{game.variation}"
        return ScienceWorldTask(
            env=self.name,
            id=f"{own}+{self._simplification}" if self._simplification else own,
            split=split,
            instruction=_described(game, self._simplification),
            kind=game.name,
            difficulty="" if split == AGENTGYM else game.task,
            game=game.name,
            variation=game.variation,
        )


def _checked(simplification: str) -> str:
    """Helpers in the package's order. Raises `ValueError` for an unknown one."""
    wanted = {one.strip() for one in simplification.split(",") if one.strip()}
    if unknown := sorted(wanted - set(SIMPLIFICATIONS)):
        raise ValueError(f"no helper {unknown[0][:80]!r}; there are: {', '.join(SIMPLIFICATIONS)}")
    return ",".join(one for one in SIMPLIFICATIONS if one in wanted)


@lru_cache(maxsize=8192)
def _described(game: Game, simplification: str) -> str:
    """Description of a game's task, which only the simulator knows."""
    simulator = shared().simulator()
    try:
        simulator.load(game.name, game.variation, simplification)
        return simulator.text("getTaskDescription")
    finally:
        simulator.close()


@lru_cache(maxsize=8192)
def _gold(name: str, variation: int, simplification: str) -> tuple[tuple[str, ...], int]:
    """Actions of a game's gold path and their moves; no actions where it does not earn everything."""
    simulator = shared().simulator()
    try:
        simulator.load(name, variation, simplification, with_gold=True)
        path = simulator.texts("getGoldActionSequence")
        for used, action in enumerate(path, 1):
            simulator.text("step", action)
            if simulator.is_complete():
                return tuple(path[:used]) if simulator.score() == 100 else (), simulator.moves()
    finally:
        simulator.close()
    return (), 0

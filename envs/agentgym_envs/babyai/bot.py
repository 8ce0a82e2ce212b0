"""The bot of minigrid, which plays minigrid's own actions, and the path that it goes."""

# minigrid's bot has no types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, cast

from minigrid.core.world_object import Box
from minigrid.envs.babyai.core.verifier import ObjDesc, OpenInstr, PutNextInstr, SeqInstr
from minigrid.utils.baby_ai_bot import (
    BabyAIBot,
    DisappearedBoxError,
    DropSubgoal,
    GoNextToSubgoal,
    Subgoal,
)

from agentgym_envs.babyai.routes import DROP, PICKUP, TOGGLE
from agentgym_envs.babyai.view import Cell, Pose

DONE: Final = 6
"""Action of a bot that has nothing left to do."""
MOST_SEARCHES: Final = 200
"""Searches of the bot for one action, after which it is going in circles."""
MOST_STEPS: Final = 600
"""Actions of the bot."""

Touch = tuple[int, Cell]
"""A thing was picked up, dropped or toggled, and the cell where it was."""


class _LostError(Exception):
    """The bot searches without end."""


FAULTS: Final = (_LostError, AssertionError, AttributeError, IndexError, TypeError, DisappearedBoxError)
"""Errors with which the bot gives up."""


class _OpenBox(Subgoal):
    """Subgoal: toggle the box ahead."""

    def replan_before_action(self) -> int:
        return TOGGLE

    def replan_after_action(self, action_taken: int | None) -> None:
        if action_taken in (None, TOGGLE):
            self.bot.stack.pop()
        else:
            self._plan_undo_action(action_taken)


class Bot(BabyAIBot):
    """Bot that gives up where minigrid's would search for ever.

    It also opens boxes for keys, and may hold the thing to put down from the beginning.
    """

    _searches = 0

    def replan(self, action_taken: int | None = None) -> int:
        self._searches = 0
        action: Any = super().replan(action_taken)
        return int(action)

    def _breadth_first_search(self, *given: Any, **named: Any) -> Any:
        self._searches += 1
        if self._searches > MOST_SEARCHES:
            raise _LostError
        found: Any = super()._breadth_first_search(*given, **named)
        return found

    def _process_instr(self, instr: Any) -> None:
        level = cast("Any", self.mission)
        if isinstance(instr, PutNextInstr) and level.carrying in instr.desc_move.obj_set:
            self.stack.append(DropSubgoal(self))
            self.stack.append(GoNextToSubgoal(self, instr.desc_fixed, reason="PutNext"))
            return
        super()._process_instr(instr)
        if isinstance(instr, OpenInstr):
            for box in _boxes_with_key(level, instr):
                self.stack.append(_OpenBox(self))
                self.stack.append(GoNextToSubgoal(self, box))

    def _check_erroneous_box_opening(self, action: int | None) -> None:
        """Boxes are opened for what is in them."""


def _boxes_with_key(level: Any, instr: OpenInstr) -> list[ObjDesc]:
    """Boxes that hold the key of a locked door of the instruction."""
    colors = {door.color for door in instr.desc.obj_set if door.is_locked}
    boxes = [(one, one.contains) for one in level.grid.grid if isinstance(one, Box)]
    found = [ObjDesc("box", box.color) for box, held in boxes if held is not None and held.color in colors]
    for box in found:
        box.find_matching_objs(level)
    return found


@dataclass(frozen=True)
class Point:
    """State of a bot's path: pose, touches since its beginning, parts of the mission that are done."""

    pose: Pose
    touches: tuple[Touch, ...]
    progress: tuple[object, ...]


def point(level: Any, touches: tuple[Touch, ...]) -> Point:
    """The point at which a level is."""
    cell = (int(level.agent_pos[0]), int(level.agent_pos[1]))
    return Point(Pose(cell, int(level.agent_dir)), touches, _progress(level.instrs))


def _progress(mission: Any) -> tuple[object, ...]:
    if not isinstance(mission, SeqInstr):
        return ()
    done = (getattr(mission, "a_done", None), getattr(mission, "b_done", None))
    return (*done, _progress(mission.instr_a), _progress(mission.instr_b))


@dataclass
class Guide:
    """A bot on a level of its own."""

    level: Any
    bot: Bot
    path: list[Point] = field(default_factory=list[Point])
    """Points from here to the end, where the bot wins or gives up."""

    def look_ahead(self) -> None:
        """Fill the path."""
        level, bot = deepcopy((self.level, self.bot))
        self.path = [point(level, ())]
        for action in _actions(level, bot):
            last = self.path[-1]
            touches = last.touches
            if action in (PICKUP, DROP, TOGGLE):
                touches = (*touches, (action, last.pose.ahead))
            self.path.append(point(level, touches))

    def advance(self, steps: int) -> None:
        """Go on by `steps` points."""
        for _ in zip(range(steps), _actions(self.level, self.bot), strict=False):
            pass
        self.path = self.path[steps:]

    def follow(self, actions: list[int]) -> None:
        """Do what an agent did instead, and fill the path anew."""
        for action in actions:
            self.level.step(action)
            self.bot.replan(action)
        self.look_ahead()


def guide(level: Any) -> Guide:
    """Guide from the beginning of a level."""
    own = deepcopy(level)
    found = Guide(own, Bot(own))
    found.look_ahead()
    return found


def _actions(level: Any, bot: Bot) -> Iterator[int]:
    """Actions of the bot, each after it was executed."""
    for _ in range(MOST_STEPS):
        try:
            action = bot.replan()
        except FAULTS:
            return
        if action == DONE:
            return
        _, _, terminated, truncated, _ = level.step(action)
        yield action
        if terminated or truncated:
            return

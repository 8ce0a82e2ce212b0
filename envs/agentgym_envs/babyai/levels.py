"""Levels of BabyAI (arXiv:1810.08272) by name, and their generation."""

from functools import cache
from typing import Any, Final, cast

import gymnasium
import minigrid.envs.babyai.core.roomgrid_level as roomgrid_level
from minigrid.envs.babyai.core.verifier import AfterInstr, OpenInstr, SeqInstr

AGENTGYM: Final = (
    "GoToRedBallGrey",
    "GoToRedBall",
    "GoToRedBallNoDists",
    "GoToObjS6",
    "GoToLocalS8N7",
    "GoToObjMazeS7",
    "GoToImpUnlock",
    "GoToSeqS5R2",
    "GoToRedBlueBall",
    "GoToDoor",
    "GoToObjDoor",
    "Open",
    "OpenRedDoor",
    "OpenDoorLoc",
    "OpenRedBlueDoorsDebug",
    "OpenDoorsOrderN4Debug",
    "Pickup",
    "UnblockPickup",
    "PickupLoc",
    "PickupDistDebug",
    "PickupAbove",
    "PutNextLocalS6N4",
    "PutNextS7N4Carrying",
    "Unlock",
    "UnlockLocalDist",
    "KeyInBox",
    "UnlockPickupDist",
    "BlockedUnlockPickup",
    "UnlockToUnlock",
    "ActionObjDoor",
    "FindObjS7",
    "KeyCorridorS6R3",
    "OneRoomS20",
    "MoveTwoAcrossS8N9",
    "SynthS5R2",
    "SynthLoc",
    "SynthSeq",
    "MiniBossLevel",
    "BossLevel",
    "BossLevelNoUnlock",
)
"""The 40 levels of AgentGym, in its order."""
MOST_REJECTIONS: Final = 200
"""Drafts of a grid with a mission after which a seed is given up."""


def _ignore(*_: object) -> None:
    """Print nothing."""


# minigrid prints each rejected draft; a name of the module hides the builtin from it alone.
cast("Any", roomgrid_level).print = _ignore


class UnluckySeedError(RuntimeError):
    """A seed for which no draft of the level was accepted."""


@cache
def known() -> dict[str, str]:
    """Registered id of each level of the package, by its name."""
    ids = sorted(one for one in gymnasium.registry if one.startswith("BabyAI-"))
    return {one.split("-")[1]: one for one in ids}


def opened(name: str) -> Any:
    """A level, which is not generated yet. Raises `KeyError` for an unknown one."""
    return gymnasium.make(known()[name], disable_env_checker=True).unwrapped


def generate(level: Any, seed: int) -> Any:
    """Generate the level's grid and mission of `seed`; minigrid's first image.

    A thing that the agent holds from the beginning is still on the floor there. Raises `UnluckySeedError`
    where minigrid rejects `MOST_REJECTIONS` drafts, of which it knows no limit.
    """
    drafts = 0
    kind = cast("Any", type(level))

    def bounded() -> None:
        nonlocal drafts
        drafts += 1
        if drafts > MOST_REJECTIONS:
            raise UnluckySeedError(f"{kind.__name__}: no grid for seed {seed}")
        kind.gen_mission(level)

    level.gen_mission = bounded
    try:
        observed, _ = level.reset(seed=seed)
    finally:
        del level.gen_mission
    return observed["image"]


def is_winnable(level: Any) -> bool:
    """False where a door has to be opened after another one, and fails when another door is touched.

    So it is in minigrid's level OpenDoorsOrderN4Debug: opening the first door fails the second instruction.
    """
    mission = level.instrs
    if not isinstance(mission, SeqInstr):
        return True
    second = mission.instr_a if isinstance(mission, AfterInstr) else mission.instr_b
    return not (isinstance(second, OpenInstr) and second.strict)

"""Request to the package's engine: an episode, with everything that decides it."""

from typing import Any, Literal

from pydantic import Field

from agentgym_envs.core import Record
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import Order
from agentgym_envs.sotopia.protocol.profiles import Scene

PackageView = Literal["package", "omniscient", "lite"]
"""The views of `protocol.views` that the package has."""


class EpisodeRequest(Record):
    """An episode for the package, or for `records.record`."""

    scene: Scene
    script: tuple[tuple[Action, ...], tuple[Action, ...]] = ((), ())
    """Actions of each seat, one for each of its turns; then it leaves."""
    judge_replies: tuple[str, ...] = ()
    """The judge's replies. The package asks again where it cannot read the first."""
    order: Order = "round-robin"
    max_turns: int = Field(default=20, ge=1)
    """Steps."""
    max_stale: int = Field(default=2, ge=0)
    """A longer run of `none` ends the episode."""
    seed: int = 0
    """Draws the acting seats of `random` order."""
    view: PackageView = "package"
    endpoint: str | None = None
    """Base address of an OpenAI-compatible endpoint with the models `agent0`, `agent1` and `judge`, which
    then reply instead of the scripts.
    """
    judge_schema: Literal["keyed", "package"] = "keyed"
    """Class of a judgement: `keyed` sorts by key, as the protocol's prompt and the golden files have it;
    `package` is the package's own, and its scores belong to agents in the order of the reply.
    """
    id: str = Field(default="episode", pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")
    """Key of the EpisodeLog, a file name."""
    tag: str = ""

    @property
    def scripts(self) -> list[list[list[str]]]:
        """The script as type and argument of each action."""
        return [[[action.action_type, action.argument] for action in seat] for seat in self.script]

    def line(self, kind: Literal["episode", "views", "speed"], **more: Any) -> dict[str, Any]:
        """The request as the engine reads it."""
        # The package has other defaults than None for what a profile does not say.
        scene = self.scene.model_dump(mode="json", exclude_none=True)
        rest = self.model_dump(mode="json", exclude={"scene", "script"})
        return {"kind": kind, **scene, **rest, "script": self.scripts, **more}

"""AgentGym's environments as data: names, request fields and reply members of each.

An environment of ours without a counterpart is served as `stranger`, whose replies have the members of all
classes of dialect A.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentgym_server.dialects.agentgym import reply_fields as m
from agentgym_server.dialects.agentgym.errors import Dialect

DEVIATIONS = (
    "ids are unique and never given twice; POST /close everywhere; an id expires an hour after its last step;"
    " an id has an episode from /create on; nothing is earned after the end"
)
"""Intended differences from AgentGym's own servers."""


@dataclass(frozen=True, kw_only=True)
class AgentGymEnvironment:
    """Description of one AgentGym environment."""

    title: str
    """Title in the reply to `GET /`."""
    dialect: Dialect
    argument: tuple[str, ...]
    """Names of the field of a reset that holds the task's index."""
    argument_default: int | None = None
    """Index of a reset that names none; None: the index is required."""
    draws: bool = False
    """True if a reset without an index draws a random task."""
    creates_by_index: bool = False
    """True if `/create` requires the index of the first episode."""
    own_texts: tuple[str, ...] = ()
    """Text fields of `/create` (which then requires a body) that our environments cannot use."""
    worlds: tuple[str, ...] = ()
    """Allowed values of `world_type` of a reset; empty: there is no such field."""
    seeded: bool = False
    """True if a reset takes a seed."""
    splits: tuple[str, ...] = ()
    """Splits that indexes count over, where the environment has any of them; otherwise all splits."""
    ends: bool = True
    """True if a step after the end is an error; otherwise it repeats the last observation."""
    created: m.Shape
    begun: m.Shape
    stepped: m.Shape
    facts: Mapping[str, m.Shape] = field(default_factory=dict[str, m.Shape])
    """Per-episode facts of an id: `GET /{name}?id=`."""
    constants: Mapping[str, object] = field(default_factory=dict[str, object])
    """Constant facts: `GET /{name}` without an id."""
    pictures: tuple[str, ...] = ()
    """POST routes that our environments cannot answer."""

    @property
    def id_names(self) -> tuple[str, ...]:
        """Names of the id field, the proper one first; `id` is none where it is the task's index."""
        if self.dialect == "A":
            return ("id", "env_idx")
        return ("env_idx",) if "id" in self.argument else ("env_idx", "id")


ID: m.Shape = {"id": m.number}
SCORED: dict[str, m.Member] = {"observation": m.observation, "reward": m.reward, "score": m.score}
PERCENT: dict[str, m.Member] = {
    "observation": m.observation,
    "reward": m.percent_reward,
    "score": m.percent_score,
}
DONE: dict[str, m.Member] = {"done": m.done}
DELETED: dict[str, m.Member] = {"deleted": m.always(False)}
PLAYED: dict[str, m.Member] = {"observation": m.observation, "reward": m.reward, **DONE}
LISTED: dict[str, m.Member] = {"available_actions": m.actions}
STATE: dict[str, m.Member] = {"state": m.observation, "reward": m.reward, **DONE}
NOTHING: dict[str, m.Member] = {"info": m.always(None)}
ROOM: dict[str, m.Member] = {"observation": m.household}
MOVES = ["move left", "move right", "move up", "move down"]
SMALL_SHOP = ("1k-synthetic-test", "1k-synthetic-train")
"""Splits whose indexes equal AgentGym's goal numbers."""
OFFICIAL_GAMES = ("official_train", "valid_train", "valid_seen", "valid_unseen")


def _tool(title: str) -> AgentGymEnvironment:
    """The counterpart of one of the five tool servers."""
    return AgentGymEnvironment(
        title=title,
        dialect="B",
        argument=("id",),
        argument_default=0,
        creates_by_index=True,
        ends=False,
        created=m.number,
        begun=m.observation,
        stepped=PLAYED,
        facts={"observation": m.observation},
    )


COUNTERPARTS: dict[str, AgentGymEnvironment] = {
    "alfworld": AgentGymEnvironment(
        title="AlfWorld",
        dialect="A",
        argument=("game",),
        worlds=("Text", "Embody", "Hybrid"),
        splits=OFFICIAL_GAMES,
        created=ID,
        begun={"id": m.number, **ROOM, **LISTED, "task_type": m.trial},
        stepped={**ROOM, "reward": m.reward, **LISTED, **DONE},
        facts={"available_actions": m.actions, "observation": m.household, "detail": m.detail},
    ),
    "babyai": AgentGymEnvironment(
        title="BabyAI",
        dialect="A",
        argument=("data_idx",),
        created=ID,
        begun={**SCORED, **DELETED, **DONE},
        stepped={**SCORED, **DONE},
        facts={"observation": {**SCORED, **DONE, **DELETED}},
        pictures=("render",),
    ),
    "sciworld": AgentGymEnvironment(
        title="ScienceWorld",
        dialect="A",
        argument=("data_idx",),
        created=ID,
        begun={
            "task_name": m.kind,
            "var_num": m.place,
            "task_description": m.instruction,
            **PERCENT,
            **DELETED,
            **DONE,
        },
        stepped={**PERCENT, **DONE},
        facts={
            "observation": m.observation,
            "action_hint": m.hints,
            "goals": {"goals": m.told("goals")},
            "detail": m.detail,
            "task_description": {"task_description": m.instruction},
            "object_tree": {"object_tree": m.told("object_tree")},
            "state": m.told("state"),
        },
        pictures=("step_visual",),
    ),
    "textcraft": AgentGymEnvironment(
        title="TextCraft",
        dialect="A",
        argument=("data_idx",),
        argument_default=0,
        own_texts=("commands", "goal"),
        ends=False,
        created={"id": m.number, "observation": m.observation, **DONE, "reward": m.reward},
        begun={"id": m.number, "observation": m.observation, **DONE, "reward": m.reward},
        stepped=PLAYED,
        facts={"observation": m.observation, "detail": m.detail, "commands": m.recipes, "goal": m.craft},
    ),
    "maze": AgentGymEnvironment(
        title="LMRL-Gym",
        dialect="A",
        argument=("game",),
        created=ID,
        begun={"observation": m.observation},
        stepped=PLAYED,
        facts={"observation": m.observation, "detail": m.detail},
        constants={"available_actions": MOVES},
    ),
    "wordle": AgentGymEnvironment(
        title="LMRL-Gym",
        dialect="A",
        argument=("seed",),
        created=ID,
        begun={"id": m.number, "observation": m.always("Let's start Wordle!")},
        stepped={"observation": m.marks, "reward": m.reward, **DONE},
        facts={"filtered_vocab": m.vocabulary, "observation": m.observation, "detail": m.detail},
    ),
    "webshop": AgentGymEnvironment(
        title="WebShop",
        dialect="B",
        argument=("session_id",),
        draws=True,
        splits=SMALL_SHOP,
        ends=False,
        created=m.number,
        begun=m.with_nothing,
        stepped={**STATE, **NOTHING},
        facts={
            "observation": m.observation,
            "available_actions": m.buttons,
            "instruction_text": m.wish,
            "state": {"url": m.told("url"), "html": m.told("html"), "instruction_text": m.wish},
        },
    ),
    "sqlgym": AgentGymEnvironment(
        title="SQLGym",
        dialect="B",
        argument=("item_id",),
        ends=False,
        created=m.number,
        begun=m.with_nothing,
        stepped={**STATE, "state": m.result, "info": m.always({})},
        facts={"observation": m.observation},
    ),
    "searchqa": AgentGymEnvironment(
        title="SearchQA",
        dialect="B",
        argument=("id",),
        creates_by_index=True,
        splits=("test", "train"),
        ends=False,
        created=m.number,
        begun=m.observation,
        stepped={**PLAYED, **NOTHING},
        facts={"observation": m.observation},
    ),
    "weather": _tool("Weather"),
    "movie": _tool("Movie"),
    "todo": _tool("Todo"),
    "academia": _tool("Academia"),
    "sheet": _tool("Sheet"),
    "webarena": AgentGymEnvironment(
        title="Webarena",
        dialect="C",
        argument=("idx",),
        seeded=True,
        ends=False,
        created={"env_idx": m.number},
        begun={"observation": m.observation, "sites": m.sites, "object": m.instruction},
        stepped={
            "observation": m.observation,
            "reward": m.reward,
            "terminated": m.terminated,
            "truncated": m.truncated,
            "info": m.always({}),
        },
        facts={"observation": m.observation, "observation_metadata": m.told("observation_metadata")},
    ),
}
"""Counterparts by the name of our environment."""

ALIASES = {"lmrlgym/maze": "maze", "lmrlgym/wordle": "wordle"}
"""Further mount paths."""


def stranger(name: str) -> AgentGymEnvironment:
    """The default counterpart, for an environment that AgentGym does not have."""
    return AgentGymEnvironment(
        title=name,
        dialect="A",
        argument=("data_idx", "game", "idx"),
        argument_default=0,
        created=ID,
        begun={"id": m.number, **SCORED, **LISTED, **DONE, **DELETED},
        stepped={**SCORED, **LISTED, **DONE},
        facts={"observation": m.observation, "available_actions": m.actions, "detail": m.detail},
    )

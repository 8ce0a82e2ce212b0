"""AgentGym's environments as data: names, request fields and reply members of each.

An environment of ours without an original is served as `stranger`, whose replies have the
members of all classes of dialect A.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentgym_server.dialects.agentgym import reply_fields as reply
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
    created: reply.Shape
    begun: reply.Shape
    stepped: reply.Shape
    facts: Mapping[str, reply.Shape] = field(default_factory=dict[str, reply.Shape])
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


ID: reply.Shape = {"id": reply.number}
SCORED: dict[str, reply.Member] = {
    "observation": reply.observation,
    "reward": reply.reward,
    "score": reply.score,
}
PERCENT: dict[str, reply.Member] = {
    "observation": reply.observation,
    "reward": reply.percent_reward,
    "score": reply.percent_score,
}
DONE: dict[str, reply.Member] = {"done": reply.done}
DELETED: dict[str, reply.Member] = {"deleted": reply.always(False)}
PLAYED: dict[str, reply.Member] = {
    "observation": reply.observation,
    "reward": reply.reward,
    **DONE,
}
LISTED: dict[str, reply.Member] = {"available_actions": reply.actions}
STATE: dict[str, reply.Member] = {
    "state": reply.observation,
    "reward": reply.reward,
    **DONE,
}
NOTHING: dict[str, reply.Member] = {"info": reply.always(None)}
ROOM: dict[str, reply.Member] = {"observation": reply.household}
MOVES = ["move left", "move right", "move up", "move down"]
SMALL_SHOP = ("1k-synthetic-test", "1k-synthetic-train")
"""Splits whose indexes equal AgentGym's goal numbers."""
OWN_NUMBERS = ("agentgym", "train", "valid", "test")
"""Splits of the environments of tools: indexes begin with as many tasks as AgentGym has."""
OFFICIAL_GAMES = ("official_train", "valid_train", "valid_seen", "valid_unseen")


def _tool(title: str) -> AgentGymEnvironment:
    """The original of one of the five tool servers."""
    return AgentGymEnvironment(
        title=title,
        dialect="B",
        argument=("id",),
        argument_default=0,
        creates_by_index=True,
        splits=OWN_NUMBERS,
        ends=False,
        created=reply.number,
        begun=reply.observation,
        stepped=PLAYED,
        facts={"observation": reply.observation},
    )


COUNTERPARTS: dict[str, AgentGymEnvironment] = {
    "alfworld": AgentGymEnvironment(
        title="AlfWorld",
        dialect="A",
        argument=("game",),
        worlds=("Text", "Embody", "Hybrid"),
        splits=OFFICIAL_GAMES,
        created=ID,
        begun={"id": reply.number, **ROOM, **LISTED, "task_type": reply.trial},
        stepped={**ROOM, "reward": reply.reward, **LISTED, **DONE},
        facts={
            "available_actions": reply.actions,
            "observation": reply.household,
            "detail": reply.detail,
        },
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
            "task_name": reply.kind,
            "var_num": reply.variation,
            "task_description": reply.instruction,
            **PERCENT,
            "observation": reply.experiment,
            **DELETED,
            **DONE,
        },
        stepped={**PERCENT, **DONE},
        facts={
            "observation": reply.experiment,
            "action_hint": reply.hints,
            "goals": {"goals": reply.told("goals")},
            "detail": reply.detail,
            "task_description": {"task_description": reply.instruction},
            "object_tree": {"object_tree": reply.told("object_tree")},
            "state": reply.told("state"),
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
        created={
            "id": reply.number,
            "observation": reply.observation,
            **DONE,
            "reward": reply.reward,
        },
        begun={
            "id": reply.number,
            "observation": reply.observation,
            **DONE,
            "reward": reply.reward,
        },
        stepped=PLAYED,
        facts={
            "observation": reply.observation,
            "detail": reply.detail,
            "commands": reply.recipes,
            "goal": reply.craft,
        },
    ),
    "maze": AgentGymEnvironment(
        title="LMRL-Gym",
        dialect="A",
        argument=("game",),
        created=ID,
        begun={"observation": reply.observation},
        stepped=PLAYED,
        facts={"observation": reply.observation, "detail": reply.detail},
        constants={"available_actions": MOVES},
    ),
    "wordle": AgentGymEnvironment(
        title="LMRL-Gym",
        dialect="A",
        argument=("seed",),
        created=ID,
        begun={"id": reply.number, "observation": reply.always("Let's start Wordle!")},
        stepped={"observation": reply.marks, "reward": reply.reward, **DONE},
        facts={
            "filtered_vocab": reply.vocabulary,
            "observation": reply.observation,
            "detail": reply.detail,
        },
    ),
    "webshop": AgentGymEnvironment(
        title="WebShop",
        dialect="B",
        argument=("session_id",),
        draws=True,
        splits=SMALL_SHOP,
        ends=False,
        created=reply.number,
        begun=reply.with_nothing,
        stepped={**STATE, **NOTHING},
        facts={
            "observation": reply.observation,
            "available_actions": reply.buttons,
            "instruction_text": reply.wish,
            "state": {
                "url": reply.told("url"),
                "html": reply.told("html"),
                "instruction_text": reply.wish,
            },
        },
    ),
    "sqlgym": AgentGymEnvironment(
        title="SQLGym",
        dialect="B",
        argument=("item_id",),
        ends=False,
        created=reply.number,
        begun=reply.with_nothing,
        stepped={**STATE, "state": reply.result, "info": reply.always({})},
        facts={"observation": reply.observation},
    ),
    "searchqa": AgentGymEnvironment(
        title="SearchQA",
        dialect="B",
        argument=("id",),
        creates_by_index=True,
        splits=("test", "train"),
        ends=False,
        created=reply.number,
        begun=reply.observation,
        stepped={**PLAYED, **NOTHING},
        facts={"observation": reply.observation},
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
        created={"env_idx": reply.number},
        begun={
            "observation": reply.observation,
            "sites": reply.sites,
            "object": reply.instruction,
        },
        stepped={
            "observation": reply.observation,
            "reward": reply.reward,
            "terminated": reply.terminated,
            "truncated": reply.truncated,
            "info": reply.always({}),
        },
        facts={
            "observation": reply.observation,
            "observation_metadata": reply.told("observation_metadata"),
        },
    ),
}
"""Counterparts by the name of our environment."""

ALIASES = {"lmrlgym/maze": "maze", "lmrlgym/wordle": "wordle"}
"""Further mount paths."""


def stranger(name: str) -> AgentGymEnvironment:
    """The default original, for an environment that AgentGym does not have."""
    return AgentGymEnvironment(
        title=name,
        dialect="A",
        argument=("data_idx", "game", "idx"),
        argument_default=0,
        created=ID,
        begun={"id": reply.number, **SCORED, **LISTED, **DONE, **DELETED},
        stepped={**SCORED, **LISTED, **DONE},
        facts={
            "observation": reply.observation,
            "available_actions": reply.actions,
            "detail": reply.detail,
        },
    )

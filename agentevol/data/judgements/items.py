"""Items to be judged: conversations of two, and transcripts of one agent in any environment.

{"type": "conversation", "id": "a", "names": ["Ana Reed", "Bo Lind"], "background": "Here is ...",
 "log": [[{"action_type": "speak", "argument": "Hello."}, {"action_type": "none"}]]}
{"type": "episode", "episode": {"pk": "b", "environment": "...", "messages": [...], ...}}
{"type": "record", "record": {"format": "sotopia-conversation/1", "task_id": "sotopia/290", ...}}
{"type": "social", "id": "c", "task_id": "test/price/1/0", "seed": 7, "log": [...]}
{"type": "transcript", "id": "d", "env": "guess", "task_id": "guess-4", "instruction": "Find the number.",
 "turns": [{"action": "4", "observation": "Right."}]}
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Final, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic_core import PydanticSerializationError

from agentevol.core.judges import JudgedEpisode, JudgedTurn
from agentevol.data.judgements.dimension_sets import DimensionSet
from agentevol.data.judgements.outcomes import sendable
from agentgym_envs.core import Record
from agentgym_envs.sotopia.data.episodes import FORMS, RecordedEpisode, read_episode
from agentgym_envs.sotopia.data.profile_set import PREFIX
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import EndReason, Order
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_store.records import Trajectory

MOST_STEPS: Final = 10_000
"""Steps of a conversation, or turns of a transcript."""

Name = Annotated[str, Field(min_length=1, max_length=256)]


def _pair(given: object) -> object:
    """An action as an object; records have it as its type and argument."""
    if isinstance(given, list | tuple) and len(pair := cast("Sequence[object]", given)) == 2:
        return {"action_type": pair[0], "argument": pair[1]}
    return given


RecordedAction = Annotated[Action, BeforeValidator(_pair)]
Log = Annotated[tuple[tuple[RecordedAction, RecordedAction], ...], Field(max_length=MOST_STEPS)]
"""Actions of both seats by step, as objects or as pairs of type and argument."""


class _Judged(Record):
    id: Annotated[str, Field(max_length=256)] = ""
    """Name of the item in the reply."""
    dimensions: DimensionSet | None = None
    """Dimensions of this item; None: those of the request."""

    seats: ClassVar[int] = 2
    """Number of those who are judged."""

    @property
    def digest(self) -> str:
        """Hexadecimal digits that are equal for items of equal content, whatever their ids."""
        try:
            content = self.model_dump_json(exclude={"id"})
        except PydanticSerializationError:  # a lone surrogate, which only escapes can hold
            content = json.dumps(self.model_dump(exclude={"id"}))
        return sha256(content.encode()).hexdigest()[:16]


class Conversation(_Judged):
    """Conversation of two seats, with all that a judge reads."""

    type: Literal["conversation"] = "conversation"
    background: str
    """Context, both biographies and both goals (`agentgym_envs.sotopia.protocol.views.judge_background`)."""
    names: tuple[Name, Name]
    """By seat."""
    log: Log
    scene: Annotated[Scene, WithJsonSchema({"type": "object"})] | None = None
    """Profiles in their published form, from which rules read the goals; a model does not see them."""


def _episode(given: object) -> object:
    if not isinstance(given, Mapping):
        return given
    return read_episode(cast("Mapping[str, Any]", given))


class Episode(_Judged):
    """Recorded conversation in the form of Sotopia's `EpisodeLog`; its profiles are looked up by their
    keys.
    """

    type: Literal["episode"] = "episode"
    episode: Annotated[RecordedEpisode, BeforeValidator(_episode), WithJsonSchema({"type": "object"})]


class RecordedTalk(BaseModel):
    """Conversation as the environment `sotopia` keeps it (`agentgym_envs.sotopia.play.records`)."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal["sotopia-conversation/1"]
    task_id: Name
    seed: Annotated[int, Field(ge=0, le=2**53 - 1, strict=True)]
    scenario: Name
    """Key of the scenario."""
    agents: tuple[Name, Name]
    """Keys of the characters by seat."""
    names: tuple[Name, Name]
    order: Order
    judge_background: str | None = None
    """None where a program judged; then it is that of the profiles."""
    log: Log
    end_reasons: tuple[EndReason, ...]
    status: Literal["judged", "unjudged", "unfinished"]

    @property
    def is_published(self) -> bool:
        """Whether it is of a published task, and not of a generated one."""
        return self.task_id.startswith(PREFIX)


class Recording(_Judged):
    """Conversation that the environment `sotopia` has kept, whether it was judged or not."""

    type: Literal["record"] = "record"
    record: Annotated[RecordedTalk, WithJsonSchema({"type": "object"})]


class Social(_Judged):
    """Conversation of the environment `social`, which is found again by its task and seed."""

    type: Literal["social"] = "social"
    task_id: Name
    seed: Annotated[int, Field(ge=0, le=2**53 - 1, strict=True)]
    log: Log


class Turn(Record):
    """Action of an agent, and what it observes then."""

    action: str
    observation: str = ""


class Transcript(_Judged):
    """Episode of one agent in any environment, as text."""

    seats = 1
    type: Literal["transcript"] = "transcript"
    env: Annotated[str, Field(max_length=256)] = ""
    task_id: Annotated[str, Field(max_length=256)] = ""
    instruction: str = ""
    initial_observation: str = ""
    turns: Annotated[tuple[Turn, ...], Field(max_length=MOST_STEPS)]
    seat: Annotated[int, Field(ge=0, le=63, strict=True)] = 0

    @classmethod
    def of(cls, episode: JudgedEpisode, name: str = "") -> "Transcript":
        """Item of an episode as a run's judge sees it."""
        turns = tuple(
            Turn(action=sendable(one.action), observation=sendable(one.observation)) for one in episode.turns
        )
        return cls(
            id=name,
            env=sendable(episode.env),
            task_id=sendable(episode.task_id),
            instruction=sendable(episode.instruction),
            initial_observation=sendable(episode.initial_observation),
            turns=turns,
            seat=episode.seat,
        )

    @property
    def episode(self) -> JudgedEpisode:
        """The episode as a run's judge sees it."""
        turns = tuple(JudgedTurn(one.action, one.observation) for one in self.turns)
        return JudgedEpisode(
            self.env, self.task_id, self.instruction, self.initial_observation, turns, self.seat
        )


def _tag(given: object) -> str | None:
    """Type of an item; without one, the form of its fields."""
    if isinstance(given, _Judged):
        return str(getattr(given, "type", ""))
    if not isinstance(given, Mapping):
        return None
    fields = cast("Mapping[str, object]", given)
    own = {"turns": "transcript", "episode": "episode", "record": "record", "seed": "social"}
    named = fields.get("type", next((kind for name, kind in own.items() if name in fields), "conversation"))
    return named if isinstance(named, str) else None


Item = Annotated[
    Annotated[Conversation, Tag("conversation")]
    | Annotated[Episode, Tag("episode")]
    | Annotated[Recording, Tag("record")]
    | Annotated[Social, Tag("social")]
    | Annotated[Transcript, Tag("transcript")],
    Discriminator(_tag),
]
"""Item that is judged."""
ITEM: Final[TypeAdapter[Item]] = TypeAdapter(Item)
RECORDED: Final = "sotopia-conversation/1"
"""Field `format` of a record of the environment `sotopia`."""
EPISODE_LOG: Final = FORMS
"""Fields by which a record outside of a request is known as an `EpisodeLog`."""


def conversation_of(episode: Trajectory) -> dict[str, Any] | None:
    """The record of the conversation that an episode of `sotopia` was; None of other episodes."""
    record = episode.turns[-1].info.get("conversation") if episode.turns else None
    return record if isinstance(record, dict) and record.get("format") == RECORDED else None

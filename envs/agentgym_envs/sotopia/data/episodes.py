"""Recorded episodes: `RecordedEpisode`, and the reader of files of them.

Two forms are read, alone, in a list, or as JSON lines: `EpisodeLog` of the package `sotopia` (`messages`,
`rewards`), and that of sotopia-rl (`raw_messages`, `raw_rewards`, and more that is derived from them).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym_envs.sotopia.data.profile_set import SotopiaDataError
from agentgym_envs.sotopia.data.sources import first_problem, parse_file
from agentgym_envs.sotopia.protocol.actions import LEFT, NOTHING, Action, ActionType
from agentgym_envs.sotopia.protocol.conversation import EndReason
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.profiles import Scene

ENVIRONMENT: Final = "Environment"
"""Sender of observations, and receiver of actions."""
FIELDS: Final = {
    "episode_id": "pk",
    "environment_id": "environment",
    "agent_ids": "agents",
    "experiment_tag": "tag",
    "experiment_model_name_pairs": "models",
    "raw_messages": "messages",
    "raw_rewards": "rewards",
    "combo_index": "combo",
}
"""Names of sotopia-rl to those of the record."""
FORMS: Final = ("messages", "raw_messages")
"""The field by which a record of either form is known."""
COMMENTS: Final[Mapping[str, EndReason]] = {
    "The conversation is too long": "too_long",
    "Too few active agents": "left",
    "Agent 1 is leaving": "left",
    "Agent 2 is leaving": "left",
    "The conversation stales for too long": "stale",
    "The agents have agreed": "deal",
}
"""Words of a record for the end, those of releases up to 0.1.4 included."""
_START: Final = "Environment comments: terminated: "

Message = tuple[str, str, str]
"""Sender, receiver and text."""
Score = Annotated[float, Field(allow_inf_nan=False)]


class SeatScores(BaseModel):
    """A judge's scores of one seat."""

    model_config = ConfigDict(frozen=True)

    overall: Score
    by_dimension: dict[str, Score]


class RecordedEpisode(BaseModel):
    """An episode that was played and judged elsewhere, as it was recorded; nothing in it is learnt from."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pk: str = Field(min_length=1)
    environment: str
    """Key of the scenario."""
    agents: tuple[str, str]
    """Keys of the characters by seat."""
    tag: str = ""
    models: tuple[str, str, str]
    """Names of the judge's model, and of those of both seats."""
    messages: tuple[tuple[Message, ...], ...]
    """By turn: what both seats observed, then what both did."""
    reasoning: str = ""
    """Reasons for the end, and those of the judge."""
    scores: tuple[SeatScores, SeatScores] | None
    """By seat; None if nobody judged the episode."""
    combo: int | None = None
    """Position of the scenario and the characters in the list of combinations, if it is recorded."""
    scene: Scene | None = None
    """Profiles of the episode, if it is recorded with them; the package does not."""

    @property
    def names(self) -> tuple[str, str]:
        """Names of the characters by seat."""
        return self.messages[0][0][1], self.messages[0][1][1]

    @property
    def log(self) -> list[tuple[Action, Action]]:
        """The actions of both seats by step; raises `SotopiaDataError` for a text that is no action."""
        return [(action_of(turn[2][2]), action_of(turn[3][2])) for turn in self.messages[:-1]]

    @property
    def end_reasons(self) -> tuple[EndReason, ...]:
        """Reasons for the end of the conversation; () if the record does not say."""
        line = self.reasoning.partition("\n")[0]
        if not line.startswith(_START):
            return ()
        told = line.removeprefix(_START).split(";")
        return tuple(COMMENTS[text.strip()] for text in told if text.strip() in COMMENTS)


def read_episodes(path: Path) -> list[RecordedEpisode]:
    """The episodes of a file.

    Raises `SotopiaDataError` for the first that is none, `OSError` if the file cannot be read.
    """
    return [read_episode(row.fields, row.place) for row in parse_file(path, sole=FORMS)]


def read_episode(given: Mapping[str, Any], place: str = "episode") -> RecordedEpisode:
    """The episode of one record in either form; raises `SotopiaDataError`, which names the `place`."""
    # sotopia-rl has `rewards` too, without the means.
    raw = {name: given[other] for other, name in FIELDS.items() if other in given}
    fields: dict[str, Any] = {**given, **raw}
    place = f"{place} ({str(fields.get('pk'))[:80]})"
    try:
        fields["scores"] = _scores(fields.get("rewards"))
        episode = RecordedEpisode.model_validate(fields)
        _check(episode)
    except ValidationError as problem:
        raise SotopiaDataError(f"{place}: {first_problem(problem)}") from None
    except ValueError as problem:
        raise SotopiaDataError(f"{place}: {problem}") from None
    return episode


def action_of(text: str) -> Action:
    """The action that a record tells; raises `SotopiaDataError`."""
    if text == NOTHING.text:
        return NOTHING
    if text == LEFT:
        return Action(action_type="leave")
    if text.startswith('said: "') and text.endswith('"') and len(text) > len('said: "'):
        return Action(action_type="speak", argument=text[len('said: "') : -1])
    for kind in cast("tuple[ActionType, ...]", ("non-verbal communication", "action")):
        if text.startswith(f"[{kind}] "):
            return Action(action_type=kind, argument=text[len(kind) + 3 :])
    raise SotopiaDataError(f"{' '.join(text.split())[:80]!r} is no action")


def _scores(rewards: object) -> list[SeatScores] | None:
    """The scores of both seats; None for numbers alone, which the package records where no judge replied."""
    if rewards is None:
        return None
    if not isinstance(rewards, list) or len(seats := cast("list[object]", rewards)) != 2:
        raise ValueError("rewards are no list of two")
    if all(isinstance(seat, int | float) for seat in seats):
        return None
    return [_seat_scores(seat) for seat in seats]


def _seat_scores(reward: object) -> SeatScores:
    pair = cast("list[Any]", reward) if isinstance(reward, list) else []
    if len(pair) != 2 or not isinstance(pair[1], dict):
        raise ValueError("a reward is no pair of a mean and scores")
    told = cast("dict[str, Any]", pair[1])
    missing = [one.name for one in SOTOPIA if one.name not in told]
    if missing:
        raise ValueError(f"rewards have no {missing[0]}")
    scores = {one.name: told[one.name] for one in SOTOPIA}
    found = SeatScores(overall=pair[0], by_dimension=scores)
    for one in SOTOPIA:
        if not one.low <= found.by_dimension[one.name] <= one.high:
            raise ValueError(f"the score {found.by_dimension[one.name]:g} of {one.name} is out of range")
    return found


def _check(episode: RecordedEpisode) -> None:
    """Check senders and receivers, which seats are read from."""
    if not episode.messages or len(episode.messages[0]) < 2:
        raise ValueError("messages have no first observations")
    first, second = episode.names
    observed = [(ENVIRONMENT, first), (ENVIRONMENT, second)]
    done = [(first, ENVIRONMENT), (second, ENVIRONMENT)]
    for number, turn in enumerate(episode.messages):
        expected = observed if number == len(episode.messages) - 1 else observed + done
        if [message[:2] for message in turn] != expected:
            raise ValueError(f"turn {number} of messages is not two observations and two actions")
    if not episode.log:
        raise ValueError("messages have no action")

"""Conversations of episodes in the form of Sotopia's `EpisodeLog`, for exports.

The environment tells the conversation, its backgrounds and each judgement with the last step. Backgrounds are
told where a model is the judge, or nobody: those of a program's verdict have not been shown to anybody.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from agentgym_envs.sotopia.play.records import FORMAT, episode_log_of
from agentgym_envs.sotopia.protocol.judgement import Judgement
from agentgym_store.records import Trajectory

NO_CONVERSATION = "without a conversation"
NO_BACKGROUNDS = "without backgrounds, as a program was the judge"
UNJUDGED = "without a judgement"
"""Reasons for which an episode is left out."""


class Seat(NamedTuple):
    """Last info of one agent of an episode."""

    episode: str
    tag: str
    """Name of the run or evaluation."""
    seat: int | None
    """None: the seat that the conversation names."""
    player: str
    info: Mapping[str, Any]


@dataclass
class _Episode:
    tag: str
    info: Mapping[str, Any]
    players: dict[int | None, str] = field(default_factory=dict[int | None, str])


def seats_of(trajectories: Iterable[Trajectory]) -> Iterable[Seat]:
    """The seats of stored episodes."""
    for one in trajectories:
        info = one.turns[-1].info if one.turns else {}
        seat = None if one.episode_id is None else one.seat
        yield Seat(one.episode, one.run, seat, one.policy, info)


def episode_logs(
    seats: Iterable[Seat], *, allow_unjudged: bool = False
) -> tuple[list[dict[str, Any]], Mapping[str, int]]:
    """The `EpisodeLog` of each episode, and the number of episodes that are left out, by reason.

    Episodes that nobody judged are left out unless `allow_unjudged`; their `rewards` are null, and never 0.
    """
    episodes: dict[str, _Episode] = {}
    for one in seats:
        found = episodes.setdefault(one.episode, _Episode(one.tag, one.info))
        found.players[one.seat] = one.player
    logs: list[dict[str, Any]] = []
    left_out = Counter[str]()
    for name, episode in episodes.items():
        if reason := _missing(episode.info, allow_unjudged):
            left_out[reason] += 1
        else:
            logs.append(_log(name, episode))
    return logs, left_out


def _missing(info: Mapping[str, Any], allow_unjudged: bool) -> str | None:
    talk = info.get("conversation")
    if not isinstance(talk, dict) or cast("dict[str, Any]", talk).get("format") != FORMAT:
        return NO_CONVERSATION
    if "backgrounds" not in talk:
        return NO_BACKGROUNDS
    return None if info.get("judgements") or allow_unjudged else UNJUDGED


def _log(name: str, episode: _Episode) -> dict[str, Any]:
    info, talk = episode.info, episode.info["conversation"]
    samples = [Judgement.model_validate(one) for one in info.get("judgements") or ()]
    return episode_log_of(talk, samples, pk=name, models=_models(episode), tag=episode.tag)


def _models(episode: _Episode) -> tuple[str, str, str]:
    """Names of the judge and of the players of both seats; of a seat that is not there, the partner's."""
    info, players = episode.info, dict(episode.players)
    if None in players:
        players[info["conversation"]["seat"]] = players.pop(None)
    other = _name(info.get("partner"))
    return _name(info.get("judge")), players.get(0, other), players.get(1, other)


def _name(told: object) -> str:
    members = cast("Mapping[str, Any]", told) if isinstance(told, dict) else {}
    return str(members.get("model") or members.get("kind") or "")


def left_out_text(left_out: Mapping[str, int]) -> str:
    """`; left out: 3 without a judgement`, or nothing."""
    told: Sequence[str] = [f"{count:,} {reason}" for reason, count in left_out.items()]
    return f"; left out: {', '.join(told)}" if told else ""

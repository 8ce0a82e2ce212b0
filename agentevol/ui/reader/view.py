"""View of an episode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentevol.ui.episodes.endings import meaning
from agentevol.ui.library import Source
from agentevol.ui.pages import address
from agentevol.ui.reader.messages import Message, mode_of, split_message
from agentevol.ui.reader.tokenizers import Tokenizer
from agentevol.ui.reader.tokens import Strip, strip
from agentevol.ui.text import TEXT_LIMIT, number, one_line
from agentgym_store.records import MESSAGE, Trajectory, Turn, message_of

MOST_TURNS = 400
TITLE_LIMIT = 100
"""Characters of the heading."""
MOST_STRIP_TOKENS = 20_000
"""Tokens of an episode whose strips are shown; later turns tell their numbers only."""


@dataclass(frozen=True)
class Long:
    """A text that may be cut, with the address of the whole."""

    text: str
    whole: str = ""
    """Empty where nothing is cut."""
    length: int = 0


@dataclass(frozen=True)
class TurnView:
    """One turn."""

    number: int
    thought: Long
    action: Long
    rest: Long
    observation: Long
    reward: float
    is_given: bool
    facts: tuple[tuple[str, str], ...]
    """Names and values: mode, policy version, seconds, ..."""
    info: tuple[tuple[str, str], ...]
    strip: Strip | None
    is_match: bool = False
    """True if it contains the text that was searched for."""


@dataclass(frozen=True)
class EpisodeView:
    """One episode."""

    title: str
    """The instruction in one line, which may be cut."""
    instruction: Long
    initial: Long
    verdict: str
    """Ending of the episode in a sentence."""
    outcome: str
    """`won`, `lost` or `none`."""
    detail: str
    """Text of a failure."""
    facts: tuple[tuple[str, str], ...]
    turns: tuple[TurnView, ...]
    hidden: int
    """Further turns."""
    first_match: int | None


class Texts:
    """Cuts the texts of one episode and knows the address of each."""

    def __init__(self, source: Source, episode: Trajectory) -> None:
        self._key, self._id = source.key, episode.id

    def cut(self, text: str, turn: int, part: str) -> Long:
        """A text of a turn (0: the episode); `part` is a key of `PARTS`."""
        if len(text) <= TEXT_LIMIT:
            return Long(text)
        whole = address("episodes", self._key, "text", id=self._id, turn=str(turn), part=part)
        return Long(text[:TEXT_LIMIT], whole, len(text))


def episode_view(
    source: Source, episode: Trajectory, tokenizer: Tokenizer | None, search: str = ""
) -> EpisodeView:
    """The view of an episode; turns that contain `search` are marked."""
    texts = Texts(source, episode)
    turns = list(_turns(episode, texts, tokenizer))
    marked = [
        replace(view, is_match=_contains(turn, search))
        for view, turn in zip(turns, episode.turns, strict=False)
    ]
    return EpisodeView(
        one_line(episode.instruction or episode.kind or episode.task_id, TITLE_LIMIT),
        texts.cut(episode.instruction, 0, "instruction"),
        texts.cut(episode.initial_observation, 0, "initial"),
        verdict(episode),
        outcome(episode),
        getattr(episode.ending, "detail", ""),
        tuple(_facts(episode)),
        tuple(marked),
        max(0, len(episode.turns) - MOST_TURNS),
        next((view.number for view in marked if view.is_match), None),
    )


def outcome(episode: Trajectory) -> str:
    """`won`, `lost`, or `none` without a return."""
    if episode.total_reward is None:
        return "none"
    return "won" if episode.succeeded() else "lost"


def verdict(episode: Trajectory) -> str:
    """Ending and return of the episode in plain words."""
    reason = getattr(episode.ending, "limit", None) or getattr(episode.ending, "failure", None)
    name = f"{episode.ending.kind}({reason})" if reason else episode.ending.kind
    told = {"won": "Won", "lost": "Not won", "none": "No return"}[outcome(episode)]
    count = len(episode.turns)
    after = f"after {count} turn{'s' * (count != 1)}"
    earned = "" if episode.total_reward is None else f" The return is {number(episode.total_reward)}."
    return f"{told} {after}: {meaning(name)}.{earned}"


PARTS = ("instruction", "initial", "message", "action", "observation")
"""Texts that have a page of their own."""


def whole_text(episode: Trajectory, turn: int, part: str) -> str | None:
    """One text of an episode; None where there is no such text."""
    if part in ("instruction", "initial"):
        return episode.instruction if part == "instruction" else episode.initial_observation
    if part not in PARTS or not 1 <= turn <= len(episode.turns):
        return None
    found = episode.turns[turn - 1]
    return message_of(found) if part == "message" else str(getattr(found, part))


def _turns(episode: Trajectory, texts: Texts, tokenizer: Tokenizer | None) -> Sequence[TurnView]:
    views: list[TurnView] = []
    tokens = 0
    for place, turn in enumerate(episode.turns[:MOST_TURNS], 1):
        tokens += len(turn.sample.token_ids) if turn.sample else 0
        shown = strip(turn.sample, tokenizer) if tokens <= MOST_STRIP_TOKENS else None
        views.append(_turn(place, turn, place <= episode.given_turns, texts, shown))
    return views


def _turn(place: int, turn: Turn, is_given: bool, texts: Texts, shown: Strip | None) -> TurnView:
    message = message_of(turn)
    parts = split_message(message, turn.action) if message != turn.action else Message("", turn.action)
    info = tuple((name, str(value)) for name, value in turn.info.items() if name != MESSAGE)
    return TurnView(
        place,
        texts.cut(parts.thought.strip(), place, "message"),
        texts.cut(turn.action, place, "action"),
        texts.cut(parts.rest.strip(), place, "message"),
        texts.cut(turn.observation, place, "observation"),
        turn.reward,
        is_given,
        tuple(_turn_facts(turn, message)),
        tuple((name, value[:TEXT_LIMIT]) for name, value in info),
        shown,
    )


def _turn_facts(turn: Turn, message: str) -> Sequence[tuple[str, str]]:
    sample = turn.sample
    found = [("mode", mode_of(turn.info, message))]
    if sample is not None:
        found += [
            ("policy version", str(sample.policy_version)),
            ("tokens", f"{len(sample.token_ids):,}" if sample.token_ids else ""),
            ("finish", "" if sample.finish_reason == "stop" else sample.finish_reason),
        ]
    found += [("policy", _seconds(turn.policy_s)), ("environment", _seconds(turn.environment_s))]
    found += [(f"cost {name}", number(value)) for name, value in turn.costs.items()]
    return [(name, value) for name, value in found if value]


def _facts(episode: Trajectory) -> Sequence[tuple[str, str]]:
    several = episode.episode_id is not None
    found: list[tuple[str, Any]] = [
        ("environment", f"{episode.env} {episode.env_version}"),
        ("data", episode.data_version),
        ("task", episode.task_id),
        ("split", episode.split),
        ("kind", episode.kind),
        ("difficulty", episode.difficulty),
        ("iteration", episode.iteration),
        ("purpose", episode.purpose),
        ("policy", episode.policy),
        ("attempt", episode.attempt),
        ("seat", episode.seat if several else ""),
        ("seed", episode.seed),
        ("temperature", "" if episode.temperature is None else number(episode.temperature)),
        ("started", episode.started_at),
        ("duration", f"{episode.wall_s:.1f} s"),
        ("seconds a turn", f"{episode.wall_s / len(episode.turns):.2f}" if episode.turns else ""),
        ("continues", episode.parent or ""),
        ("id", episode.id),
    ]
    return [(name, str(value)) for name, value in found if value != ""]


def _contains(turn: Turn, search: str) -> bool:
    low = search.lower()
    return bool(low) and any(
        low in text.lower() for text in (turn.observation, turn.action, message_of(turn))
    )


def _seconds(value: float | None) -> str:
    """`0.42 s`, below a hundredth `0.0031 s`; empty for None."""
    if value is None:
        return ""
    return f"{value:.2f} s" if value >= 0.01 or not value else f"{value:.2g} s"


def member_rows(source: Source, rows: Sequence[Mapping[str, Any]], here: str) -> list[dict[str, Any]]:
    """Rows of the group, with addresses: of the episode, and of its comparison with the one that is shown."""
    return [
        {
            **row,
            "is_here": row["id"] == here,
            "outcome": "none" if row["succeeded"] is None else "won" if row["succeeded"] else "lost",
            "href": address("episodes", source.key, "one", id=row["id"]),
            "compare": address("compare", "episodes", source=source.key, id=[here, row["id"]]),
        }
        for row in rows
    ]

"""Opinions on an episode or a pair, for the pages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentevol.data.feedback.rules import why_no_episode, why_no_pair
from agentevol.ui.feedback.admissible import admissible
from agentevol.ui.library import Source
from agentevol.ui.pages import address
from agentevol.ui.reader.view import MOST_TURNS
from agentevol.ui.text import one_line
from agentgym_store.feedback.records import SWAPPED, Comparison, Correction, Dimensions, Feedback, Flag, Score
from agentgym_store.records import Trajectory


@dataclass(frozen=True)
class Said:
    """One opinion."""

    id: str
    who: str
    what: str
    note: str
    when: str
    is_own: bool
    href: str
    """The compared episodes; empty for another opinion."""


@dataclass(frozen=True)
class Own:
    """A person's own opinion, to fill in the forms."""

    score: int | None = None
    flag: str = ""
    note: str = ""
    action: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class FeedbackView:
    """Opinions beside the forms of a page."""

    name: str
    """Name of the person; empty where it is not known."""
    post: str
    """Address of the forms."""
    back: str
    """The page itself."""
    saved: str
    """Opinion that has just been saved; empty without it."""
    warning: str
    """Reason for which nothing is learnt from opinions here; empty where something is."""
    said: tuple[Said, ...]
    """About the whole."""
    own: Own
    turns: Mapping[int, tuple[Said, ...]] = field(default_factory=dict[int, tuple[Said, ...]])
    """About turns, by number, from 1."""
    own_turns: Mapping[int, Own] = field(default_factory=dict[int, Own])
    offered: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    """Admissible actions of the turns that can be corrected, by number."""
    refusal: str = ""
    """Reason for which the two episodes cannot be compared; empty if they can be."""


def reader_feedback(
    source: Source, episode: Trajectory, opinions: Sequence[Feedback], page: "PageFacts", split: str
) -> FeedbackView:
    """Opinions about an episode and its turns."""
    about = [one for one in opinions if episode.id in one.episodes]
    whole = [one for one in about if one.turn is None]
    turns: dict[int, list[Feedback]] = {}
    for one in about:
        if one.turn is not None:
            turns.setdefault(one.turn + 1, []).append(one)
    places = range(episode.given_turns, min(len(episode.turns), MOST_TURNS))
    sampled = [place for place in places if episode.turns[place].sample is not None]
    return FeedbackView(
        page.name,
        address("feedback", source.key),
        page.back,
        _saved(about, page.saved),
        _warning([episode], split),
        _said(source, whole, page.name, episode.id),
        _own(whole, page.name),
        {number: _said(source, found, page.name, episode.id) for number, found in turns.items()},
        {number: _own(found, page.name) for number, found in turns.items()},
        {place + 1: admissible(episode, place) for place in sampled},
    )


def comparison_feedback(
    sources: Sequence[Source],
    episodes: Sequence[Trajectory],
    opinions: Sequence[Feedback],
    page: "PageFacts",
    split: str,
) -> FeedbackView:
    """Opinions about two episodes; own verdicts are those of the first one, A."""
    first, second = episodes
    about = [one for one in opinions if set(one.episodes) == {first.id, second.id}]
    own = _own([_seen_from(one, first.id) for one in about], page.name)
    refusal = why_no_pair(first, second)
    if sources[0].key != sources[1].key:
        refusal = "of two tables, and opinions lie beside one"
    said = [
        replace(one, what=_side(record, first.id), href="")
        for one, record in zip(_said(sources[0], about, page.name, first.id), about, strict=True)
    ]
    saved = next((f"Saved. {one.what} ({one.who})." for one in said if one.id == page.saved), "")
    return FeedbackView(
        page.name,
        address("feedback", sources[0].key),
        page.back,
        saved or _saved((), page.saved),
        _warning(episodes, split),
        tuple(said),
        own,
        refusal=refusal,
    )


@dataclass(frozen=True)
class PageFacts:
    """Facts of a request that opinions are shown for."""

    name: str
    back: str
    saved: str
    """Id of the record that has just been saved."""


def told(record: Feedback, here: str = "") -> str:
    """An opinion in a few words; a comparison as seen from the episode `here`."""
    match record.opinion:
        case Score(value=value, high=high):
            return f"rated {value:g} of {high:g}"
        case Dimensions(values=values):
            return "rated " + ", ".join(f"{name} {value:g}" for name, value in values.items())
        case Flag(reason=reason):
            return f"flagged as {reason}"
        case Correction(action=action):
            return f"better action: {action}"
        case Comparison(other=other, verdict=verdict):
            seen, beside = verdict, other
            if here not in ("", record.trajectory_id):
                seen, beside = SWAPPED[verdict], record.trajectory_id
            return {"better": "better than ", "worse": "worse than ", "tie": "as good as "}[seen] + beside


def _side(record: Feedback, first: str) -> str:
    """A comparison on the page where `first` is A."""
    sides = {"better": "A is better", "worse": "B is better", "tie": "equally good"}
    return sides[getattr(_seen_from(record, first).opinion, "verdict", "tie")]


def _seen_from(record: Feedback, first: str) -> Feedback:
    """A comparison as the opinion on the episode `first`."""
    opinion = record.opinion
    if not isinstance(opinion, Comparison) or record.trajectory_id == first:
        return record
    turned = opinion.seen_from_other(record.trajectory_id)
    return record.model_copy(update={"trajectory_id": opinion.other, "opinion": turned})


def _said(source: Source, records: Iterable[Feedback], name: str, here: str) -> tuple[Said, ...]:
    return tuple(
        Said(
            one.id,
            one.source_name if one.source_kind == "human" else one.source,
            told(one, here),
            one.note,
            one.created_at,
            _is_of(one, name),
            _pair_href(source, one),
        )
        for one in records
    )


def _pair_href(source: Source, one: Feedback) -> str:
    if not isinstance(one.opinion, Comparison):
        return ""
    return address("compare", "episodes", source=source.key, id=[one.trajectory_id, one.opinion.other])


def _own(records: Sequence[Feedback], name: str) -> Own:
    mine = [one for one in records if _is_of(one, name)]
    found = {one.kind: one.opinion for one in mine}
    score, flag = found.get("score"), found.get("flag")
    correction, comparison = found.get("correction"), found.get("comparison")
    return Own(
        round(score.value) if isinstance(score, Score) else None,
        flag.reason if isinstance(flag, Flag) else "",
        mine[-1].note if mine else "",
        correction.action if isinstance(correction, Correction) else "",
        comparison.verdict if isinstance(comparison, Comparison) else "",
    )


def _is_of(one: Feedback, name: str) -> bool:
    return bool(name) and one.source == f"human:{name}"


def _saved(records: Iterable[Feedback], wanted: str) -> str:
    if wanted == WITHDRAWN:
        return "Withdrawn."
    found = next((one for one in records if one.id == wanted), None)
    if found is None:
        return ""
    turn = "" if found.turn is None else f"Turn {found.turn + 1}: "
    return f"Saved. {turn}{one_line(told(found), 120)} ({found.source_name})."


WITHDRAWN = "withdrawn"


def _warning(episodes: Sequence[Trajectory], split: str) -> str:
    reason = next(filter(None, (why_no_episode(one, split) for one in episodes)), "")
    if not reason:
        return ""
    cause = {
        "held out": f"its task is held out (split {episodes[0].split})",
        "without a return": "it failed or was cancelled",
    }[reason]
    return f"What you say here is kept, and never becomes training data: {cause}."

"""All opinions of a run or table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agentevol.ui.feedback.shown import told
from agentevol.ui.library import Source
from agentevol.ui.pages import address
from agentgym_store.feedback.records import Feedback

MOST_SHOWN = 500


@dataclass(frozen=True)
class ListedOpinion:
    """A row."""

    who: str
    what: str
    note: str
    when: str
    episode: str
    turn: int | None
    """Number of the turn, from 1."""
    href: str


@dataclass(frozen=True)
class Listing:
    """Opinions that stand, the newest first, and their numbers."""

    rows: tuple[ListedOpinion, ...]
    hidden: int
    kinds: tuple[tuple[str, int], ...]
    people: tuple[tuple[str, int], ...]
    total: int


def listing(source: Source, opinions: Sequence[Feedback]) -> Listing:
    """The list of opinions."""
    newest = list(reversed(opinions))
    return Listing(
        tuple(_row(source, one) for one in newest[:MOST_SHOWN]),
        max(0, len(newest) - MOST_SHOWN),
        tuple(Counter(one.kind for one in opinions).most_common()),
        tuple(Counter(one.source for one in opinions).most_common(50)),
        len(opinions),
    )


def _row(source: Source, one: Feedback) -> ListedOpinion:
    number = None if one.turn is None else one.turn + 1
    anchor = "#feedback" if number is None else f"#turn-{number}"
    href = address("episodes", source.key, "one", id=one.trajectory_id) + anchor
    return ListedOpinion(one.source, told(one), one.note, one.created_at, one.trajectory_id, number, href)

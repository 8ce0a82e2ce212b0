"""Episodes that a person should rate next."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from agentevol.data.feedback.sources.queue import Queued, following
from agentevol.ui.library import Source
from agentevol.ui.pages import address
from agentevol.ui.tables import Tables, collected
from agentgym_store.feedback.records import Feedback
from agentgym_store.store import Where

SHOWN = 10
EXPLORED = Where(purpose="explore")


@dataclass(frozen=True)
class Next:
    """A row."""

    episode: str
    why: str
    href: str


def rate_next(tables: Tables, source: Source, opinions: Sequence[Feedback], name: str) -> list[Next]:
    """Scored episodes of exploration, without those that `name` has rated: those on which sources and
    outcome differ most, and every fifth at random. `opinions` are those that stand.
    """
    frame = tables.snapshot(source, EXPLORED).frame.select("id", "total_reward")
    returns = dict(collected(frame).iter_rows())
    found = following(returns, opinions, person=f"human:{name}" if name else "")
    return [_row(source, one) for one in islice(found, SHOWN)]


def _row(source: Source, one: Queued) -> Next:
    apart = f"{one.sources} opinions, outcome among them, differ by {one.disagreement:.2f}"
    why = "at random" if one.at_random else apart
    return Next(one.episode, why, address("episodes", source.key, "one", id=one.episode) + "#feedback")

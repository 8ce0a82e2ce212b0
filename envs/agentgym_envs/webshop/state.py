"""Where an agent is in the shop. A state is all there is of a session: keeping one is a snapshot of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Page = Literal["index", "results", "item", "part", "done"]
"""`part` is a page of an item's description, features or reviews."""


@dataclass(frozen=True)
class State:
    """One page, and what was done on the way to it."""

    page: Page = "index"
    keywords: tuple[str, ...] = ()
    number: int = 1
    """Of the page of results; from 1, without end."""
    asin: str = ""
    part: str = ""
    """`description`, `features` or `reviews`."""
    chosen: tuple[tuple[str, str], ...] = ()
    """Groups of options with the value that was chosen, in the order in which groups were chosen first."""
    visited: frozenset[str] = frozenset()
    """Items whose page was opened since the last return to the search."""

    @property
    def options(self) -> Mapping[str, str]:
        """Group -> value."""
        return dict(self.chosen)

"""State of a session in the shop, complete and immutable, so that a reference is a snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Page = Literal["index", "results", "item", "part", "done"]
"""`part` is a page of an item's description, features or reviews."""


@dataclass(frozen=True)
class State:
    """Current page, and the choices so far."""

    page: Page = "index"
    keywords: tuple[str, ...] = ()
    number: int = 1
    """Number of the page of results; from 1, without end."""
    asin: str = ""
    part: str = ""
    """`description`, `features` or `reviews`."""
    chosen: tuple[tuple[str, str], ...] = ()
    """Groups of options with the chosen value, in the order of their first choice."""
    visited: frozenset[str] = frozenset()
    """Items whose page was opened since the last return to the search."""

    @property
    def options(self) -> Mapping[str, str]:
        """Chosen value by group."""
        return dict(self.chosen)

"""Settings of the web pages."""

from dataclasses import dataclass, field
from pathlib import Path

PORT = 8600
"""Default port."""
PAGE_SIZE = 50
"""Episodes of one page of a list."""
SEARCH_S = 0.4
"""Seconds of a text search before its page says where it stopped."""
EXPERT_S = 30.0
"""Seconds that an environment has to find and play its expert's way."""


@dataclass(frozen=True)
class UiSettings:
    """Settings of one server of web pages."""

    paths: tuple[Path | str, ...]
    """Run folders, tables, folders that contain them, or URLs of tables."""
    host: str = "127.0.0.1"
    names: frozenset[str] = field(default_factory=frozenset[str])
    """Host names of this server beside the loopback ones and IP addresses."""
    read_only: bool = False
    """True if nobody can play, rate or correct."""
    page_size: int = PAGE_SIZE
    search_s: float = SEARCH_S
    expert_s: float = EXPERT_S

"""Selection of episodes for an export."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import cast

from agentgym_store.exports.provenance import policy_version
from agentgym_store.records import Trajectory
from agentgym_store.store import ALL, Where

MOST_LISTED = 100
"""Values of a filter that a data card lists; of more it has the number and a hash."""


@dataclass(frozen=True)
class Selection:
    """Filter of episodes: `where`, which the table applies, and what is read from the episodes themselves."""

    where: Where = ALL
    policy_version: int | None = None
    """Version of the weights that sampled the last turn."""
    since: datetime | None = None
    """Episodes that started then or later; a time without a zone is UTC. An episode whose start is not a time
    is in no range.
    """
    until: datetime | None = None
    """Episodes that started earlier."""

    def of(self, episodes: Iterable[Trajectory]) -> Iterator[Trajectory]:
        """The matching ones of the episodes that `where` found."""
        return (episode for episode in episodes if self._matches(episode))

    def terms(self) -> dict[str, str]:
        """The filters that are set, as text by name."""
        found = {field.name: getattr(self.where, field.name) for field in fields(self.where)}
        found |= {"policy_version": self.policy_version, "since": self.since, "until": self.until}
        return {name: _text(value) for name, value in found.items() if value is not None}

    def _matches(self, episode: Trajectory) -> bool:
        if self.policy_version is not None and policy_version(episode) != self.policy_version:
            return False
        if self.since is None and self.until is None:
            return True
        try:
            started = in_utc(datetime.fromisoformat(episode.started_at))
        except ValueError:
            return False
        return (self.since is None or started >= in_utc(self.since)) and (
            self.until is None or started < in_utc(self.until)
        )


def in_utc(time: datetime) -> datetime:
    """The time with a zone: UTC where it has none."""
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return in_utc(value).isoformat()
    if isinstance(value, str) or not isinstance(value, Collection):
        return str(value)
    values = sorted(map(str, cast("Collection[object]", value)))
    found = ", ".join(values)
    if len(values) <= MOST_LISTED:
        return found
    return f"{len(values)} values, sha256 {sha256(found.encode()).hexdigest()[:16]}"

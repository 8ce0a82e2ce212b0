"""Rate limits per token: token buckets."""

from collections.abc import Callable

from agentgym_server.lanes.auth import Scope
from agentgym_server.settings import ServerSettings
from agentgym_server.wire.problems import Problem


class Bucket:
    """Token bucket: `rate_per_s` permits are refilled a second, up to `burst`. None: no limit."""

    def __init__(self, rate_per_s: float | None, burst: int, now: Callable[[], float]) -> None:
        self._rate_per_s, self._burst, self._now = rate_per_s, burst, now
        self._left = float(burst)
        self._at = now()

    def take(self, permits: int = 1) -> None:
        """Take permits; raises `rate-limited`, and takes none, if the bucket is empty.

        A batch larger than the burst passes when the bucket is full, and leaves a negative balance.
        """
        if self._rate_per_s is None:
            return
        now = self._now()
        self._left = min(float(self._burst), self._left + (now - self._at) * self._rate_per_s)
        self._at = now
        if self._left < min(permits, self._burst):
            raise Problem("rate-limited", f"this token may make {self._rate_per_s:g} requests a second")
        self._left -= permits


class Limits:
    """Buckets by scope: a server has at most one token of each."""

    def __init__(self, settings: ServerSettings, now: Callable[[], float]) -> None:
        self._new = lambda: Bucket(settings.rate_limit_per_s, settings.rate_burst, now)
        self._buckets: dict[Scope | None, Bucket] = {}

    def bucket(self, caller: Scope | None) -> Bucket:
        """The bucket of a caller; unauthenticated callers share one."""
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = self._new()
        return bucket

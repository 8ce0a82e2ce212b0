"""Server settings: addresses, tokens, limits. Every default is one of the wire format's."""

from typing import Annotated

from pydantic import Field

from agentgym_envs.core import Record
from agentgym_server.monitoring.logs import Level

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class ServerSettings(Record):
    """Settings of one server."""

    host: str = "127.0.0.1"
    """Address to bind; on a loopback address, foreign `Host` and `Origin` headers are refused."""
    token: str | None = None
    """Secret with scope `admin`: all operations. None: no authentication, for loopback addresses only."""
    trainer_token: str | None = None
    """Secret with scope `trainer`: all operations but those of operators."""
    agent_token: str | None = None
    """Secret with scope `agent`: steps of a session whose id it knows."""
    insecure_no_auth: bool = False
    """Allow an address beyond loopback without a token."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that `Host` and `Origin` may carry besides the loopback ones."""
    workers: Annotated[int, Field(ge=1)] | None = None
    """Worker processes for all environments; None: for the blocking ones only, as many as fit the machine."""

    log_level: Level = "info"
    instance: Annotated[int, Field(ge=0, lt=1 << 20)] = 0
    """Index of this server among those behind one gateway; part of every session id."""
    rate_limit_per_s: Seconds | None = None
    """Requests and WebSocket operations a second of one token; beyond, 429. None: no limit."""
    rate_burst: Count = 256
    """Requests that a token may make at once after a pause."""

    max_sessions: Count = 1024
    """Open sessions at one time; beyond, creation gets 503 `capacity`."""
    lease_ttl_s: Seconds = 600.0
    """Lease of a session that is created without one, seconds."""
    max_lease_ttl_s: Seconds = 86400.0
    tombstone_s: Seconds = 600.0
    """Lifetime of the tombstone of a session that is gone, seconds."""
    idempotency_s: Seconds = 600.0
    """Lifetime of an `Idempotency-Key`, seconds."""
    step_deadline_s: Seconds = 60.0
    """Longest time for one step; beyond, its worker is killed."""
    partner_wait_s: Seconds = 30.0
    """Longest time that a step waits for partners; beyond, 503 `partner-turn`: it is to be repeated."""
    reset_deadline_s: Seconds = 120.0
    """Longest time for the reset that creates or forks a session."""
    worker_memory_bytes: Count = 2 << 30
    """Private memory of a worker; beyond, it is killed and replaced."""
    max_queue: Count = 1024
    """Operations that may wait for one worker; beyond, 503 `overloaded`."""
    stored_replies: Count = 64
    """Minimum number of stored replies of a session, whatever their size."""
    stored_reply_bytes: Annotated[int, Field(ge=0)] = 1 << 20
    """Size of the stored replies of a session beyond which the oldest are dropped, down to
    `stored_replies`.
    """
    retained_sessions: Count = 16384
    """Ended sessions that are kept until their lease is over; beyond, the oldest expire earlier."""

    max_body_bytes: Count = 1 << 20
    max_url_bytes: Count = 8192
    max_head_bytes: Count = 16384
    max_action_chars: Count = 65536
    max_batch_items: Count = 256
    max_frame_bytes: Count = 1 << 20
    max_in_flight: Count = 1024
    """Operations of one WebSocket that run at a time; beyond, 429 `too-many-in-flight`."""
    mcp_expose_reward: bool = False
    """True if MCP replies carry rewards, which tell an agent the answer."""
    max_session_bytes: Count = 16 << 20
    """Bytes of actions of one session; the turn beyond is truncated with `truncation_reason`
    `session-bytes`.
    """
    head_timeout_s: Seconds = 10.0
    body_timeout_s: Seconds = 30.0
    keep_alive_s: Seconds = 75.0
    drain_s: Annotated[float, Field(ge=0)] = 10.0
    """Time that open sessions have after SIGTERM before the server stops, seconds."""

    @property
    def authenticated(self) -> bool:
        """True if callers need a token."""
        return any((self.token, self.trainer_token, self.agent_token))

    @property
    def loopback(self) -> bool:
        """True if the server is reachable from this machine only."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """True if a host name or address, without port, denotes this machine only."""
    name = host.strip("[]").lower()
    return name in LOOPBACK_NAMES or (name.startswith("127.") and name.replace(".", "").isdigit())

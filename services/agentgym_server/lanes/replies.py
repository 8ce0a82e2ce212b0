"""Reply models for the OpenAPI document, one per reply.

    POST /envs/echo/sessions    ->  201  SessionReply  {"session_id": "s_...", "turn": 0, "state": "open"}
    POST /sessions/s_.../steps  ->  200  StepReply     {"turn": 1, "observation": "...", "reward": 0.0}

Replies may grow: clients ignore members that are new. Nothing is rendered with these models, which would cost
more than a step; the test of the document holds the server's replies against them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentgym_server.sessions.session import Ending, State
from agentgym_server.wire.problems import KINDS, PREFIX

ENV_PATTERN = "^[a-z][a-z0-9_-]{0,63}$"
SESSION_PATTERN = "^s_[A-Za-z0-9_-]{16,64}$"

EnvName = Annotated[str, Field(pattern=ENV_PATTERN)]
SessionId = Annotated[str, Field(pattern=SESSION_PATTERN)]
TaskId = Annotated[str, Field(min_length=1, max_length=256)]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Natural = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Json = dict[str, Any]
ShownCosts = dict[str, Annotated[float, Field(ge=0)] | None]


class Shown(BaseModel):
    """A JSON object that may have further members."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)


def _drop_default(schema: dict[str, Any]) -> None:
    del schema["default"]


def maybe() -> Any:
    """A member that some replies lack; where it is, it is not null."""
    return Field(default=None, json_schema_extra=_drop_default)


class ErrorRow(Shown):
    """Error in a request."""

    path: str
    """JSON Pointer into the body; empty: the body as a whole."""
    message: str


class Failure(Shown):
    """Failure of an episode's infrastructure; it is never a reward."""

    kind: Literal["worker-lost", "step-timeout", "internal", "partner", "judge", "verifier"]
    turn: Natural
    message: str


class Problem(Shown):
    """Error document (RFC 9457)."""

    type: Annotated[str, Field(json_schema_extra={"enum": [PREFIX + slug for slug in KINDS]})]
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    retryable: bool
    """Repeating the identical request cannot act twice."""
    instance: str = maybe()
    """The path that had the problem."""
    errors: list[ErrorRow] = maybe()
    expected_turn: Positive = maybe()
    given_turn: Natural = maybe()
    state: State = maybe()
    failure: Failure | None = maybe()
    incident: str = maybe()
    """Id under which the server's log has the details."""


class Lease(Shown):
    """Lease of a session: its lifetime without use."""

    ttl_s: Annotated[float, Field(gt=0)]
    expires_at: Moment


class Parent(Shown):
    """Origin of a fork."""

    session_id: SessionId
    turn: Natural


class SessionFacts(Shown):
    """Facts of a session, living or gone."""

    session_id: SessionId
    env: EnvName
    task_id: TaskId
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)]
    state: State
    turn: Natural
    """Completed turns."""
    total_reward: float
    terminated: bool
    truncated: bool
    max_turns: Positive
    format: str
    parent: Parent | None
    labels: dict[str, str]
    created_at: Moment
    env_version: str
    data_version: str
    failure: Failure | None
    outcome: Ending | None
    """Outcome of the episode; null while it is open."""
    reason: str | None
    """Reason of a cancelled session: `closed` or `lease-expired`."""
    episode_id: str = maybe()
    """Equal for the sessions of one episode with several seats."""
    seat: str = maybe()
    your_turn: bool = maybe()
    """False while a partner is to act: the observation is then not the one to act upon."""


class SessionReply(SessionFacts):
    """New session."""

    observation: str
    info: Json
    reward: float
    tools: list[Json] | None
    lease: Lease
    partners: list["SessionReply"] = maybe()
    """Sessions of the other seats."""


class HistoryRow(Shown):
    """One turn of an episode."""

    turn: Positive
    action: str | Json
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: Json
    costs: ShownCosts = maybe()


class AccountReply(SessionFacts):
    """Session with its accounting; members that only a living session has may be missing."""

    observation: str = maybe()
    info: Json = maybe()
    reward: float = maybe()
    """Reward of the last turn."""
    tools: list[Json] | None = maybe()
    lease: Lease = maybe()
    steps_executed: Natural
    last_activity_at: Moment
    wall_s: Annotated[float, Field(ge=0)]
    stored_bytes: Natural
    history: list[HistoryRow] = maybe()
    """With `history=true`: the turns whose replies are kept, oldest first."""


class StepReply(Shown):
    """Result of a turn."""

    session_id: SessionId
    turn: Positive
    observation: str
    reward: float
    """Reward of this turn."""
    total_reward: float
    terminated: bool
    """The environment reached its end."""
    truncated: bool
    """The episode was truncated: `info.truncation_reason` names the limit."""
    state: Literal["open", "ended"]
    info: Json
    costs: ShownCosts = maybe()
    """Costs of this turn by name, where there are any; null is a cost that was not judged."""
    lease: Lease


class LeaseReply(Shown):
    """A renewed lease."""

    session_id: SessionId
    lease: Lease


class DeleteReply(Shown):
    """A closed session."""

    session_id: SessionId
    state: Literal["closed", "expired"]
    outcome: Ending


class Capabilities(Shown):
    """Capabilities of an environment."""

    fork: Literal["any", "current", "none"]
    tools: bool
    multi_agent: bool


class EnvReply(Shown):
    """One environment."""

    env: EnvName
    version: str
    data_version: str
    """Equal `version` and `data_version` mean equal tasks."""
    splits: dict[str, Natural]
    """Number of tasks per split."""
    default_max_turns: Positive
    deterministic: bool
    difficulties: list[str]
    capabilities: Capabilities
    reward_range: Annotated[list[float], Field(min_length=2, max_length=2)]
    seats: list[str]
    """Seats of an episode that several agents play; empty where there is one agent only."""


class EnvsReply(Shown):
    """All environments."""

    envs: list[EnvReply]


class ActionFormats(Shown):
    """Action formats."""

    kinds: list[Literal["text", "tool_call", "completion"]]
    formats: list[str]
    max_chars: Positive


class SchemaReply(Shown):
    """Action formats and reply members of an environment."""

    env: EnvName
    action: ActionFormats
    tools: list[Json] | None
    info_keys: dict[str, str]
    prompt: Json
    observation: Json


class TaskRow(Shown):
    """Task without its answer."""

    task_id: TaskId
    split: str
    index: Natural | None
    """None where a task was asked for by its id, and its place in the split is not known."""
    summary: str


class TasksReply(Shown):
    """One page of tasks."""

    env: EnvName
    split: str | None
    offset: Natural
    limit: Positive
    total: Natural
    tasks: list[TaskRow]


class SessionCounts(Shown):
    """Open sessions and their limit."""

    active: Natural
    max: Positive
    free: Natural
    """Free slots. OpenEnv's connections hold theirs before their first episode."""


class WorkerCounts(Shown):
    """Worker processes."""

    alive: Natural
    restarts: Natural


class HealthReply(Shown):
    """Liveness and capacity; unauthenticated callers get the status only."""

    status: Literal["healthy", "degraded", "draining"]
    api_version: str = maybe()
    server: str = maybe()
    uptime_s: Annotated[float, Field(ge=0)] = maybe()
    sessions: SessionCounts = maybe()
    workers: WorkerCounts = maybe()


class ResultRow(Shown):
    """Result of one item: its `result`, or its `problem`."""

    ok: bool
    status: Annotated[int, Field(ge=200, le=599)]
    result: Json = maybe()
    problem: Problem = maybe()
    replay: bool = maybe()
    """True for a step that had been played before."""


class BatchReply(Shown):
    """The results of a batch, in the order of its items."""

    results: list[ResultRow]

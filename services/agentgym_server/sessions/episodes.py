"""The operations on sessions: create, step, fork, lease, delete, get. Every lane calls these."""

import asyncio
import secrets
import traceback
from collections.abc import Awaitable, Callable, Mapping
from functools import reduce
from operator import add
from typing import Any

from agentgym_envs.core import DependencyFault, TaskNotFound, TaskUnplayable
from agentgym_server.catalogue import DEFAULT_FORMAT, Catalogue, ServedEnvironment
from agentgym_server.clock import Clock
from agentgym_server.monitoring.metrics import Metrics
from agentgym_server.sessions.capacity import Slot
from agentgym_server.sessions.idempotency import Idempotency
from agentgym_server.sessions.registry import Registry
from agentgym_server.sessions.seats import SeatTurns
from agentgym_server.sessions.session import (
    FailedStep,
    JsonAction,
    Replies,
    Running,
    Session,
    SharedEpisode,
    account_view,
    history_view,
    lease_view,
    new_episode_id,
    new_session_id,
    session_view,
)
from agentgym_server.sessions.turns import (
    action_bytes,
    action_text,
    complete,
    conflict,
    gone,
    recall,
    visible_info,
)
from agentgym_server.settings import ServerSettings
from agentgym_server.wire.problems import Problem, clipped
from agentgym_server.wire.reply import REPLAY, Headers, Reply, json_reply
from agentgym_server.wire.requests import (
    CreateRequest,
    ForkRequest,
    LeaseRequest,
    Step,
    invalid,
    step_request,
    validated,
)
from agentgym_server.workers.fork_server import WorkerStartFailed
from agentgym_server.workers.hosts import (
    Host,
    HostFault,
    Origin,
    Outcome,
    Outcomes,
    Overloaded,
    dependency_fault,
    internal_fault,
)

MAX_TASK_ID_CHARS = 256


class Episodes:
    """Operations on the sessions of one server. Every failure is a `Problem`."""

    def __init__(
        self,
        catalogue: Catalogue,
        hosts: Mapping[str, Host],
        settings: ServerSettings,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self.registry = Registry(settings, clock)
        self.draining = False
        self._catalogue = catalogue
        self._hosts = hosts
        self._settings = settings
        self._clock = clock
        self._metrics = metrics
        self._keyed = Idempotency(clock, settings.idempotency_s)
        self._seats = SeatTurns(self.registry, clock, self._commit, self._fail_shared)

    async def create(
        self,
        env: str,
        body: object,
        key: str | None = None,
        wait_s: float = 0.0,
        slot: Slot | None = None,
    ) -> Reply:
        """Start an episode; `wait_s`: maximum wait for a free slot, `slot`: one that it already has."""
        served = self._catalogue.of(env)
        request = validated(CreateRequest, body)
        return await self._keyed.once(
            f"create {env}", key, body, lambda: self._create(served, request, wait_s, slot)
        )

    async def reserve(self, env: str) -> Slot:
        """A slot for successive episodes; the environment is ready to play them."""
        slot = await self._take_slot(env, 0.0)
        try:
            await self._hosts[env].start()
        except BaseException as cause:
            slot.give()
            if not isinstance(cause, Exception):
                raise
            raise self._beginning_problem(cause, Origin(env, "", 0)) from None
        return slot

    def step(self, session_id: str, body: object, hold: bool = True) -> Reply | Awaitable[Reply]:
        """Play one numbered turn, or return its stored reply; immediate where no waiting is needed.

        With `hold`, the step of a seat waits for its partners, at most `partner_wait_s`.
        """
        session = self.registry.find(session_id)
        step = step_request(body)
        self._check_size(step.action)
        env = session.origin.env
        try:
            known = recall(session, step.turn, step.action)
        except Problem:
            self._metrics.steps[env, "conflict"] += 1
            raise
        if known is None:
            return self._play(session, step, hold)
        self._metrics.steps[env, "replay"] += 1
        if isinstance(known, bytes):
            return Reply(200, known, REPLAY)
        return _reply_of(known, REPLAY) if session.shared is None else self._held(known, hold, REPLAY)

    async def act(self, session_id: str, action: JsonAction, deadline_s: float | None = None) -> Reply:
        """Play an action as the next turn, after the running one.

        For dialects without turn numbers: a repeat is another turn.
        """
        session = self.registry.find(session_id)
        while (running := session.running) is not None:
            await asyncio.wait([running.reply])
        deadline = {} if deadline_s is None else {"deadline_s": deadline_s}
        reply = self.step(session_id, {"turn": session.turn + 1, "action": action, **deadline})
        return reply if isinstance(reply, Reply) else await reply

    async def fork(self, session_id: str, body: object, key: str | None = None, wait_s: float = 0.0) -> Reply:
        """Branch a session at its current turn or an earlier one."""
        parent = self.registry.find(session_id)
        request = validated(ForkRequest, {} if body is None else body)
        self._check_alive(parent)
        if parent.shared is not None:
            raise Problem("unsupported-operation", "an episode with several seats cannot be forked")
        at_turn = parent.turn if request.at_turn is None else request.at_turn
        if at_turn > parent.turn:
            raise conflict(parent, at_turn)
        if parent.state == "ended" and at_turn == parent.turn:
            raise Problem("session-ended", "the episode is over at this turn", state="ended")
        scope = f"fork {session_id}"
        work = lambda: self._fork(parent, at_turn, request, wait_s)  # noqa: E731
        return await self._keyed.once(scope, key, body, work)

    def lease(self, session_id: str, body: object) -> Reply:
        """Renew a lease, optionally with another duration."""
        session = self.registry.find(session_id)
        request = validated(LeaseRequest, {} if body is None else body)
        self._check_alive(session)
        if request.lease_ttl_s is not None:
            session.lease_ttl_s = min(request.lease_ttl_s, self._settings.max_lease_ttl_s)
        session.renew(self._clock.now())
        return json_reply({"session_id": session.id, "lease": lease_view(session, self._clock)})

    def delete(self, session_id: str) -> Reply:
        """Close a session; idempotent."""
        session = self.registry.find(session_id)
        if session.state not in ("closed", "expired"):
            self.registry.close(session)
        return json_reply({"session_id": session.id, "state": session.state, "outcome": session.outcome})

    def get(self, session_id: str, history: bool = False) -> Reply:
        """A session's state and accounting."""
        session = self.registry.find(session_id)
        view = account_view(session, self._clock)
        if history:
            view["history"] = history_view(session)
        return json_reply(view)

    async def get_at_turn(self, session_id: str, history: bool, wait_s: float) -> Reply:
        """As `get`, but waits at most `wait_s` for the turn or the end of a seat that has not acted yet."""
        session = self.registry.find(session_id)
        until = asyncio.get_running_loop().time() + wait_s
        while (shared := session.shared) is not None and session.state == "open" and not session.your_turn:
            changed = asyncio.ensure_future(shared.changed.wait())
            left = until - asyncio.get_running_loop().time()
            await asyncio.wait([changed], timeout=max(0.0, left))
            if not changed.done():
                changed.cancel()
                break
        return self.get(session_id, history)

    async def _create_seats(self, served: ServedEnvironment, request: CreateRequest, wait_s: float) -> Reply:
        """Start an episode with several seats: the session of the first, with those of its partners."""
        seats = served.environment.seats
        if request.seats != len(seats):
            known = ", ".join(seats) or "one agent"
            raise Problem("unsupported-operation", f"the seats of {served.name} are: {known}")
        seed = secrets.randbelow(2**53) if request.seed is None else request.seed
        origin = Origin(served.name, request.task_id, seed)
        shared = SharedEpisode(new_episode_id(self._settings.instance), origin, self._hosts[served.name])
        slots = await self._take_slots(served.name, wait_s, len(seats))
        deadline_s = self._deadline_s(served.name, self._settings.reset_deadline_s)

        def free() -> None:
            for slot in slots:
                slot.give()

        opened = await self._begun(
            origin, shared.host, free, lambda: shared.host.open_seats(shared.id, origin, deadline_s)
        )
        for seat, slot in zip(seats, slots, strict=True):
            key = new_session_id(self._settings.instance)
            session = self._session(key, origin, slot, request.lease_ttl_s, request.labels, None)
            session.seat, session.shared = seat, shared
            session.format = request.format or DEFAULT_FORMAT
            session.max_turns = request.max_turns or served.environment.max_turns
            shared.sessions[seat] = session
        return self._enter_seats(shared, opened, free)

    def _enter_seats(self, shared: SharedEpisode, opened: Outcomes, free: Callable[[], object]) -> Reply:
        try:
            self._seats.open(shared, opened)
            first, *others = [session_view(session, self._clock) for session in shared.sessions.values()]
            location = ((b"location", f"/sessions/{first['session_id']}".encode()),)
            reply = json_reply(first | {"partners": others}, 201, location)
        except (TypeError, ValueError) as cause:
            shared.host.drop(shared.id)
            free()
            raise self.registry.failure_problem(_fault(cause), 0) from None
        self.registry.add_shared(shared)
        return reply

    async def _create(
        self, served: ServedEnvironment, request: CreateRequest, wait_s: float, slot: Slot | None
    ) -> Reply:
        if request.seats is not None:
            return await self._create_seats(served, request, wait_s)
        seed = secrets.randbelow(2**53) if request.seed is None else request.seed
        origin = Origin(served.name, request.task_id, seed)
        host = self._hosts[served.name]
        key = new_session_id(self._settings.instance)
        deadline_s = self._deadline_s(served.name, self._settings.reset_deadline_s)
        self._check_draining()
        slot = slot or await self._take_slot(served.name, wait_s)
        opened = await self._begun(origin, host, slot.give, lambda: host.open(key, origin, deadline_s))
        session = self._session(key, origin, slot, request.lease_ttl_s, request.labels, None)
        session.format = request.format or DEFAULT_FORMAT
        session.max_turns = request.max_turns or served.environment.max_turns
        session.observation, session.info, session.tools = opened.text, visible_info(opened), opened.tools
        return self._enter(session)

    async def _fork(self, parent: Session, at_turn: int, request: ForkRequest, wait_s: float) -> Reply:
        environment = self._catalogue.of(parent.origin.env).environment
        now_there = at_turn == parent.turn and parent.running is None and parent.state == "open"
        snapshot = environment.forkable and now_there
        if not snapshot and not environment.deterministic:
            raise Problem("unsupported-operation", "this environment cannot be forked at this turn")
        actions = None if snapshot else [action_text(parent, action) for action in parent.played[:at_turn]]
        key, host, deadline_s = (
            new_session_id(self._settings.instance),
            parent.host,
            self._deadline_s(parent.origin.env, self._settings.reset_deadline_s),
        )
        slot = await self._take_slot(parent.origin.env, wait_s)
        child = self._child(key, parent, slot, at_turn, request)
        reached = await self._begun(
            parent.origin,
            host,
            slot.give,
            lambda: host.fork(key, parent.id, parent.origin, actions, deadline_s),
        )
        if reached is not None:
            child.observation, child.info, child.tools = reached.text, visible_info(reached), reached.tools
            child.reward = reached.reward
        parent.renew(self._clock.now())
        return self._enter(child)

    def _child(self, key: str, parent: Session, slot: Slot, at_turn: int, request: ForkRequest) -> Session:
        labels = parent.labels if request.labels is None else request.labels
        origin = {"session_id": parent.id, "turn": at_turn}
        ttl_s = request.lease_ttl_s or parent.lease_ttl_s
        child = self._session(key, parent.origin, slot, ttl_s, labels, origin)
        child.format, child.max_turns = parent.format, parent.max_turns
        child.turn = child.inherited = at_turn
        child.played, child.rewards = parent.played[:at_turn], parent.rewards[:at_turn]
        child.action_bytes = sum(map(action_bytes, child.played))
        child.total_reward = reduce(add, child.rewards, 0.0)  # the parent's order: `sum` may round otherwise
        child.replies = parent.replies.until(at_turn)
        child.observation, child.info, child.tools = parent.observation, dict(parent.info), parent.tools
        child.reward = parent.reward
        return child

    def _session(
        self,
        key: str,
        origin: Origin,
        slot: Slot,
        ttl_s: float | None,
        labels: dict[str, str],
        parent: dict[str, Any] | None,
    ) -> Session:
        now = self._clock.now()
        settings = self._settings
        lease_s = min(settings.lease_ttl_s if ttl_s is None else ttl_s, settings.max_lease_ttl_s)
        environment = self._catalogue.of(origin.env).environment
        return Session(
            id=key,
            origin=origin,
            host=self._hosts[origin.env],
            slot=slot,
            env_version=environment.version,
            data_version=environment.data_version,
            format=DEFAULT_FORMAT,
            max_turns=environment.max_turns,
            lease_ttl_s=lease_s,
            labels=labels,
            parent=parent,
            created_at=now,
            expires_at=now + lease_s,
            active_at=now,
            replies=Replies(settings.stored_replies, settings.stored_reply_bytes),
        )

    async def _take_slot(self, env: str, wait_s: float) -> Slot:
        return (await self._take_slots(env, wait_s, 1))[0]

    async def _take_slots(self, env: str, wait_s: float, count: int) -> list[Slot]:
        self._check_draining()
        self.registry.keep_sweeping()
        capacity = self.registry.capacity
        if capacity.taken + count > capacity.limit:
            self.registry.sweep()
        if not await capacity.take(wait_s, count):
            self._metrics.rejections[env] += 1
            raise Problem(
                "capacity",
                f"{capacity.taken} of {capacity.limit} sessions are in use",
                active_sessions=capacity.taken,
                max_sessions=capacity.limit,
            )
        return [Slot(capacity.give) for _ in range(count)]

    def _check_draining(self) -> None:
        if self.draining:
            raise Problem("draining", "the server is about to stop")

    async def _begun(self, origin: Origin, host: Host, free: Callable[[], object], begin: Any) -> Any:
        """The outcome of `begin`; a failure releases its slots with `free`, and is a problem."""
        try:
            if not _fit(origin.task_id):
                raise TaskNotFound
            await host.start()
            return await begin()
        except BaseException as cause:
            free()
            if not isinstance(cause, Exception):
                raise
            raise self._beginning_problem(cause, origin) from None

    def _deadline_s(self, env: str, limit_s: float) -> float:
        """A limit of the settings, or the time that the environment's own time-outs take, if it is longer."""
        return max(limit_s, self._catalogue.of(env).environment.waits_s)

    def _beginning_problem(self, cause: Exception, origin: Origin) -> Problem:
        if isinstance(cause, TaskNotFound):
            shown = clipped(origin.task_id)
            return Problem("task-not-found", "no task has this id", env=origin.env, task_id=shown)
        if isinstance(cause, TaskUnplayable):
            return Problem("unsupported-operation", str(cause), env=origin.env, task_id=origin.task_id)
        if isinstance(cause, Overloaded):
            return Problem("overloaded", str(cause))
        problem = self.registry.failure_problem(_fault(cause), 0)
        problem.retryable = problem.slug == "worker-lost"  # no session was created: a repeat cannot act twice
        return problem

    def _enter(self, session: Session) -> Reply:
        try:
            reply = json_reply(
                session_view(session, self._clock), 201, ((b"location", f"/sessions/{session.id}".encode()),)
            )
        except (TypeError, ValueError) as cause:
            session.host.drop(session.id)
            session.slot.give()
            raise self.registry.failure_problem(_fault(cause), 0) from None
        self.registry.add(session)
        return reply

    def _play(self, session: Session, step: Step, hold: bool) -> Reply | Awaitable[Reply]:
        deadline_s = self._deadline_s(session.origin.env, self._settings.step_deadline_s)
        if step.deadline_s is not None:
            deadline_s = min(deadline_s, step.deadline_s)
        action = step.action
        if session.shared is not None:
            running = self._running(step)
            self._seats.play(session.shared, session, running, deadline_s)
            return self._held(running, hold)
        try:
            played = session.host.step(session.id, action_text(session, action), deadline_s)
            if isinstance(played, Outcome):
                return Reply(200, self._commit(session, action, played))
        except Overloaded as cause:
            raise Problem("overloaded", str(cause)) from None
        except Exception as cause:  # noqa: BLE001 - an environment may raise anything; its session fails
            raise self._failed(session, action, cause) from None
        session.renew(self._clock.now())
        session.running = running = self._running(step)
        running.task = asyncio.create_task(self._await_step(session, running, played))
        return _reply_of(running)

    @staticmethod
    def _running(step: Step) -> Running:
        running = Running(step.turn, step.action, asyncio.get_running_loop().create_future())
        running.reply.add_done_callback(_seen)
        return running

    async def _held(self, running: Running, hold: bool, headers: Headers = ()) -> Reply:
        """The reply of a seat's step, if it comes in time; raises the problem `partner-turn`."""
        if hold and not running.reply.done():
            await asyncio.wait([running.reply], timeout=self._settings.partner_wait_s)
        if not running.reply.done():
            raise Problem("partner-turn", "a partner has not acted yet: repeat this request for the reply")
        return Reply(200, running.reply.result(), headers)

    def _fail_shared(self, shared: SharedEpisode, cause: Exception) -> None:
        self._metrics.steps[shared.origin.env, "failed"] += 1
        self.registry.fail(shared.id, _fault(cause))

    async def _await_step(self, session: Session, running: Running, step: Awaitable[Outcome]) -> None:
        """Finish a step, even if its caller no longer waits."""
        try:
            played = await step
            if session.running is not running:
                return  # it failed or was closed meanwhile
            session.running = None
            running.reply.set_result(self._commit(session, running.action, played))
        except Exception as cause:  # noqa: BLE001 - an environment may raise anything; its session fails
            problem = self._failed(session, running.action, cause)
            if not running.reply.done():
                running.reply.set_exception(problem)

    def _commit(self, session: Session, action: JsonAction, played: Outcome) -> bytes:
        session.renew(self._clock.now())
        reply = complete(session, action, played, self._clock, self._settings.max_session_bytes)
        self._metrics.steps[session.origin.env, "ok"] += 1
        if session.terminated or session.truncated:
            self.registry.end(session)
        return reply

    def _failed(self, session: Session, action: JsonAction, cause: Exception) -> Problem:
        fault, turn = _fault(cause), session.turn + 1
        self._metrics.steps[session.origin.env, "failed"] += 1
        problem = self.registry.failure_problem(fault, turn)
        session.running = None
        self.registry.fail(session.id, fault, FailedStep(turn, action, problem))
        return problem

    def _check_alive(self, session: Session) -> None:
        if session.state == "failed":
            raise Problem("session-failed", "the episode failed", state="failed", failure=session.failure)
        if session.state in ("closed", "expired"):
            raise gone(session)

    def _check_size(self, action: JsonAction) -> None:
        limit = self._settings.max_action_chars
        text = action if isinstance(action, str) else action.get("text", "")
        if len(text) > limit:
            path = "/action" if isinstance(action, str) else "/action/text"
            raise invalid((path, f"must have at most {limit} characters"))


async def _reply_of(running: Running, headers: Headers = ()) -> Reply:
    return Reply(200, await asyncio.shield(running.reply), headers)


def _fit(task_id: str) -> bool:
    return 0 < len(task_id) <= MAX_TASK_ID_CHARS and not any(ord(character) < 32 for character in task_id)


def _fault(cause: Exception) -> HostFault:
    """The fault behind an exception: a host's own, or the environment's, which is logged under an
    incident.
    """
    if isinstance(cause, HostFault):
        return cause
    if isinstance(cause, WorkerStartFailed):
        return HostFault("worker-lost", str(cause))
    trace = "".join(traceback.format_exception(cause))
    if isinstance(cause, DependencyFault):
        return dependency_fault(cause.kind, trace)
    return internal_fault("an environment raised", trace)


def _seen(reply: asyncio.Future[bytes]) -> None:
    """Mark an exception as seen: a step may have no caller left."""
    if not reply.cancelled():
        reply.exception()

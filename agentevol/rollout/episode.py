"""Episode rollout in one session: policy x EnvClient -> Trajectory.

Every requested episode ends in exactly one `Ending`. Any failure on the way (server, worker, transport,
engine, policy, template, or a bug of our own) becomes `Failed` with its kind: never a reward, never an
exception for the other episodes. A run stops above a share of such endings (`explore.max_failed`).
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Generator, Hashable, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from agentevol.core.action_formats.registry import opening_messages
from agentevol.core.errors import (
    REPLAY_MISMATCH,
    EnvironmentFault,
    PolicyFault,
    RolloutFault,
    TransportFault,
    described,
)
from agentevol.core.protocols import Checkpoint, ContextFull, Conversation, GivenUp, Policy
from agentevol.engines.scripted import said
from agentevol.rollout.session_forks import Forks, Reached, closed
from agentevol.rollout.thinking import beginning_of, thinking_facts
from agentgym_client import EnvClient, Session
from agentgym_client.errors import EnvClientError, ServerProblem
from agentgym_envs.core import Observation, StepResult
from agentgym_envs.formats import ActionFormat
from agentgym_envs.tools import Tools, names, texts_with_tools, with_tools
from agentgym_store.purposes import Purpose
from agentgym_store.records import (
    STATE,
    TOOLS,
    Cancelled,
    Ending,
    Failed,
    Sample,
    Terminated,
    Trajectory,
    Truncated,
    Turn,
)

ResultT = TypeVar("ResultT")

_LOG = logging.getLogger(__name__)

ABORTED = "weights-updated"
"""Failure kind of an episode that was aborted when the weights changed: it is played again."""
SECONDS_DIGITS = 3
"""Significant digits of a turn's seconds: fewer different values take less of the table."""
ACT_TIMEOUT_S = 300.0
"""Seconds after which a policy without an answer has failed, unless the request says otherwise."""


@dataclass(frozen=True)
class EpisodeRequest:
    """Request of one episode; equal requests to equal weights give equal episodes."""

    id: str
    run: str
    iteration: int
    purpose: Purpose
    env: str
    task_id: str
    split: str
    kind: str
    difficulty: str
    instruction: str
    seed: int
    attempt: int
    max_turns: int | None = None
    prefix: tuple[Turn, ...] = ()
    """Turns of another episode of this task and seed that are replayed before the policy acts."""
    parent: str | None = None
    """Id of the episode that this one continues or answers."""
    policy_seed: int | None = None
    """Seed of the policy's draws; None is `seed`. Continuations share an environment seed and differ in their
    draws.
    """
    seats: int = 1
    """Seats that are played; 1 is one agent against the environment's own partners, if it has any."""
    policy_seat: int | None = None
    """Seat of the policy, from 0, where another player has the others; None: it plays all of them."""
    partner: Checkpoint | str | None = None
    """Player of the other seats in this episode alone, weights or a script; None is that of
    `environment.partner`.
    """
    temperature: float | None = None
    """Sampling temperature of this episode alone; None is that of its policy."""
    act_timeout_s: float | None = None
    """Seconds after which the policy without an answer has failed, of a session of one seat, whose lease is
    twice as long; None is `ACT_TIMEOUT_S`, and the server's own lease.
    """


@dataclass
class EpisodeProgress:
    """Progress of an episode, or of one seat of it, while it is played."""

    request: EpisodeRequest
    policy: str
    episode_id: str | None = None
    """Id that the seats of the episode share; None in an episode of one seat."""
    seat: int = 0
    began: float = field(default_factory=time.perf_counter)
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    env_version: str = ""
    data_version: str = ""
    initial_observation: str = ""
    state: str = ""
    """State in which the agent acts next."""
    turns: list[Turn] = field(default_factory=list[Turn])
    given: int = 0
    """Number of first turns that the policy did not choose."""

    def finished(self, ending: Ending) -> Trajectory:
        """The record of the episode."""
        request = self.request
        return Trajectory(
            id=request.id,
            run=request.run,
            iteration=request.iteration,
            purpose=request.purpose,
            env=request.env,
            env_version=self.env_version,
            data_version=self.data_version,
            task_id=request.task_id,
            split=request.split,
            kind=request.kind,
            difficulty=request.difficulty,
            instruction=request.instruction,
            seed=request.seed,
            attempt=request.attempt,
            policy=self.policy,
            initial_observation=self.initial_observation,
            turns=tuple(self.turns),
            ending=ending,
            started_at=self.started_at,
            wall_s=time.perf_counter() - self.began,
            parent=request.parent,
            given_turns=self.given,
            temperature=request.temperature,
            episode_id=self.episode_id,
            seat=self.seat,
        )


async def play(
    client: EnvClient,
    policy: Policy,
    request: EpisodeRequest,
    action_format: ActionFormat,
    forks: Forks | None = None,
) -> Trajectory:
    """Play one episode to its ending. Raises nothing but `CancelledError`, after closing the session.

    With `forks`, episodes that continue from the same state begin with forks of one session, where the
    environment supports it.
    """
    progress = EpisodeProgress(request, policy.name)
    conversation = Conversation(request.id, [], task_id=request.task_id)
    playing = _play(client, policy, conversation, action_format, forks, progress)
    return await recorded(progress, policy, conversation, playing)


async def recorded(
    progress: EpisodeProgress, policy: Policy, conversation: Conversation, playing: Awaitable[Ending]
) -> Trajectory:
    """Record of what `playing` plays: with its ending, or as failed. Raises nothing but `CancelledError`."""
    try:
        return progress.finished(await playing)
    except RolloutFault as fault:
        return progress.finished(Failed(failure=fault.kind, detail=str(fault)[:500]))
    except Exception as cause:  # noqa: BLE001 - other episodes go on; the kind is counted
        return progress.finished(Failed(failure=RolloutFault.kind, detail=described(cause)))
    finally:
        _released(policy, conversation.id)


async def _play(
    client: EnvClient,
    policy: Policy,
    conversation: Conversation,
    action_format: ActionFormat,
    forks: Forks | None,
    progress: EpisodeProgress,
) -> Ending:
    async with _begun(client, progress.request, forks) as begun:
        begin(begun.session, begun.shown[0], conversation, action_format, progress)
        await _replay(begun, conversation, action_format, progress)
        return await take_turns(begun.session, policy, conversation, action_format, progress)


def begin(
    session: Session,
    opening: Observation,
    conversation: Conversation,
    action_format: ActionFormat,
    progress: EpisodeProgress,
) -> None:
    """Show the first observation to the policy, and note it."""
    progress.env_version, progress.data_version = session.env_version, session.data_version
    progress.initial_observation = with_tools(opening)
    progress.state = state_of(opening)
    conversation.messages.extend(opening_messages(action_format, session.env, with_tools(opening)))
    conversation.observation = opening
    conversation.beginning = beginning_of(action_format)


async def take_turns(
    session: Session,
    policy: Policy,
    conversation: Conversation,
    action_format: ActionFormat,
    progress: EpisodeProgress,
) -> Ending:
    """Let the policy act until the end. Raises `RolloutFault`."""
    request = progress.request
    seed = request.seed if request.policy_seed is None else request.policy_seed
    while True:
        try:
            timeout_s = request.act_timeout_s or ACT_TIMEOUT_S
            sample, policy_s = await _timed(_act(policy, conversation, seed, timeout_s))
        except ContextFull:
            return Truncated(limit="context")
        except GivenUp:
            return Cancelled()
        conversation.say(sample)
        action = action_format.parse(sample.text)
        before = session.observation.tools
        with owned("step"):
            result, environment_s = await _timed(session.step(action))
        told = thinking_facts(action_format, sample.text, policy)
        said = sample if sample.token_ids else None
        turn = _turn(action, result, said, progress.state, before, told, (policy_s, environment_s))
        progress.turns.append(turn)
        progress.state = state_of(result.observation)
        if result.terminated:
            return Terminated()
        if result.truncated:
            return cut_off(turn.info)
        conversation.hear(result.observation)


async def _timed(doing: Awaitable[ResultT]) -> tuple[ResultT, float]:
    """The result, and the seconds that it took."""
    began = time.perf_counter()
    result = await doing
    return result, float(f"{time.perf_counter() - began:.{SECONDS_DIGITS}g}")


def cut_off(info: Mapping[str, object]) -> Truncated:
    """Ending of an episode that a limit cut, from the last reply's `info`."""
    return Truncated(limit=str(info.get("truncation_reason", "max_turns")))


def state_of(observation: Observation) -> str:
    """Text of a state as an agent can distinguish it: the observation, the admissible actions and the names
    of the tools.
    """
    return "\n".join((observation.text, *(observation.actions or ()), *names(observation.tools)))


def _turn(
    action: str,
    result: StepResult,
    sample: Sample | None,
    state: str,
    before: Tools | None = None,
    told: Mapping[str, object] | None = None,
    seconds: tuple[float | None, float | None] = (None, None),
) -> Turn:
    """Record of a turn that was taken in `state`, where the tools were those of `before`; `told` are facts
    about the message itself, `seconds` those of the policy and of the environment.
    """
    info: dict[str, object] = {k: value for k, value in result.info.items() if k != "available_actions"}
    info.update(told or {})
    info[STATE] = state
    text, tools = result.observation.text, result.observation.tools
    if not result.terminated and tools != before:
        text = with_tools(result.observation, before)
        info[TOOLS] = None if tools is None else list(tools)
    return Turn(
        action=action,
        observation=text,
        reward=result.reward,
        sample=sample,
        info=info,
        costs=result.costs,
        policy_s=seconds[0],
        environment_s=seconds[1],
    )


async def _replay(
    begun: Reached, conversation: Conversation, action_format: ActionFormat, progress: EpisodeProgress
) -> None:
    """Replay the missing part of the prefix. Raises `EnvironmentFault` where the environment answers
    otherwise than before.
    """
    known = begun.shown[1:]
    for number, turn in enumerate(progress.request.prefix):
        shown = known[number] if number < len(known) else await _again(begun.session, turn, number)
        progress.turns.append(turn)
        progress.given += 1
        conversation.say(turn.sample or said(action_format.render(turn.action)))
        conversation.hear(shown)
        progress.state = state_of(shown)


async def _again(session: Session, turn: Turn, number: int) -> Observation:
    """Replay a turn and return the environment's observation."""
    before = session.observation.tools
    with owned("replay"):
        result = await session.step(turn.action)
    text = with_tools(result.observation, before)
    if text != turn.observation or result.terminated or result.truncated:
        raise EnvironmentFault(REPLAY_MISMATCH, f"turn {number} had another result than before")
    return result.observation


async def _act(policy: Policy, conversation: Conversation, seed: int, timeout_s: float) -> Sample:
    """Sample the policy's next action; every turn has its own seed."""
    try:
        turn_seed = seed * 10_007 + len(conversation.samples)
        async with asyncio.timeout(timeout_s):
            sample = await policy.act(conversation, turn_seed)
    except TimeoutError as cause:
        raise PolicyFault(f"no answer within {timeout_s:.0f} s") from cause
    except (ContextFull, GivenUp, RolloutFault):
        raise
    except Exception as cause:  # a bug of the policy, its template or its expert
        raise PolicyFault(described(cause)) from cause
    if not sample.text.startswith(conversation.beginning):
        raise PolicyFault(
            f"{policy.name} cannot be made to begin its messages with {conversation.beginning!r}"
        )
    return sample


def _released(policy: Policy, conversation_id: str) -> None:
    """Release the policy's state of a conversation; a failure does not affect an episode that is over."""
    try:
        policy.release(conversation_id)
    except Exception:  # noqa: BLE001 - whatever it is, the record is complete
        _LOG.exception("%s did not release %s", policy.name, conversation_id)


@asynccontextmanager
async def _begun(client: EnvClient, request: EpisodeRequest, forks: Forks | None) -> AsyncIterator[Reached]:
    """A session of the episode, fresh or a fork that stands after the prefix; closed in any case."""
    if forks is None or not request.prefix or not await forks.offered(request.env):
        session = await _opened(client, request)
        try:
            yield Reached(session, (session.observation,))
        finally:
            await closed(session)
        return
    with owned("fork"):
        async with forks.session(_state(request), lambda: _reached(client, request)) as reached:
            shown = (*reached.shown[:-1], reached.session.observation)
            if texts_with_tools(shown)[-1] != request.prefix[-1].observation:
                raise EnvironmentFault(REPLAY_MISMATCH, "the fork is in another state than its parent")
            yield reached


async def _opened(client: EnvClient, request: EpisodeRequest) -> Session:
    lease_s = None if request.act_timeout_s is None else max(60.0, 2 * request.act_timeout_s)
    with owned("open"):
        return await client.open(
            request.env,
            request.task_id,
            seed=request.seed,
            max_turns=request.max_turns,
            lease_ttl_s=lease_s,
        )


async def _reached(client: EnvClient, request: EpisodeRequest) -> Reached:
    """A session in which the prefix was replayed; closed where the replay fails."""
    session = await _opened(client, request)
    try:
        shown = [session.observation]
        for number, turn in enumerate(request.prefix):
            shown.append(await _again(session, turn, number))
    except BaseException:
        await closed(session)
        raise
    return Reached(session, tuple(shown))


def _state(request: EpisodeRequest) -> Hashable:
    """Key that is equal for continuations of one state."""
    played = tuple((turn.action, turn.observation) for turn in request.prefix)
    return request.env, request.task_id, request.seed, request.max_turns, played


@contextmanager
def owned(doing: str) -> Generator[None, None, None]:
    """Turn the client's errors into faults, whose kinds are counted."""
    try:
        yield
    except ServerProblem as problem:
        raise EnvironmentFault(problem.failure, f"{doing}: {problem.detail}") from problem
    except EnvClientError as cause:
        raise TransportFault(f"{doing}: {cause}") from cause

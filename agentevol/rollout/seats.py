"""Episodes with several seats: a session, a view and a trajectory for each seat.

All seats are played concurrently, by the policy alone (self-play) or by the policy in one seat and a partner
in the others. A seat that fails ends the others as `failed(partner)`: no seat of a failed episode is learnt.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agentevol.core.errors import FormatFault, RolloutFault
from agentevol.core.protocols import Conversation, Policy
from agentevol.rollout.episode import (
    EpisodeProgress,
    EpisodeRequest,
    begin,
    cut_off,
    owned,
    recorded,
    take_turns,
)
from agentevol.rollout.session_forks import closed
from agentgym_client import EnvClient, Session
from agentgym_envs.formats import ActionFormat
from agentgym_store.records import Ending, Failed, Terminated, Trajectory, Truncated, Turn

Episode = tuple[Trajectory, ...]
"""Trajectories of all seats of an episode, in the order of the seats."""
PARTNER = "partner"
"""Failure kind of a seat whose partner failed; the environment server uses the same name."""
SEED_BITS = 31
"""Bits of an episode's seed: policies in other seats draw with seeds above."""


async def play_seats(
    client: EnvClient,
    policy: Policy,
    request: EpisodeRequest,
    action_format: ActionFormat,
    partner: Policy | None = None,
    partner_format: ActionFormat | None = None,
) -> Episode:
    """Play one episode in all its seats. Raises nothing but `CancelledError`, after closing the sessions.

    `partner` plays the seats other than `request.policy_seat`, if that is one, and writes its actions in
    `partner_format`; None is the policy's.
    """
    own, other = (policy, action_format), (partner or policy, partner_format or action_format)
    players = [own if _is_own(request, seat) else other for seat in range(request.seats)]
    seats = _seats(request, [player.name for player, _ in players])
    try:
        with owned("open"):
            sessions = await client.open_seats(
                request.env,
                request.task_id,
                seats=request.seats,
                seed=request.seed,
                max_turns=request.max_turns,
            )
    except RolloutFault as fault:
        return tuple(one.finished(Failed(failure=fault.kind, detail=str(fault)[:500])) for one in seats)
    try:
        found = await asyncio.gather(
            *(
                _play_seat(session, player, form, progress)
                for session, (player, form), progress in zip(sessions, players, seats, strict=True)
            )
        )
    finally:
        await asyncio.gather(*(closed(session) for session in sessions))
    return settled(found)


def failed_episode(request: EpisodeRequest, policy: str, kind: str, detail: str) -> Episode:
    """Record of an episode that was lost with the process that played it: every seat of it has failed."""
    ending = Failed(failure=kind, detail=detail[:500])
    return tuple(one.finished(ending) for one in _seats(request, [policy] * request.seats))


def failure_of(episode: Episode) -> str | None:
    """Kind of the failure that ended an episode; None where none did. `partner` only without another one."""
    kinds = [one.ending.failure for one in episode if one.ending.kind == "failed"]
    own = [kind for kind in kinds if kind != PARTNER]
    # a message outside the action format would be so again, whatever else failed
    return FormatFault.kind if FormatFault.kind in own else next(iter(own or kinds), None)


def settled(seats: Sequence[Trajectory]) -> Episode:
    """The trajectories with endings that agree.

    Where one seat failed, all have; where the context of one was full and the server told the others that
    their partner had left, they are truncated for the same reason.
    """
    failures = [one.ending.failure for one in seats if one.ending.kind == "failed"]
    if not failures:
        return tuple(seats)
    cut = next((one.ending for one in seats if one.ending == Truncated(limit="context")), None)
    if cut is not None and set(failures) == {PARTNER}:
        return tuple(_ended(one, cut) if one.ending.kind == "failed" else one for one in seats)
    lost = Failed(failure=PARTNER, detail="another seat of the episode failed")
    return tuple(one if one.ending.kind == "failed" else _ended(one, lost) for one in seats)


def _ended(trajectory: Trajectory, ending: Ending) -> Trajectory:
    return trajectory.model_copy(update={"ending": ending})


def _is_own(request: EpisodeRequest, seat: int) -> bool:
    return request.policy_seat in (None, seat)


def _seats(request: EpisodeRequest, players: Sequence[str]) -> list[EpisodeProgress]:
    """Progress of every seat: of the episode itself where there is one only."""
    if request.seats == 1:
        return [EpisodeProgress(request, players[0])]
    return [
        EpisodeProgress(_seat_request(request, seat), player, request.id, seat)
        for seat, player in enumerate(players)
    ]


def _seat_request(request: EpisodeRequest, seat: int) -> EpisodeRequest:
    """The request of one seat, with an id and draws of its own."""
    draws = request.seed if request.policy_seed is None else request.policy_seed
    return replace(
        request,
        id=f"{request.id}/seat-{seat}",
        purpose=request.purpose if _is_own(request, seat) else "partner",
        policy_seed=draws + (seat << SEED_BITS),
    )


async def _play_seat(
    session: Session, player: Policy, action_format: ActionFormat, progress: EpisodeProgress
) -> Trajectory:
    """Play one seat; where it ends before its episode does, the others are told by closing its session."""
    request = progress.request
    conversation = Conversation(request.id, [], task_id=request.task_id)
    playing = _turns(session, player, conversation, action_format, progress)
    found = await recorded(progress, player, conversation, playing)
    if not session.done:
        await closed(session)
    return found


async def _turns(
    session: Session,
    player: Policy,
    conversation: Conversation,
    action_format: ActionFormat,
    progress: EpisodeProgress,
) -> Ending:
    with owned("wait for the first turn"):
        opening = await session.await_turn()
    begin(session, opening, conversation, action_format, progress)
    if not session.done:
        return await take_turns(session, player, conversation, action_format, progress)
    if session.total_reward or session.info:  # no action of its own to record it with
        info = dict(session.info)
        progress.turns.append(
            Turn(action="", observation=opening.text, reward=session.total_reward, info=info)
        )
        progress.given += 1
    return Terminated() if session.terminated else cut_off(session.info)

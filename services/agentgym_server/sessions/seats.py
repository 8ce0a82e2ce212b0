"""Turns of episodes with several seats: actions are collected until all that are to act have acted.

A step is answered when it is its seat's turn again, or at the end: the reply holds all that the seat observes
and earns since its action. So a seat is played as an episode with one agent is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from agentgym_envs.core import Costs
from agentgym_server.clock import Clock
from agentgym_server.sessions.registry import Registry
from agentgym_server.sessions.session import JsonAction, Running, Session, SharedEpisode
from agentgym_server.sessions.turns import action_text, visible_info
from agentgym_server.wire.problems import Problem
from agentgym_server.workers.hosts import Outcome, Outcomes, Overloaded

Commit = Callable[[Session, JsonAction, Outcome], bytes]
"""Function that completes a turn of a session and returns its reply."""
CUT = "truncation_reason"


class SeatTurns:
    """Turns of the episodes with several seats of one server. `fail` fails an episode with an exception."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        commit: Commit,
        fail: Callable[[SharedEpisode, Exception], None],
    ) -> None:
        self._registry, self._clock = registry, clock
        self._commit, self._fail = commit, fail

    def play(self, shared: SharedEpisode, session: Session, running: Running, deadline_s: float) -> None:
        """Play a seat's action, together with those of the others where it is the last to act.

        `running.reply` gets the reply.
        Raises the problems `out-of-turn` and `overloaded`.
        """
        if not session.your_turn:
            raise Problem("out-of-turn", f"it is not the turn of seat {session.seat!r}: wait for it")
        shared.actions[session.seat] = action_text(session, running.action)
        if any(one.your_turn and one is not session for one in shared.open):
            self._hold(session, running)
            return
        try:
            played = shared.host.step_seats(shared.id, shared.actions, deadline_s)
        except Overloaded as cause:
            del shared.actions[session.seat]
            raise Problem("overloaded", str(cause)) from None
        except Exception as cause:  # noqa: BLE001 - an environment may raise anything; its episode fails
            self._hold(session, running)
            self._fail(shared, cause)
            return
        self._hold(session, running)
        shared.actions = {}
        if isinstance(played, dict):
            self._settle(shared, played)
        else:
            shared.task = asyncio.create_task(self._await(shared, played))

    def open(self, shared: SharedEpisode, opened: Outcomes) -> None:
        """Show the first observations; raises `ValueError` for seats that there are not."""
        self._check(shared, opened)
        for seat, session in shared.sessions.items():
            session.your_turn = seat in opened
            if seat in opened:
                _show(session, opened[seat])

    def _hold(self, session: Session, running: Running) -> None:
        session.renew(self._clock.now())
        session.running, session.your_turn = running, False

    async def _await(self, shared: SharedEpisode, played: Awaitable[Outcomes]) -> None:
        try:
            outcomes = await played
        except Exception as cause:  # noqa: BLE001 - see `play`
            self._fail(shared, cause)
            return
        self._settle(shared, outcomes)

    def _settle(self, shared: SharedEpisode, played: Outcomes) -> None:
        try:
            self._check(shared, played)
            for seat, outcome in played.items():
                self._give(shared.sessions[seat], outcome)
            self._close_turn(shared, played)
        except Exception as cause:  # noqa: BLE001 - see `play`
            self._fail(shared, cause)
        shared.note_change()

    def _close_turn(self, shared: SharedEpisode, played: Outcomes) -> None:
        """Truncate all seats where a limit of the server cut one; raises `ValueError` if nobody acts next."""
        cuts = [
            shared.sessions[seat].info.get(CUT)
            for seat, outcome in played.items()
            if shared.sessions[seat].truncated and not outcome.truncated
        ]
        for session in shared.open if cuts else ():
            self._give(session, Outcome("", None, session.tools, 0.0, False, True, {CUT: cuts[0]}, {}))
        if shared.open and not any(session.your_turn for session in shared.open):
            raise ValueError("the environment neither ended the episode nor let a seat act")

    def _give(self, session: Session, outcome: Outcome) -> None:
        """Complete the step of a seat with its outcome, or show it to one that has not acted yet."""
        running, session.running = session.running, None
        session.your_turn = True
        session.renew(self._clock.now())
        outcome = _with_carried(session, outcome)
        if running is not None:
            session.carried_reward, session.carried_costs = 0.0, {}
            running.reply.set_result(self._commit(session, running.action, outcome))
            return
        _show(session, outcome)
        if session.terminated or session.truncated:
            session.total_reward = session.reward  # it never acted
            self._registry.end(session)
        else:  # they are part of its first step
            session.carried_reward, session.carried_costs = session.reward, dict(outcome.costs)
            session.reward = 0.0

    @staticmethod
    def _check(shared: SharedEpisode, played: Mapping[str, Outcome]) -> None:
        seats = {session.seat for session in shared.open}
        if not played or not played.keys() <= seats:
            raise ValueError(f"the environment answered seats {sorted(played)}; open are {sorted(seats)}")


def _with_carried(session: Session, outcome: Outcome) -> Outcome:
    """The outcome with the reward and the costs that the seat got before its first action."""
    costs: Costs = dict(session.carried_costs)
    for name, cost in outcome.costs.items():
        known = costs.get(name, 0.0)
        costs[name] = None if cost is None or known is None else known + cost
    return outcome._replace(reward=session.carried_reward + outcome.reward, costs=costs)


def _show(session: Session, outcome: Outcome) -> None:
    session.observation, session.info, session.tools = outcome.text, visible_info(outcome), outcome.tools
    session.reward = float(outcome.reward)
    session.terminated, session.truncated = bool(outcome.terminated), bool(outcome.truncated)

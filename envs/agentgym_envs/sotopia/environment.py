"""Sotopia (arXiv:2310.11667): two characters with private goals talk; rules or models are partner and judge.

> world = Sotopia()
> task = world.task("train/price/2/1")
> world.reset(task, seed=0).text.splitlines()[1]
'Scenario: An advertisement offers a kayak for $126. Owner and customer discuss it.'
> world.step('{"action_type": "speak", "argument": "Hello! [OFFER 50.40]"}').observation.text
'Turn #1: Dario Petrov said: "That is a long way from what I need. [OFFER 118.99]"'

Without a model, partners follow rules and a program scores the outcome: not Sotopia's judge, and no measure
of social intelligence. With endpoints, models play the partner and judge the conversation.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from agentgym_envs.core import Environment, Observation, StepResult
from agentgym_envs.endpoints.cache import SHARED
from agentgym_envs.endpoints.records import EndpointFault
from agentgym_envs.home import data_home
from agentgym_envs.options import FieldsOf
from agentgym_envs.social import Social
from agentgym_envs.social.family import LEVELS
from agentgym_envs.social.tasks import families_of
from agentgym_envs.sotopia.data.library import Catalogue
from agentgym_envs.sotopia.models.judge import JudgeFault
from agentgym_envs.sotopia.models.partner import PartnerFault
from agentgym_envs.sotopia.options import Options
from agentgym_envs.sotopia.play.episode import Episode
from agentgym_envs.sotopia.play.judges import Judged, judged_by, recorded, unjudged, verified
from agentgym_envs.sotopia.play.messages import action_in, refused
from agentgym_envs.sotopia.play.partners import Partner, check_recorded
from agentgym_envs.sotopia.play.records import keep, record_of
from agentgym_envs.sotopia.play.report import mix_of, report
from agentgym_envs.sotopia.protocol.actions import NOTHING, Action, ReplyError
from agentgym_envs.sotopia.protocol.prompts import judge_prompt
from agentgym_envs.sotopia.tasks import NAME, Published, SotopiaTask, Tasks
from agentgym_envs.thinking import HEADERS

SEATS: Final = ("first", "second")
UNJUDGED: Final = "unjudged.jsonl"
"""File of conversations that a fault left without scores."""
TRIES: Final = 2
"""Messages of an agent in a turn: the second one after a malformed one."""
DRAWN_AGAIN: Final = 4
"""Turns of a partner in a row for which a step may wait, in `random` order: one of 32 takes longer."""

ValueT = TypeVar("ValueT")
Info = dict[str, object]


@dataclass(frozen=True)
class Snapshot:
    """An episode as its task, seed, and the actions so far."""

    task: SotopiaTask
    seed: int
    both_seats: bool
    log: tuple[tuple[Action, Action], ...]
    partner: Partner | None
    seen: tuple[int | None, ...]
    failed: tuple[int, ...]
    held: Mapping[int, Action]
    notes: Mapping[int, Info]
    left_s: float | None
    """Remaining time of the episode."""


class Sotopia(Environment[SotopiaTask]):
    """Conversations in Sotopia's protocol, beside a partner or between two agents.

    `home` is where imported profiles are looked for (None: `agentgym_envs.home.data_home`). The reward comes
    with the last step, whose `info` has all dimensions, who gave the scores, and the conversation. An
    endpoint that fails ends the episode as `failed(partner)` or `failed(judge)`; the conversation is kept in
    a file.
    """

    name = NAME
    max_turns = 20
    blocking = False
    forkable = True
    difficulties = LEVELS
    seats = SEATS

    def __init__(self, *, home: Path | None = None, **options: Annotated[Any, FieldsOf(Options)]) -> None:
        self.options = given = Options.of(options)
        if given.partner_kind == "replay":
            check_recorded("replay", given.replay or "")
        if given.judge_kind == "replay":
            check_recorded("judge_replay", given.judge_replay or "")
        self._home = home
        catalogue = Catalogue.open(home or data_home())
        verifies = given.judge_kind == "verify"
        published = Published(catalogue, given.seat, only_verifiable=verifies) if catalogue else None
        self._tasks = Tasks(families_of(given.families), published)
        own_turns = -(-given.max_turns // 2) if given.order == "round-robin" else given.max_turns
        self.max_turns = TRIES * own_turns
        self._partner_waits, self._judge_waits = given.partner_waits, given.judge_waits
        if self._partner_waits or self._judge_waits:
            self.deterministic = False
            self._wait_for_endpoints()
        self._episode: Episode | None = None
        self._forget()

    @property
    def splits(self) -> tuple[str, ...]:
        return self._tasks.splits

    @property
    def data_version(self) -> str:
        return self._tasks.data_version

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[SotopiaTask]:
        """As in `Environment`; `all`, `hard` and the sources of published scenarios are parts of the splits
        `verifiable` and `judged`.
        """
        return self._tasks.tasks(split, difficulty)

    def task(self, task_id: str) -> SotopiaTask:
        return self._tasks.task(task_id)

    def reset(  # pyright: ignore[reportIncompatibleMethodOverride] - a model as the partner is waited for
        self, task: SotopiaTask, seed: int
    ) -> Observation | Awaitable[Observation]:
        episode = self._start(task, seed, both_seats=False)
        begun = self._begun(episode)
        return begun if self._partner_waits else finished(begun)

    def step(  # pyright: ignore[reportIncompatibleMethodOverride] - models are waited for
        self, action: str
    ) -> StepResult | Awaitable[StepResult]:
        step = self._step(self._playing(), action)
        return step if self._partner_waits or self._judge_waits else finished(step)

    def reset_seats(self, task: SotopiaTask, seed: int) -> Mapping[str, Observation]:
        """No partner plays; the observations of the seats that act first."""
        episode = self._start(task, seed, both_seats=True)
        return {SEATS[seat]: Observation(text=episode.observe(seat)) for seat in _acting(episode)}

    def step_seats(  # pyright: ignore[reportIncompatibleMethodOverride] - a model as the judge is waited for
        self, actions: Mapping[str, str]
    ) -> Mapping[str, StepResult] | Awaitable[Mapping[str, StepResult]]:
        """A seat whose message is malformed is answered alone, and the other's action waits for it."""
        step = self._step_seats(self._playing(), {SEATS.index(name): one for name, one in actions.items()})
        return step if self._judge_waits else finished(step)

    def demonstrate(self, task: SotopiaTask, seed: int, care: float = 1.0) -> list[str]:
        """Messages of the social worlds' players, for generated tasks in the default order."""
        if task.generated is None:
            raise NotImplementedError(f"{NAME} has no player for published scenarios")
        return Social(actions=self.options.actions).demonstrate(task.generated, seed, care)

    @classmethod
    def demonstration_options(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The player of generated tasks knows the rule-based partner alone, and no judge is paid for it."""
        return {name: one for name, one in options.items() if not name.startswith(("partner", "judge"))}

    def demonstrate_in_modes(
        self, task: SotopiaTask, seed: int, care: float = 1.0, modes: Sequence[int] = tuple(HEADERS)
    ) -> list[str]:
        """Replies of the social worlds' thinking players, for generated tasks with plain words as actions."""
        if task.generated is None or self.options.actions != "text":
            raise NotImplementedError(f"{NAME} has no thinking player for published scenarios, nor for JSON")
        return Social().demonstrate_in_modes(task.generated, seed, care, modes)

    def snapshot(self) -> object:
        episode = self._playing()
        return Snapshot(
            episode.task,
            episode.seed,
            episode.both_seats,
            tuple(episode.conversation.log),
            None if episode.partner is None else episode.partner.copied(),
            tuple(episode.seen),
            self._failed,
            dict(self._held),
            dict(self._notes),
            None if self._until is None else self._until - time.monotonic(),
        )

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"not a snapshot of {NAME}: {type(snapshot).__name__}")
        episode = self._start(snapshot.task, snapshot.seed, both_seats=snapshot.both_seats)
        partner = None if snapshot.partner is None else snapshot.partner.copied()
        finished(episode.replay(snapshot.log, partner))
        episode.seen = list(snapshot.seen)
        self._failed, self._held = snapshot.failed, dict(snapshot.held)
        self._notes = dict(snapshot.notes)
        self._until = None if snapshot.left_s is None else time.monotonic() + snapshot.left_s

    def close(self) -> None:
        self._episode = None

    def _playing(self) -> Episode:
        if self._episode is None:
            raise RuntimeError("step before reset")
        return self._episode

    def _start(self, task: SotopiaTask, seed: int, *, both_seats: bool) -> Episode:
        self._forget()
        self._episode = Episode(task, seed, self.options, both_seats=both_seats)
        return self._episode

    def _forget(self) -> None:
        self._failed: tuple[int, ...] = ()
        """Seats whose latest message was malformed and may be repeated."""
        self._held: dict[int, Action] = {}
        """Actions of this step, until all seats that are to act have acted."""
        self._notes: dict[int, Info] = {}
        """Information on a seat's messages for its next result."""
        self._is_over = False
        limit_s = self.options.episode_timeout_s
        self._until = None if limit_s is None else time.monotonic() + limit_s
        """When the episode's time is over, by the monotonic clock."""

    def _wait_for_endpoints(self) -> None:
        """Set how many coroutines may wait, and how long, by the endpoints' own limits."""
        given = self.options
        self.max_waiting, self.waits_s = 0, 0.0
        if self._partner_waits:
            partner = given.partner_endpoint
            self.max_waiting += partner.concurrency
            self.waits_s += partner.longest_s * (DRAWN_AGAIN if given.order == "random" else 1)
        if self._judge_waits:
            judge = given.judge_endpoint
            self.max_waiting += judge.concurrency
            self.waits_s += judge.longest_s * judge.samples
        self.waits_s = min(self.waits_s, given.episode_timeout_s or self.waits_s)

    async def _begun(self, episode: Episode) -> Observation:
        await self._kept(episode, self._in_time(episode.begin(), PartnerFault))
        return Observation(text=episode.observe(episode.seat))

    async def _step(self, episode: Episode, message: str) -> StepResult:
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        seat = episode.seat
        if not episode.conversation.ended:  # a partner may have left before the agent's first turn
            error = self._take(seat, message)
            if error:
                return self._again(error)
            await self._kept(episode, self._in_time(episode.act(self._taken()), PartnerFault))
        return (await self._results(episode, (seat,)))[seat]

    async def _step_seats(self, episode: Episode, messages: Mapping[int, str]) -> Mapping[str, StepResult]:
        expected = {seat for seat in _acting(episode) if seat not in self._held}
        if set(messages) != expected:
            names = " and ".join(SEATS[seat] for seat in sorted(expected)) or "nobody"
            raise ValueError(f"it is the turn of {names}")
        errors = {seat: self._take(seat, message) for seat, message in messages.items()}
        if any(errors.values()):
            return {SEATS[seat]: self._again(error) for seat, error in errors.items() if error}
        await episode.act(self._taken())
        seats = (0, 1) if episode.conversation.ended else _acting(episode)
        return {SEATS[seat]: result for seat, result in (await self._results(episode, seats)).items()}

    def _take(self, seat: int, message: str) -> str:
        """Hold the action of a message; an error to be told where the message is to be repeated.

        The first malformed message of a turn may be repeated, the second one does nothing.
        """
        try:
            self._held[seat] = action_in(message, self.options.actions)
        except ReplyError as fault:
            if seat not in self._failed:
                self._failed = (*self._failed, seat)
                return refused(fault)
            self._held[seat] = NOTHING
            self._notes[seat] = {"parse": "failed", "invalid_action": True}
        self._failed = tuple(one for one in self._failed if one != seat)
        return ""

    def _taken(self) -> dict[int, Action]:
        taken, self._held = self._held, {}
        return taken

    @staticmethod
    def _again(error: str) -> StepResult:
        """The result of a malformed message that may be repeated."""
        info: Info = {"parse": "retry", "invalid_action": True}
        return StepResult(observation=Observation(text=error), info=info)

    async def _results(self, episode: Episode, seats: Sequence[int]) -> dict[int, StepResult]:
        if not episode.conversation.ended:
            return {
                seat: StepResult(
                    observation=Observation(text=episode.observe(seat)), info=self._notes.pop(seat, {})
                )
                for seat in seats
            }
        judged = await self._kept(episode, self._in_time(self._judged(episode), JudgeFault))
        self._is_over = True
        return {seat: self._last(episode, judged, seat) for seat in seats}

    def _last(self, episode: Episode, judged: Judged, seat: int) -> StepResult:
        cut = {"truncation_reason": "max_turns"} if episode.is_cut else {}
        return StepResult(
            observation=Observation(text=episode.observe(seat)),
            reward=judged.seats[seat].reward(mix_of(episode)),
            terminated=not episode.is_cut,
            truncated=episode.is_cut,
            info={**self._notes.pop(seat, {}), **cut, **report(episode, judged, seat)},
        )

    async def _judged(self, episode: Episode) -> Judged:
        given = self.options
        if given.judge_kind == "none":
            return unjudged()
        if given.judge_kind == "verify":
            return verified(episode.outcomes())
        names, log = episode.scene.names, episode.conversation.log
        if given.judge_kind == "replay":
            return recorded(Path(given.judge_replay or ""), episode.scene, log, given.scored)
        model = given.judge_endpoint
        is_cached = model.temperature == 0 if given.judge_cache is None else given.judge_cache
        prompt = judge_prompt(episode.judge_background, names, log, given.scored)
        cached = SHARED if is_cached else None
        return await judged_by(model, prompt, names, given.scored, cached, given.endpoint_budget)

    async def _in_time(self, work: Awaitable[ValueT], fault: type[EndpointFault]) -> ValueT:
        """The result of a partner's or a judge's work, unless the episode's time is over before.

        Work that waits for no endpoint is done at any time. Raises `fault`.
        """
        waits = self._partner_waits if fault is PartnerFault else self._judge_waits
        if self._until is None or not waits:
            return await work
        try:
            async with asyncio.timeout(self._until - time.monotonic()):
                return await work
        except TimeoutError:
            raise fault(f"the episode takes longer than {self.options.episode_timeout_s:g} s") from None

    async def _kept(self, episode: Episode, work: Awaitable[ValueT]) -> ValueT:
        """The result of work that waits for an endpoint; if that fails, the conversation is kept."""
        try:
            return await work
        except EndpointFault as fault:
            status = "unfinished" if fault.kind == "partner" else "unjudged"
            failure = {"kind": fault.kind, "detail": str(fault)}
            record = {**record_of(episode, status, backgrounds=True), "failure": failure}
            chosen = self.options.unjudged
            # In a container the home may be read-only.
            usual = (
                (self._home or data_home()) / NAME / UNJUDGED,
                Path(tempfile.gettempdir()) / f"{NAME}-{UNJUDGED}",
            )
            fault.add_note(keep(record, [Path(chosen)] if chosen else usual))
            raise


def finished(work: Coroutine[Any, Any, ValueT]) -> ValueT:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("a coroutine waits, though there is no endpoint")


def _acting(episode: Episode) -> tuple[int, ...]:
    return tuple(seat for seat in (0, 1) if episode.conversation.acting[seat])

"""One episode of the environment `sotopia`: a conversation, its partner, and what each seat observes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import overload

from agentgym_envs.core import TaskUnplayable
from agentgym_envs.endpoints.cache import SHARED
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.social.verifier import TaskVerifier
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.options import Options
from agentgym_envs.sotopia.play.messages import observed
from agentgym_envs.sotopia.play.partners import EndpointPartner, Partner, RulePartner, recorded_partner
from agentgym_envs.sotopia.play.policies import PolicyPartner
from agentgym_envs.sotopia.play.published import AnyPublishedVerifier, verifier_of
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import Conversation, Rules, masks
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.protocol.views import View, background, judge_background
from agentgym_envs.sotopia.tasks import SotopiaTask

Verifier = TaskVerifier | AnyPublishedVerifier


class Episode:
    """An episode of a task: with a partner beside one agent, or with agents in both seats.

    Raises `TaskUnplayable` where the options do not suffice for the task.
    """

    __slots__ = (
        "both_seats",
        "conversation",
        "counts_moves",
        "latest",
        "options",
        "partner",
        "seat",
        "seed",
        "seen",
        "task",
        "verifier",
    )

    def __init__(self, task: SotopiaTask, seed: int, options: Options, *, both_seats: bool) -> None:
        self.task, self.seed, self.options, self.both_seats = task, seed, options, both_seats
        generated = task.generated
        self.seat = generated.seat if generated is not None else options.seat
        """Seat of the agent where a partner has the other one."""
        self.verifier: Verifier | None = _verifier(task, self.seat, seed, has_partner=not both_seats)
        _check(self)
        self.partner: Partner | None = None if both_seats else self._new_partner()
        self.counts_moves = self.verifier is not None and (
            generated is not None or options.judge_kind == "verify" or isinstance(self.partner, RulePartner)
        )
        """Whether an agreement by moves ends the conversation, and both seats know of moves."""
        self.conversation = self._started()
        self.latest: list[Utterance | None] = [None, None]
        """The latest action of each seat, where moves count."""
        self.seen: list[int | None] = [None, None]
        """By seat: steps that it has observed; None before its background."""

    @property
    def scene(self) -> Scene:
        """Profiles of the episode; of a generated task made anew each time."""
        return _scene(self.task, self.verifier)

    @property
    def is_cut(self) -> bool:
        """Whether it was only the number of turns that ended it."""
        return self.conversation.end_reasons == ("too_long",)

    @property
    def judge_background(self) -> str:
        """Text before the conversation, for a judge: both characters, except in `lite`, and both goals."""
        return judge_background(self.scene, "lite" if self.options.view == "lite" else "package")

    async def begin(self) -> None:
        """Let the partner act until it is the agent's turn. Raises `PartnerFault`."""
        talk = self.conversation
        while self.partner is not None and not talk.ended and not talk.acting[self.seat]:
            await self._step({})

    async def act(self, actions: Mapping[int, Action]) -> None:
        """The actions of all agents whose turn it is, and those of the partner until it is the agent's turn
        again. Raises `PartnerFault`.
        """
        await self._step(actions)
        await self.begin()

    def observe(self, seat: int) -> str:
        """News of a seat since its last observation: first its background, then the other seat's actions."""
        talk, seen = self.conversation, self.seen[seat]
        self.seen[seat] = talk.turn_number
        return observed(talk, seat, seen, self.options)

    def outcomes(self) -> tuple[Outcome, Outcome]:
        """Scores of a program for both seats; raises `ValueError` where none can give them."""
        if self.verifier is None:
            raise ValueError(f"no program can check the goals of {self.task.id!r}")
        talk = self.conversation
        first, second = (self.verifier.outcome(seat, talk.end_reasons, talk.log) for seat in (0, 1))
        return first, second

    async def replay(self, log: Sequence[tuple[Action, Action]], partner: Partner | None) -> None:
        """Repeat the steps of another episode of this task and seed; `partner` is its partner, None for one
        that has to act again itself.
        """
        for both in log:
            acting = self.conversation.acting
            if self.partner is not None and partner is None and acting[1 - self.seat]:
                await self.partner.act(self.conversation, 1 - self.seat, self.latest[self.seat])
            self._apply({seat: both[seat] for seat in (0, 1) if acting[seat]})
        self.partner = partner or self.partner

    async def _step(self, actions: Mapping[int, Action]) -> None:
        other = 1 - self.seat
        if self.partner is not None and self.conversation.acting[other]:
            action = await self.partner.act(self.conversation, other, self.latest[self.seat])
            actions = {**actions, other: action}
        self._apply(actions)

    def _apply(self, actions: Mapping[int, Action]) -> None:
        deal = False
        if self.verifier is not None and self.counts_moves:
            said = {seat: self.verifier.said(action) for seat, action in actions.items()}
            deal = agreed(self.verifier, said)
            for seat, one in said.items():
                self.latest[seat] = one
        self.conversation.apply(actions, deal=deal)

    def _started(self) -> Conversation:
        options = self.options
        notes = self.verifier.notes if self.verifier is not None and self.counts_moves else ("", "")
        made = Backgrounds(partial(_scene, self.task, self.verifier), options.view, notes)
        # Where each prompt has a background in it, it is kept.
        backgrounds = tuple(made) if options.observation == "prompt" or options.partner_waits else made
        stale = options.stale_rule or ("package" if self.task.generated is None else "own")
        rules = Rules(options.order, options.max_turns, options.max_stale, stale)
        return Conversation(self.scene.names, backgrounds, rules, masks(options.order, self.seed))

    def _new_partner(self) -> Partner:
        options = self.options
        if options.partner_kind == "openai":
            cache = SHARED if options.partner_cache else None
            return EndpointPartner(options.partner_endpoint, self.seed, cache, options.endpoint_budget)
        if options.partner_kind == "policy":
            return PolicyPartner(options, self.seed)
        if options.partner_kind == "human":
            raise TaskUnplayable(
                "partner=human: a person has the other seat in a session of its own; open the episode with"
                " seats=2"
            )
        if options.partner_kind == "replay":
            recorded = recorded_partner(options.replay or "", self.scene, 1 - self.seat, options.order)
            if recorded is None:
                raise TaskUnplayable(f"replay={options.replay!r} has no episode of {self.task.id!r}")
            return recorded
        if self.verifier is None:
            raise TaskUnplayable(
                f"the goals of {self.task.id!r} are open, so that no rule-based partner plays it; give"
                " partner_model=NAME and partner_url=URL"
            )
        return RulePartner(self.verifier.partner(), self.verifier.hidden)


class Backgrounds(Sequence[str]):
    """Texts that seats read first, made where they are read: most of an open episode's texts are in them."""

    __slots__ = "_notes", "_scene", "_view"

    def __init__(self, scene: Callable[[], Scene], view: View, notes: tuple[str, str]) -> None:
        self._scene, self._notes = scene, notes
        self._view: View = view

    def __len__(self) -> int:
        return 2

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return tuple(self)[index]
        seat = range(2)[index]
        return "\n".join(filter(None, (background(self._scene(), seat, self._view), self._notes[seat])))


def _verifier(task: SotopiaTask, seat: int, seed: int, *, has_partner: bool) -> Verifier | None:
    if isinstance(task.content, Scene):
        return verifier_of(task.content, seat, seed)
    return TaskVerifier(task.content, seed, has_partner=has_partner)


def _scene(task: SotopiaTask, verifier: Verifier | None) -> Scene:
    if isinstance(task.content, Scene):
        return task.content
    if verifier is None:
        raise TypeError(f"{task.id!r} has no verifier")
    return verifier.scene


def _check(episode: Episode) -> None:
    """Raise `TaskUnplayable` where the options cannot score, or would show what is hidden."""
    options, task = episode.options, episode.task
    if options.judge_kind == "verify" and episode.verifier is None:
        raise TaskUnplayable(
            f"no program can check the goals of {task.id!r}; give judge_model=NAME and judge_url=URL, or"
            " judge=none"
        )
    if options.view == "omniscient" and task.generated is not None:
        raise TaskUnplayable(f"view='omniscient' would show hidden parameters of the partner in {task.id!r}")


def agreed(verifier: Verifier, said: Mapping[int, Utterance]) -> bool:
    """Enter the actions of one step; whether one of them seals an agreement.

    An acceptance means an offer of an earlier step, and two in one step are none.
    """
    accepting = [seat for seat, one in said.items() if one.value("ACCEPT") is not None]
    if len(accepting) == 2:
        return False
    deals = [verifier.record(seat, said[seat]) for seat in sorted(said, key=lambda one: one not in accepting)]
    return any(deals)

"""The verifiable social worlds as an `Environment`: one agent beside a rule-based partner, or two agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal, get_args

from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult
from agentgym_envs.social import tasks
from agentgym_envs.social.episode import Episode, PartnerKind
from agentgym_envs.social.family import LEVELS, TURNS
from agentgym_envs.social.scripts.habits import habit
from agentgym_envs.social.tasks import COUNTS, NAME, VERSION, SocialTask
from agentgym_envs.social.thinking_seat import ThinkingSeat
from agentgym_envs.sotopia.protocol.actions import NOTHING, Action, ReplyError, from_json, from_text
from agentgym_envs.sotopia.protocol.views import View
from agentgym_envs.thinking import HEADERS

ActionForm = Literal["text", "json"]
SEATS = ("first", "second")
AllowedView = Literal["package", "relationship", "lite", "ampo"]
"""Views that do not show the partner's goal: a listener's goal has hidden parameters."""
ALLOWED_VIEWS: tuple[View, ...] = get_args(AllowedView)

ACTIONS = (
    "Form of messages: `text` (plain words with `[MOVE]`s) or `json` (Sotopia's `action_type` and `argument`,"
    " with the same words)."
)
VIEW = "Part of the partner's character that the agent reads."
PARTNER = "`rules`, or `thinker`, a player as agents are, in the families whose seats have equal roles."


@dataclass(frozen=True)
class Snapshot:
    """An episode as its task, seed and the agents' actions so far."""

    task: SocialTask
    seed: int
    both_seats: bool
    taken: tuple[Action | None, ...]
    failed: bool


class Social(Environment[SocialTask]):
    """Conversations with a goal that a program can check, beside a rule-based partner.

    Rule-based partner and outcome verifier; not Sotopia's judge; not a measure of social intelligence.

    The reward comes at the end: goal/10 x (1 + secret/10) x (1 + social_rules/10), where a dimension that is
    not defined has factor 1. The last step's `info` has all dimensions, the outcome's facts, and the
    partner's hidden parameters, which depend on the seed and not on the task.
    """

    name = NAME
    max_turns = TURNS
    blocking = False
    forkable = True
    difficulties = LEVELS
    seats = SEATS

    def __init__(
        self,
        families: tasks.FamiliesOption = "",
        *,
        actions: Annotated[ActionForm, Field(description=ACTIONS)] = "text",
        view: Annotated[AllowedView, Field(description=VIEW)] = "relationship",
        partner: Annotated[PartnerKind, Field(description=PARTNER)] = "rules",
    ) -> None:
        self.families = tasks.families_of(families)
        if actions not in get_args(ActionForm):
            raise ValueError(f"actions is {actions!r}; it is text or json")
        if view not in ALLOWED_VIEWS:
            raise ValueError(f"no view {view!r}; there are: {', '.join(ALLOWED_VIEWS)}")
        if partner not in get_args(PartnerKind):
            raise ValueError(f"partner is {partner!r}; it is {' or '.join(get_args(PartnerKind))}")
        self._read = from_text if actions == "text" else from_json
        self._view: View = view
        self._partner: PartnerKind = partner
        self._episode: Episode | None = None
        self._failed = False
        """Whether the latest reply was malformed and may be repeated."""

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(COUNTS)

    @property
    def data_version(self) -> str:
        return f"generated:{VERSION}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[SocialTask]:
        """As in `Environment`; each round of tasks has one of each family and difficulty."""
        if difficulty is not None and difficulty not in LEVELS:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(LEVELS)}")
        return tasks.tasks(split, self.families, LEVELS if difficulty is None else (difficulty,))

    def task(self, task_id: str) -> SocialTask:
        return tasks.task(task_id, self.families)

    def reset(self, task: SocialTask, seed: int) -> Observation:
        self._episode, self._failed = self._begun(task, seed), False
        return Observation(text=self._episode.observe(task.seat))

    def step(self, action: str) -> StepResult:
        episode = self._playing()
        if episode.ended:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        info, error = self._take(episode, action)
        return _result(episode, episode.task.seat, info, error)

    def reset_seats(self, task: SocialTask, seed: int) -> Mapping[str, Observation]:
        """The first seat begins; no partner plays."""
        self._episode, self._failed = self._begun(task, seed, both_seats=True), False
        return {SEATS[0]: Observation(text=self._episode.observe(0))}

    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        """One seat acts; at the end both are scored."""
        episode = self._playing()
        ((name, action),) = actions.items()
        seat = SEATS.index(name)
        if episode.ended or seat != episode.acting:
            raise ValueError(f"it is not the turn of {name!r}")
        info, error = self._take(episode, action)
        answered = (0, 1) if episode.ended else (episode.acting,)
        return {
            SEATS[one]: _result(episode, one, info if one == seat else {}, error if one == seat else "")
            for one in answered
        }

    def demonstrate(self, task: SocialTask, seed: int, care: float = 1.0) -> list[str]:
        """Messages of a player with the agent's view only, won or lost; with less `care` it has a habit in
        1 - care of the episodes, such as to insist on one demand (`agentgym_envs.social.scripts.habits`).
        """
        episode, draws = self._begun(task, seed), Random(f"{task.id}/{seed}")
        careful = draws.random() < care
        player = task.family.player(task.setting, task.seat, draws) if careful else habit(task, draws)
        said = list[str]()
        while not episode.ended:
            action = player.reply(episode.latest(1 - task.seat))
            said.append(self._written(action))
            episode.act(action)
        return said

    def demonstrate_in_modes(
        self, task: SocialTask, seed: int, care: float = 1.0, modes: Sequence[int] = tuple(HEADERS)
    ) -> list[str]:
        """As in `Environment`: a player that thinks about its own view; see `agentgym_envs.social.thoughts`.

        In a random move, with less `care`, the notes are right and the answer does not follow from them.
        """
        seat, draws = ThinkingSeat(self._begun(task, seed)), Random(f"{task.id}/{seed}/modes")
        said = list[str]()
        while not seat.episode.ended:
            thought = seat.think()
            if draws.random() >= care:
                thought = thought.instead(task.family.random_move(task.setting, task.seat, draws))
            said.append(thought.reply(draws.choice(modes)))
            seat.act(from_text(thought.words))
        return said

    def snapshot(self) -> object:
        episode = self._playing()
        return Snapshot(episode.task, episode.seed, episode.both_seats, tuple(episode.taken), self._failed)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"not a snapshot of {NAME}: {type(snapshot).__name__}")
        episode = self._begun(snapshot.task, snapshot.seed, both_seats=snapshot.both_seats)
        for action in snapshot.taken:
            episode.observe(episode.acting)
            episode.act(action)
        if not episode.ended:
            episode.observe(episode.acting)
        self._episode, self._failed = episode, snapshot.failed

    def close(self) -> None:
        self._episode = None

    def _begun(self, task: SocialTask, seed: int, *, both_seats: bool = False) -> Episode:
        """A new episode."""
        return Episode(task, seed, self._view, both_seats=both_seats, partner=self._partner)

    def _playing(self) -> Episode:
        if self._episode is None:
            raise RuntimeError("step before reset")
        return self._episode

    def _take(self, episode: Episode, reply: str) -> tuple[dict[str, object], str]:
        """Play an agent's reply; the step's info, and an error to be told where the reply is to be repeated.

        The first malformed reply of a turn may be repeated, the second one does nothing.
        """
        try:
            action = self._read(reply)
        except ReplyError as fault:
            self._failed = not self._failed
            episode.act(None if self._failed else NOTHING)
            parse = "retry" if self._failed else "failed"
            error = f"That is no action: {fault}. Write it again." if self._failed else ""
            return {"parse": parse, "invalid_action": True}, error
        self._failed = False
        episode.act(action)
        return {}, ""

    def _written(self, action: Action) -> str:
        if self._read is from_json:
            return action.json
        return action.argument if action.action_type == "speak" else _plain(action)


def _plain(action: Action) -> str:
    return "" if action.action_type == "none" else action.text


def _result(episode: Episode, seat: int, info: Mapping[str, object], error: str = "") -> StepResult:
    seen = "\n".join(filter(None, (error, episode.observe(seat))))
    observation = Observation(text=seen)
    if not episode.ended:
        return StepResult(observation=observation, info=dict(info))
    cut = {"truncation_reason": "max_turns"} if episode.is_cut else {}
    return StepResult(
        observation=observation,
        reward=episode.outcome(seat).reward,
        terminated=not episode.is_cut,
        truncated=episode.is_cut,
        info={**info, **cut, **episode.report(seat)},
    )

"""One episode: a conversation, its verifier, and the partner's replies."""

from typing import Any, Literal

from agentgym_envs.social.family import TURNS, Speaker, Thoughtful
from agentgym_envs.social.outcome import LABEL, Outcome
from agentgym_envs.social.tasks import SocialTask
from agentgym_envs.social.verifier import TaskVerifier
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import Conversation, EndReason, Rules, told
from agentgym_envs.sotopia.protocol.views import View, background

PartnerKind = Literal["rules", "thinker"]
"""Kind of partner of one agent: the rule-based one, or a player as agents are (`Family.thinker`)."""
RULES = Rules(order="round-robin", max_turns=2 * TURNS, stale_rule="own")


class Episode:
    """An episode of a task: with the partner in one seat, or with agents in both."""

    def __init__(
        self, task: SocialTask, seed: int, view: View, *, both_seats: bool, partner: PartnerKind = "rules"
    ) -> None:
        self.task, self.seed, self.view, self.both_seats = task, seed, view, both_seats
        self.taken: list[Action | None] = []
        """Actions of the agents in their order, None for a malformed one: all that a copy needs."""
        self._left = [TURNS, TURNS]
        """Replies of each seat that are left."""
        self._verifier = TaskVerifier(task, seed)
        scene = self.scene = self._verifier.scene
        """Profiles with both goals, which no seat may read."""
        self.conversation = Conversation(
            scene.names, (background(scene, 0, view), background(scene, 1, view)), RULES
        )
        self._latest: list[Utterance | None] = [None, None]
        self._partner = None if both_seats else self._speaker(partner)
        self._seen: list[int | None] = [None, None]
        """By seat: steps that it has observed; None before its background."""
        self._reply()

    @property
    def acting(self) -> int:
        """Seat that acts next; meaningless after the end."""
        return 0 if self.conversation.acting[0] else 1

    @property
    def ended(self) -> bool:
        """Whether the conversation is over, or the seat that acts next has no reply left."""
        return self.conversation.ended or not self._left[self.acting]

    @property
    def ends(self) -> tuple[EndReason, ...]:
        """Reasons for the end; a seat without replies counts as too many turns."""
        return self.conversation.end_reasons or (("too_long",) if self.ended else ())

    @property
    def is_cut(self) -> bool:
        """Whether it was only the number of turns that ended it."""
        return self.ends == ("too_long",)

    def act(self, action: Action | None) -> None:
        """An agent's action, and the partner's reply; None is a malformed reply, which is to be repeated."""
        self.taken.append(action)
        self._left[self.acting] -= 1
        if action is not None:
            self._apply(self.acting, action)
            self._reply()

    def observe(self, seat: int) -> str:
        """News of a seat since its last observation: first its background, then the other seat's actions."""
        talk, seen = self.conversation, self._seen[seat]
        self._seen[seat] = talk.turn_number
        lines = talk.news(seat, seen or 0)
        if seen is None:
            lines = [talk.backgrounds[seat], "Conversation Starts:", *lines]
        if self.ended:
            lines.append(told(self.ends))
        return "\n".join(lines)

    @property
    def temperament(self) -> str | None:
        """Temperament of the partner; None where it has none."""
        return self._verifier.temperament

    def outcome(self, seat: int) -> Outcome:
        """Scores of a seat at the end."""
        return self._verifier.outcome(seat, self.ends, self.conversation.log)

    def report(self, seat: int) -> dict[str, Any]:
        """Report on a seat after the end, hidden parameters included."""
        outcome = self.outcome(seat)
        shown = not self.both_seats or self._verifier.has_hidden_roles
        return {
            "label": LABEL,
            "view": self.view,
            "seat": seat,
            "end_reasons": list(self.ends),
            "dimensions": outcome.dimensions,
            "overall_score": outcome.overall,
            "facts": dict(outcome.facts),
            "partner": self._verifier.hidden if shown else None,
        }

    def latest(self, seat: int) -> Utterance | None:
        """The latest action of a seat; None before any."""
        return self._latest[seat]

    def _speaker(self, kind: PartnerKind) -> Speaker:
        """The partner: by rules, or a player with an agent's view where seats have equal roles."""
        task = self.task
        if kind == "thinker" and not task.family.roles:
            return Thoughtful(task.family.thinker(task.setting, 1 - task.seat), self._verifier.said)
        return self._verifier.partner()

    def _reply(self) -> None:
        """Let the partner act while it is its turn."""
        if self._partner is None or self.conversation.ended or self.acting == self.task.seat:
            return
        self._apply(self.acting, self._partner.reply(self._latest[self.task.seat]))

    def _apply(self, seat: int, action: Action) -> None:
        said = self._latest[seat] = self._verifier.said(action)
        deal = self._verifier.record(seat, said)
        self.conversation.apply({seat: action}, deal=deal)

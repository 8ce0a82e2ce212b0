"""Verifier of one episode of a generated task: `TaskVerifier`."""

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from agentgym_envs.social.family import Speaker
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.social.partners.temperament import Temperament
from agentgym_envs.social.tasks import SocialTask
from agentgym_envs.sotopia.moves import Utterance, utterance
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import EndReason
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.verification.speech import Log


class TaskVerifier:
    """Moves, hidden parameters, rule-based partner and scores of one episode."""

    notes: Final = "", ""
    """Notes to each seat on moves besides its goal: none, as the goal gives them."""

    def __init__(self, task: SocialTask, seed: int, *, has_partner: bool = True) -> None:
        """Without `has_partner` nothing is kept that only a partner needs: its generator takes 2.5 KiB."""
        self._task = task
        family = task.family
        # Of the seed alone: equal seeds give equal partners in all tasks of a kind.
        draws = Random(f"{task.kind}/{task.split}/{task.difficulty}/{seed}")
        self._hidden = family.hidden(draws, task.split, task.difficulty)
        self._draws = draws if has_partner else None
        self._ledger = family.ledger(task.setting, self._hidden)

    @property
    def scene(self) -> Scene:
        """Profiles of the episode; made anew each time, since open episodes seldom need them."""
        task = self._task
        goals = task.instruction, task.family.other_goal(task.setting, 1 - task.seat, self._hidden)
        return task.scene(goals if task.seat == 0 else (goals[1], goals[0]))

    @property
    def hidden(self) -> dict[str, Any]:
        """Hidden parameters of the partner, for the record of an episode that is over."""
        return self._hidden.model_dump(mode="json")

    @property
    def has_hidden_roles(self) -> bool:
        """Whether an agent in the partner's seat plays by the hidden parameters too."""
        return self._task.family.roles

    @property
    def temperament(self) -> str | None:
        """Temperament of the partner; None where it has none."""
        hidden = getattr(self._hidden, "temperament", self._hidden)
        return hidden.kind if isinstance(hidden, Temperament) else None

    def partner(self) -> Speaker:
        """The rule-based partner, in the seat that the agent does not have; once an episode."""
        task = self._task
        if self._draws is None:
            raise RuntimeError(f"the episode of {task.id!r} has no partner")
        return task.family.partner(
            task.setting, 1 - task.seat, self._hidden, self._ledger, self._draws, task.split
        )

    def said(self, action: Action) -> Utterance:
        """An action with the move in it."""
        return utterance(
            action, lambda name, argument: self._task.family.read(self._task.setting, name, argument)
        )

    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether it seals an agreement."""
        return self._ledger.record(seat, said)

    def outcome(self, seat: int, ends: Sequence[EndReason], log: Log) -> Outcome:
        """Scores of a seat at the end, by the moves that were entered."""
        return self._ledger.outcome(seat, ends)

"""Policies without weights: the baselines of every environment's figures.

expert   plays the environment's own solution: the upper bound
random   draws an admissible action, by seed
idle     repeats one action that changes nothing
spray    plays every admissible action in turn

Their samples have text and no tokens, so nothing can be trained on them by mistake; their version is 0.
"""

import inspect
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from agentevol.core.errors import ConfigError, PolicyFault
from agentevol.core.protocols import Conversation, Policy
from agentgym_envs.formats import ActionFormat
from agentgym_store.records import Sample

Plan = Sequence[str] | None
PlanOf = Callable[[str], Plan | Awaitable[Plan]]
"""Task id to the expert's actions, at once or awaited; None where there is no expert."""


class _Script:
    """Base class of scripted policies: no weights, no cache."""

    name: str
    version = 0

    def release(self, conversation_id: str) -> None:
        """Do nothing: there is no cache."""


class ExpertPolicy(_Script):
    """Plays the k-th action of the task's plan in turn k; `PolicyFault` where the plan is missing or used
    up.
    """

    name = "expert"

    def __init__(self, plan_of: PlanOf) -> None:
        self._plan_of = plan_of
        self._plans: dict[str, Plan] = {}  # by conversation: a plan may cost a request

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Return the next action of the plan."""
        if conversation.id not in self._plans:
            found = self._plan_of(conversation.task_id)
            self._plans[conversation.id] = await found if inspect.isawaitable(found) else found
        plan = self._plans[conversation.id]
        turn = len(conversation.samples)
        if plan is None or turn >= len(plan):
            length = "no" if plan is None else f"only {len(plan)}"
            raise PolicyFault(f"the expert has {length} actions for task {conversation.task_id!r}")
        return said(plan[turn])

    def release(self, conversation_id: str) -> None:
        """Discard the conversation's plan."""
        self._plans.pop(conversation_id, None)


class RandomPolicy(_Script):
    """Draws uniformly from the admissible actions: a function of seed and turn."""

    name = "random"

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Return one admissible action."""
        actions = _admissible(conversation, self.name)
        return said(random.Random(f"{seed}/{len(conversation.samples)}").choice(actions))


class IdlePolicy(_Script):
    """Plays the same harmless action in every turn."""

    name = "idle"

    def __init__(self, action: str = "look") -> None:
        self._action = action

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Return the configured action."""
        return said(self._action)


class SprayPolicy(_Script):
    """Plays the k-th admissible action in turn k, and starts again after the last."""

    name = "spray"

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Return the next admissible action."""
        actions = _admissible(conversation, self.name)
        return said(actions[len(conversation.samples) % len(actions)])


class RenderedPolicy(_Script):
    """A script whose actions are messages of an action format."""

    def __init__(self, script: Policy, form: ActionFormat) -> None:
        self.name, self._script, self._form = script.name, script, form

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Return the message of the script's next action."""
        sample = await self._script.act(conversation, seed)
        return said(self._form.render(sample.text.strip()))

    def release(self, conversation_id: str) -> None:
        """Release the script's state."""
        self._script.release(conversation_id)


class _Maker(Protocol):
    def __call__(self) -> Policy: ...


_MAKERS: dict[str, _Maker] = {"random": RandomPolicy, "idle": IdlePolicy, "spray": SprayPolicy}
SCRIPTED = ("expert", *_MAKERS)
"""Names of the scripted policies."""


def scripted_policy(name: str, plan_of: PlanOf | None = None) -> Policy:
    """Return the scripted policy of this name; only `expert` needs `plan_of`. Raises `ConfigError`."""
    if name == "expert":
        if plan_of is None:
            raise ConfigError("the policy 'expert' needs an environment that has an expert")
        return ExpertPolicy(plan_of)
    if name not in _MAKERS:
        raise ConfigError(f"no scripted policy named {name!r}; there are: {', '.join(SCRIPTED)}")
    return _MAKERS[name]()


def _admissible(conversation: Conversation, name: str) -> tuple[str, ...]:
    actions = conversation.observation.actions if conversation.observation else None
    if not actions:
        raise PolicyFault(f"the policy {name!r} needs admissible actions, and the observation lists none")
    return actions


def said(action: str) -> Sample:
    """Sample of a scripted policy: text without tokens."""
    return Sample(text=action, prompt_ids=(), token_ids=(), logprobs=(), policy_version=0)

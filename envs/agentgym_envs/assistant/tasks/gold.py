"""The gold of a task, and the verdict by it."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from agentgym_envs.assistant.database import NetChange, Statement
from agentgym_envs.assistant.session import Session, Submission
from agentgym_envs.assistant.tasks.answers import same_answer
from agentgym_envs.assistant.tasks.drafts import Draft
from agentgym_envs.assistant.tasks.matching import same_change
from agentgym_envs.tooluse import SUCCESS, Verdict
from agentgym_envs.tooluse.outcomes import Outcome


@dataclass(frozen=True)
class Gold:
    """Expected actions and answer of an episode; on the server only."""

    draft: Draft
    statements: tuple[Statement, ...]
    """The statements that changed rows in the solution."""
    change: NetChange
    answer: Any


def judged(gold: Gold, session: Session) -> Verdict:
    """The verdict on an episode that ended with a submission."""
    submission = session.submission
    if submission is None:
        return _lost("no_submit")
    outcome = _changed(gold, session) or _submitted(gold, submission) or _informed(gold.draft, session)
    return _lost(outcome) if outcome else SUCCESS


@cache
def _lost(outcome: Outcome) -> Verdict:
    return Verdict(0.0, outcome)


def _changed(gold: Gold, session: Session) -> Outcome | None:
    """The outcome of another net change than the gold's."""
    if session.office.state.statements == gold.statements:  # equal statements make equal changes
        return None
    change = session.office.net_change()
    if same_change(gold.change, change, gold.draft.matchers):
        return None
    return "collateral" if _is_more(gold.change, change) else "wrong_state"


def _submitted(gold: Gold, submission: Submission) -> Outcome | None:
    """The outcome of another submission than the gold's; `done` and `answer` mean the same."""
    draft = gold.draft
    if submission.status == "cannot":
        return None if submission.reason_code in draft.refusal else "refused_wrongly"
    if draft.refusal:
        return "wrong_answer"
    if submission.reason_code not in (None, *draft.refused_part):
        return "refused_wrongly"
    answered = draft.answer is None or same_answer(
        draft.answer, submission.answer, gold.answer, draft.tolerance
    )
    return None if answered else "wrong_answer"


def _informed(draft: Draft, session: Session) -> Outcome | None:
    """The outcome of acting without having read or asked."""
    seen = all(session.has_seen(table, keys) for table, keys in draft.evidence.items())
    if not seen or not all(holds(session) for holds in draft.looks):
        return "missing_evidence"
    return None if all(holds(session) for holds in draft.policy) else "policy_violation"


def _is_more(gold: NetChange, given: NetChange) -> bool:
    """True if all that should have changed has, and more."""
    return gold.changed.items() <= given.changed.items() and not gold.inserted - given.inserted

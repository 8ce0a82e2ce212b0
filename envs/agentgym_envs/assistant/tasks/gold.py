"""The gold of a task, and the verdict by it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from agentgym_envs.assistant.database import NetChange
from agentgym_envs.assistant.database.changes import Row
from agentgym_envs.assistant.database.schema import tables
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tasks.answers import same_answer
from agentgym_envs.assistant.tasks.drafts import Draft, Matcher
from agentgym_envs.tooluse import SUCCESS, Verdict


@dataclass(frozen=True)
class Gold:
    """What a right episode has done and said; on the server only."""

    draft: Draft
    change: NetChange
    answer: Any


def judged(gold: Gold, session: Session) -> Verdict:
    """The verdict on an episode that ended with a submission."""
    submission, draft = session.submission, gold.draft
    if submission is None:
        return Verdict(0.0, "no_submit")
    change = session.office.net_change()
    if not _same_change(gold, change):
        return Verdict(0.0, "collateral" if _is_more(gold.change, change) else "wrong_state")
    if (submission.status == "cannot") != bool(draft.refusal):
        return Verdict(0.0, "refused_wrongly" if submission.status == "cannot" else "wrong_answer")
    if draft.refusal and submission.reason_code not in draft.refusal:
        return Verdict(0.0, "refused_wrongly")
    if draft.answer is not None and not same_answer(
        draft.answer, submission.answer, gold.answer, draft.tolerance
    ):
        return Verdict(0.0, "wrong_answer")
    if not all(session.has_seen(table, keys) for table, keys in draft.evidence.items()):
        return Verdict(0.0, "missing_evidence")
    if not all(holds(session) for holds in draft.policy):
        return Verdict(0.0, "policy_violation")
    return SUCCESS


def _same_change(gold: Gold, change: NetChange) -> bool:
    if change.changed != gold.change.changed:
        return False
    matchers = gold.draft.matchers
    if not matchers:
        return change.inserted == gold.change.inserted
    return _matched(gold.change.inserted, change.inserted, matchers)


def _matched(
    gold: Counter[tuple[str, Row]], given: Counter[tuple[str, Row]], matchers: dict[Any, Matcher] | Any
) -> bool:
    """The same new rows, where the texts that have a matcher may have other words."""
    if Counter(_blank(row, matchers) for row in gold.elements()) != Counter(
        _blank(row, matchers) for row in given.elements()
    ):
        return False
    return all(_fits(row, matchers) for row in given)


def _blank(row: tuple[str, Row], matchers: Any) -> tuple[str, Row]:
    """The row, and rows inside it, without the texts that have a matcher."""
    name, content = row
    columns = tables()[name].columns[int(tables()[name].surrogate) :]
    references = tables()[name].references
    shift = int(tables()[name].surrogate)
    found = list[Any]()
    for place, (column, value) in enumerate(zip(columns, content, strict=True)):
        inner = references.get(place + shift)
        if isinstance(value, tuple) and inner is not None:
            found.append(_blank((inner, value), matchers)[1])  # pyright: ignore[reportUnknownArgumentType]
        else:
            found.append(None if (name, column) in matchers else value)
    return name, tuple(found)


def _fits(row: tuple[str, Row], matchers: Any) -> bool:
    name, content = row
    columns = tables()[name].columns[int(tables()[name].surrogate) :]
    for column, value in zip(columns, content, strict=True):
        matcher: Matcher | None = matchers.get((name, column))
        if matcher is not None and matcher.kind == "contains_all":
            text = str(value).casefold()
            if not all(word.casefold() in text for word in matcher.words):
                return False
    return True


def _is_more(gold: NetChange, given: NetChange) -> bool:
    """True if all that should have changed has, and more."""
    return gold.changed.items() <= given.changed.items() and not gold.inserted - given.inserted

"""Final answers of episodes, and the majority among the samples of a task (self-consistency,
arXiv:2203.11171).

    {"name": "finish", "arguments": {"answer": "no"}}        -> 'no'
    {"name": "submit_sql", "arguments": {"sql": "SELECT 1"}} -> 'SELECT 1'
    Level 2 Intent 3 Style 9 Response 3 Answer 4             -> '4', where episodes have one turn

The rule, of the last turn alone: what the environment tells under `answer`; else the argument `answer` or
`sql` of a call that ends an episode (`ENDINGS`); else, of an environment of one turn, the text after the last
"answer" of its message, or all of it. An episode that was cut off has no answer.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentevol.data.groups import by_task
from agentevol.data.selection.filters import scored
from agentgym_envs import thinking
from agentgym_envs.tooluse.calls import parse
from agentgym_envs.tooluse.errors import CallError
from agentgym_store.records import Trajectory

ENDINGS = ("finish", "submit", "submit_sql", "answer", "final_answer")
"""Tools whose call ends an episode with an answer."""
ARGUMENTS = ("answer", "sql")
ANSWER = "answer"
_STATED = re.compile(r"(?is).*\banswer\b\s*(?:is\b)?\s*[:=]?\s*(.+)")


def final_answer(trajectory: Trajectory, *, one_turn: bool = False) -> str | None:
    """The answer with which the episode ended, without differences in space; None where there is none.

    `one_turn`: the environment has episodes of one turn, whose action is the answer.
    """
    if trajectory.ending.kind != "terminated" or not trajectory.turns:
        return None
    last = trajectory.turns[-1]
    if ANSWER in last.info:
        return _text(last.info[ANSWER])
    if last.info.get("invalid_action"):
        return None
    called = answer_in(last.action)
    return _text(_stated(last.action)) if called is None and one_turn else called


def _stated(action: str) -> str:
    """The part of a message that is the answer: that of a reply in thinking modes, or the text after the last
    "answer"; else all of it.
    """
    reply = thinking.check(action, strict=False)
    if reply.answer is not None:
        return reply.answer.strip('"')
    stated = _STATED.match(action)
    return stated[1] if stated else action


def answer_in(action: str) -> str | None:
    """Answer in the last call of an action, if that ends an episode with one."""
    try:
        call = parse(action)[-1]
    except CallError:
        return None
    given = next((call.arguments[name] for name in ARGUMENTS if name in call.arguments), None)
    return _text(given) if call.name in ENDINGS else None


def final_answers(explored: Iterable[Trajectory]) -> dict[str, str | None]:
    """Episode -> final answer, of episodes of one environment that have a return."""
    known = scored(explored)
    one_turn = all(len(t.turns) == 1 for t in known)
    return {t.id: final_answer(t, one_turn=one_turn) for t in known}


def majority_scores(
    explored: Sequence[Trajectory], answers: Mapping[str, str | None], *, least: float, most: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Episode -> 1 if its answer is that of most samples of its task, else 0 (arXiv:2504.16084), and figures.

    Tasks whose majority has a share of the samples below `least` or above `most` have no scores. Samples
    without an answer count for none. Of equally frequent answers the first in alphabetical order is taken.
    `majority_right` is the share of pseudo labels whose episodes won, where one did have that answer.
    """
    scores, shares, used, right = dict[str, float](), list[float](), 0, 0
    for group in by_task(scored(explored)).values():
        label, share = majority([answers.get(t.id) for t in group])
        shares.append(share)
        if label is None or not least <= share <= most:
            continue
        used += 1
        right += all(t.succeeded() for t in group if answers.get(t.id) == label)
        scores |= {t.id: float(answers.get(t.id) == label) for t in group}
    figures = {"majority_tasks": float(used)}
    if shares:
        figures["majority_share"] = sum(shares) / len(shares)
        known = [answers.get(t.id) for t in scored(explored)]
        figures["majority_answered"] = sum(one is not None for one in known) / len(known)
    if used:
        figures["majority_right"] = right / used
    return scores, figures


def majority_sentence(figures: Mapping[str, float]) -> str:
    """The figures of majorities in one line."""
    told = f"{figures['majority_tasks']:.0f} tasks with a majority of final answers"
    return f"{told}, {figures['majority_right']:.1%} of them right" if "majority_right" in figures else told


def majority(answers: Sequence[str | None]) -> tuple[str | None, float]:
    """The most frequent answer and its share of all samples; (None, 0) without one."""
    counts = Counter(answer for answer in answers if answer is not None)
    if not counts:
        return None, 0.0
    label = min(counts, key=lambda answer: (-counts[answer], answer))
    return label, counts[label] / len(answers)


def _text(answer: Any) -> str | None:
    """Canonical text of an answer; None for one that is empty."""
    if answer is None:
        return None
    text = answer if isinstance(answer, str) else json.dumps(answer, sort_keys=True, ensure_ascii=False)
    return " ".join(text.split()) or None

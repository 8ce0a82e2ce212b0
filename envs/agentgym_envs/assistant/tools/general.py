"""Tools of every task: the clock, a calculator, the user, and the end."""

import re
from typing import Annotated, Any

from pydantic import Field

from agentgym_envs.assistant.clock import NOW, TIME_ZONE, TODAY, weekday
from agentgym_envs.assistant.content.offices import OWNER
from agentgym_envs.assistant.session import REASONS, Reason, Session, Status, Submission
from agentgym_envs.assistant.tools.calculator import calculated
from agentgym_envs.assistant.tools.pages import Text
from agentgym_envs.tooluse import CallError, ToolError, tool

MOST_QUESTIONS = 3
NO_REPLY = "I have nothing to add."


@tool("read")
def get_now(session: Session) -> dict[str, str]:  # noqa: ARG001 - the state of every tool
    """Get the time, and the user's address."""
    return {"now": NOW, "weekday": weekday(TODAY), "time_zone": TIME_ZONE, "owner_email": OWNER}


@tool("generic")
def calculate(
    session: Session,  # noqa: ARG001 - the state of every tool
    expression: Annotated[str, Field(max_length=400)],
) -> int | float:
    """Calculate with + - * / // % and parentheses.

    Args:
        expression: Expression.
    """
    return calculated(expression)


@tool("generic")
def ask_user(session: Session, question: Annotated[str, Field(min_length=1, max_length=500)]) -> str:
    """Ask the user for missing information.

    Args:
        question: Question.
    """
    if session.questions >= MOST_QUESTIONS:
        raise CallError("limit", f"the user answers {MOST_QUESTIONS} questions", argument="question")
    session.questions += 1
    asked = question.lower()
    return next((reply for pattern, reply in session.replies if re.search(pattern, asked)), NO_REPLY)


@tool("control")
def submit(
    session: Session,
    status: Status,
    answer: Any = None,
    reason_code: Reason | None = None,
    note: Text | None = None,  # noqa: ARG001 - the agent's own words, which nothing reads
) -> str:
    """End the task; the first submission is final.

    Args:
        status: done, answer, or cannot.
        answer: Answer, if one was asked for.
        reason_code: Why it, or a part of it, cannot be done.
        note: Remarks, which are not judged.
    """
    if status == "cannot" and reason_code is None:
        raise ToolError("the status cannot needs a reason", argument="reason_code", expected=list(REASONS))
    session.submission = Submission(status, answer, reason_code)
    return "submitted"


TOOLS = (get_now, calculate, ask_user, submit)

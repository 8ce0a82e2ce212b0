"""Verdicts of episodes, and their outcomes."""

from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal[
    "success",
    "wrong_answer",
    "wrong_state",
    "collateral",
    "missing_evidence",
    "refused_wrongly",
    "policy_violation",
    "no_submit",
    "budget",
    "parse_failure",
    "tool_limit",
]
"""Reason for an episode's reward. There is none for a broken environment: it raises, and its episode is
failed, not a reward.
"""


@dataclass(frozen=True)
class Verdict:
    """Judgement of an ended episode, made once, from the state that the environment holds."""

    reward: float
    outcome: Outcome
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    """JSON values that an agent may see after the end; nothing of the solution."""


SUCCESS = Verdict(1.0, "success")

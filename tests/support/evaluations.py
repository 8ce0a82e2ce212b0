"""Builders of evaluation records."""

from typing import Any

from agentevol.loop.report.evaluations.records import EvaluationRecord


def record(**fields: Any) -> EvaluationRecord:
    """A record of the policy in a scored episode of one agent, but for `fields`."""
    plain = {
        "id": fields.get(
            "id", f"eval/{fields.get('task', 't')}/{fields.get('seat')}/{fields.get('attempt', 0)}"
        ),
        "episode": fields.get("id", f"eval/{fields.get('task', 't')}/{fields.get('attempt', 0)}"),
        "requested": 1,
        "role": "policy",
        "model": "m",
        "partner": "self",
        "action_format": "plain",
        "env": "debate",
        "env_version": "1",
        "data_version": "1",
        "split": "test",
        "task": "t",
        "attempt": 0,
        "seed": 0,
        "seat": None,
        "ending": "terminated",
        "reward": 0.0,
        "turns": 1,
        "tokens": None,
        "scenario": fields.get("task", "t"),
    }
    return EvaluationRecord(**{**plain, **fields})

"""Tasks of the tau domains: `TauTask`, and its parts.

A task's own fields (`gold`, `assertions`, `scenario`) stay on the server.
"""

from typing import Any, Literal

from pydantic import Field

from agentgym_envs.core import Record, Task
from agentgym_envs.tau.judging.judgement import Line

Version = Literal["tau1", "tau2"]
"""Benchmark whose rules hold: tau-bench or tau2-bench."""
Part = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]
"""Part of the reward."""
Side = Literal["assistant", "user"]
"""`assistant`: the company's tables; `user`: the customer's phone or inbox."""
UPDATE = "update_db"
"""Set-up function that merges rows into the tables of a side: a task's initial data are a call of it."""


class Action(Record):
    """Tool call of the gold solution."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    compared: tuple[str, ...] | None = None
    """Arguments that a call must have in common with it; None for all that the agent passed."""


class Invocation(Record):
    """Call of a set-up function on one side."""

    side: Side
    function: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Assertion(Invocation):
    """Function of the final state, and the value that it must have."""

    value: bool = True


class Scenario(Record):
    """Instructions of the customer."""

    persona: str = ""
    reason: str = ""
    """Reason for the call."""
    known: str = ""
    unknown: str = ""
    instructions: str = ""


class TauTask(Task):
    """Task of a tau domain."""

    source: str
    """`tau1`, `tau2` or `builtin`: which data it is played on."""
    version: Version = "tau2"
    user_id: str = ""
    """Customer, where tau1 names one."""
    scenario: Scenario = Scenario()
    setup: tuple[Invocation, ...] = ()
    history: tuple[Line, ...] = ()
    """The dialogue so far, which the episode continues; its calls are in `setup`."""
    gold: tuple[Action, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    communicate: tuple[str, ...] = ()
    """Texts that the agent has to tell the user."""
    statements: tuple[str, ...] = ()
    """Statements about the dialogue, which need a judge."""
    basis: tuple[Part, ...] = ("DB",)
    trainable: bool = True
    """False where doing nothing earns the reward, or a gold write fails."""

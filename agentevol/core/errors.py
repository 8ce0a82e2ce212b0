"""Exceptions that agentevol raises on purpose.

AgentEvolError
├── ConfigError(ValueError)     a setting or an input file is unknown, missing or out of range; says which
├── RunStopped                  the run ended itself for a stated reason (too many failed episodes, disk full)
├── TransferFailed              new weights did not reach an engine on the way that was chosen
└── RolloutFault                an episode ended for a reason which is not the agent's
    ├── EnvironmentFault        server or environment broke: `kind` is the problem's slug (`worker-lost`, ...)
    ├── TransportFault          no usable answer: refused, reset, timed out, garbled
    ├── PolicyFault             the inference engine failed
    │   └── WeightsReplaced     the policy asked is one that the engine no longer serves
    └── FormatFault             the action format raised, or gave no text

A fault is never a reward. The episode is stored without a return, counted, and never trained on.
"""

import re

REPLAY_MISMATCH = "replay-mismatch"
"""Failure kind of an episode whose replay gets other answers than before."""


class AgentEvolError(Exception):
    """Base of all exceptions below; its text is one line for the user: the error, and the remedy."""


class ConfigError(AgentEvolError, ValueError):
    """A setting or an input file is unknown, missing or out of range."""


class RunStopped(AgentEvolError):
    """The run ended itself; its finished work is kept and it can be resumed."""


class TransferFailed(AgentEvolError):
    """New weights did not reach an engine; the checkpoint's files are the alternative."""


class RolloutFault(AgentEvolError):
    """An episode ended for a reason which is not the agent's."""

    kind = "internal"


class EnvironmentFault(RolloutFault):
    """The server or the environment broke; `kind` is the problem's slug."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


class TransportFault(RolloutFault):
    """No usable answer: refused, reset, timed out, garbled."""

    kind = "transport"


class PolicyFault(RolloutFault):
    """The inference engine failed."""

    kind = "policy"


class WeightsReplaced(PolicyFault):
    """The engine has newer weights than the policy: serve a new policy."""


class FormatFault(RolloutFault):
    """The action format raised, or gave something else than text."""

    kind = "action-format"


def described(cause: BaseException) -> str:
    """The type and message of an unexpected exception, in one line."""
    return f"{type(cause).__name__}: {one_line(cause)}"


def one_line(cause: BaseException, limit: int = 300) -> str:
    """The message of an exception in one line of at most `limit` characters."""
    text = re.sub(r"\s+", " ", str(cause)).strip() or type(cause).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"

"""Error messages for users: one line (type, cause, remedy) and an exit code per exception.

> failure(ConfigError("unknown key 'lern.rate'; did you mean 'learn.rate'?"))
("error: configuration: unknown key 'lern.rate'; did you mean 'learn.rate'?", 2)
"""

import errno
import sys
from typing import NamedTuple

import typer

FAILURE, MISUSE, INTERRUPTED = 1, 2, 130


class Expected(NamedTuple):
    """Type of exception that is raised on purpose, with a text for users."""

    module: str
    name: str
    label: str
    code: int


EXPECTED = (
    Expected("agentevol.core.errors", "ConfigError", "configuration", MISUSE),
    Expected("agentevol.core.errors", "RunStopped", "run stopped", FAILURE),
    Expected("agentevol.core.errors", "EnvironmentFault", "environment", FAILURE),
    Expected("agentevol.core.errors", "TransportFault", "connection", FAILURE),
    Expected("agentevol.core.errors", "PolicyFault", "policy", FAILURE),
    Expected("agentevol.core.errors", "AgentEvolError", "agentevol", FAILURE),
    Expected("agentgym_envs.registry", "UnknownEnvironment", "environment", MISUSE),
    Expected("agentgym_envs.registry", "EnvironmentUnavailable", "environment", FAILURE),
    Expected("agentgym_envs.core", "TaskNotFound", "task", MISUSE),
    Expected("agentgym_envs.alfworld.game", "GameError", "data", FAILURE),
    Expected("agentgym_envs.bfcl.dialogues", "DialogueError", "data", FAILURE),
    Expected("agentgym_envs.ampo.records", "AmpoDataError", "data", FAILURE),
    Expected("agentgym_envs.questions.records", "QuestionsError", "data", FAILURE),
    Expected("agentgym_envs.sotopia.data.profile_set", "SotopiaDataError", "data", FAILURE),
    Expected("agentgym_envs.sql.imported.library", "LibraryError", "data", FAILURE),
    Expected("agentgym_envs.tau.reading", "TauDataError", "data", FAILURE),
    Expected("agentgym_envs.webshop.catalogues.stored", "CatalogueError", "data", FAILURE),
    Expected("agentgym_store.errors", "StatementError", "sql", MISUSE),
    Expected("agentgym_store.errors", "StoreError", "store", FAILURE),
    Expected("agentgym_client.errors", "EnvClientError", "server", FAILURE),
)
"""The first row that matches an exception is used, so a subclass stands before its base."""

REMEDIES = {
    errno.ENOSPC: "free some space or choose another folder",
    errno.EDQUOT: "free some space or choose another folder",
    errno.EACCES: "choose a path that you may use",
    errno.EPERM: "choose a path that you may use",
    errno.EROFS: "choose a folder that can be written",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.EISDIR: "name a file, not a folder",
    errno.EEXIST: "choose another path; nothing is overwritten",
    errno.EADDRINUSE: "choose another port, or 0 for any that is free",
    errno.ECONNREFUSED: "check that the server runs, and its address",
}

EXTRAS = {
    "aiohttp": "server",
    "fastapi": "server",
    "uvicorn": "server",
    "starlette": "server",
    "yaml": "server",
    "deltalake": "store",
    "polars": "store",
    "pyarrow": "store",
    "gymnasium": "gymnasium",
    "mpmath": "bfcl",
    "rapidfuzz": "webshop",
    "textworld": "alfworld",
    "alfworld": "alfworld",
}
"""Package to the extra that installs it; any other package comes with `train`."""


def failure(cause: BaseException) -> tuple[str, int]:
    """The line for stderr and the exit code."""
    text, code = _told(cause)
    return f"error: {' '.join(text.split())}", code


def _told(cause: BaseException) -> tuple[str, int]:
    if isinstance(cause, KeyboardInterrupt | typer.Abort):
        return "interrupted", INTERRUPTED
    if (usage := _usage(cause)) is not None:
        return usage
    for expected in EXPECTED:
        if _is(cause, expected):
            return f"{expected.label}: {cause}", expected.code
    if isinstance(cause, OSError):
        return _os_error(cause), FAILURE
    if isinstance(cause, ModuleNotFoundError):
        extra = EXTRAS.get((cause.name or "").partition(".")[0], "train")
        return f"missing package: {cause.name}; pip install 'agentevol[{extra}]'", FAILURE
    if isinstance(cause, ImportError):  # an own package whose error names the extra that it needs
        return f"missing package: {cause}", FAILURE
    return f"internal: {type(cause).__name__}: {cause}; --debug shows where", FAILURE


def _is(cause: BaseException, expected: Expected) -> bool:
    # Types of a raised exception are imported already, so no module is imported here.
    module = sys.modules.get(expected.module)
    kind = getattr(module, expected.name, None)
    return isinstance(kind, type) and isinstance(cause, kind)


def _usage(cause: BaseException) -> tuple[str, int] | None:
    """typer's message for wrong arguments; its exceptions hold their text and exit code (2)."""
    tell, code = getattr(cause, "format_message", None), getattr(cause, "exit_code", None)
    if not callable(tell) or not isinstance(code, int):
        return None
    path = getattr(getattr(cause, "ctx", None), "command_path", "agentevol")
    return f"usage: {tell()} See '{path} --help'.", code


def _os_error(cause: OSError) -> str:
    what = cause.strerror or str(cause) or type(cause).__name__
    where = f": {cause.filename}" if cause.filename is not None else ""
    remedy = REMEDIES.get(cause.errno or 0)
    return f"system: {what}{where}" + (f"; {remedy}" if remedy else "")

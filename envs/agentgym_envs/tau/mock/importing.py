"""Import of the mock folder of tau2-bench: `import_official`, `counts`, `verify`."""

from collections.abc import Callable
from pathlib import Path

from agentgym_envs.import_report import ImportReport
from agentgym_envs.tau.data import library
from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.data.folder import DomainFolder
from agentgym_envs.tau.data.importing import DomainRules, import_domain
from agentgym_envs.tau.desk.importing import prepared_with
from agentgym_envs.tau.mock.environment import TauMock
from agentgym_envs.tau.reading import TauDataError
from agentgym_envs.tau.trial import trial_of

_desk = prepared_with(("tasks", "users"))


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the mock folder; see `agentgym_envs.tau.data.importing.import_domain`."""
    return import_domain(RULES, source, home, progress)


def counts(home: Path) -> dict[str, int] | None:
    """Tasks by split; None if nothing was imported."""
    return library.counts(home, TauMock.name)


def verify(home: Path) -> list[str]:
    """Errors of the imported files."""
    return library.verify(home, TauMock.name)


def _prepared(folder: DomainFolder) -> Domain:
    """The tables of both sides: the inbox is one more."""
    domain = _desk(folder)
    if "policy_solo" not in folder.policies:
        raise TauDataError("the folder of mock lacks policy_solo.md")
    if "notifications" not in folder.phone:
        raise TauDataError("the folder of mock lacks user_db.json with notifications")
    tables = {**domain.tables, "notifications": folder.phone["notifications"]}
    return Domain(tables, policies=domain.policies)


RULES = DomainRules(
    env=TauMock.name,
    folder="mock",
    trial=lambda source: trial_of(TauMock(sources=(source,))),
    prepared=_prepared,
    states=True,
)

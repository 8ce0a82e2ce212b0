"""Import of the telecom of tau2-bench: `import_official`, `counts`, `verify`."""

from collections.abc import Callable
from pathlib import Path

from agentgym_envs.import_report import ImportReport
from agentgym_envs.tau.data import library
from agentgym_envs.tau.data.domain import Domain, TaskSource
from agentgym_envs.tau.data.folder import DomainFolder
from agentgym_envs.tau.data.importing import DomainRules, Splits, Trial, import_domain
from agentgym_envs.tau.reading import TauDataError
from agentgym_envs.tau.tasks import TauTask
from agentgym_envs.tau.telecom.builtin import published_tasks
from agentgym_envs.tau.telecom.environment import TauTelecom
from agentgym_envs.tau.telecom.phone import Phone
from agentgym_envs.tau.telecom.world import completed
from agentgym_envs.tau.trial import trial_of

PUBLISHED = "tau2_generated"
"""Split of the tasks generated for published ids."""


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the telecom folder of tau2-bench; see `agentgym_envs.tau.data.importing.import_domain`."""
    return import_domain(RULES, source, home, progress)


def counts(home: Path) -> dict[str, int] | None:
    """Tasks by split; None if nothing was imported."""
    return library.counts(home, TauTelecom.name)


def verify(home: Path) -> list[str]:
    """Errors of the imported files."""
    return library.verify(home, TauTelecom.name)


def _prepared(folder: DomainFolder) -> Domain:
    for name in ("main", "main_solo", "manual"):
        if name not in folder.policies:
            raise TauDataError(f"the folder of telecom lacks the policy text {name!r}")
    if not folder.phone:
        raise TauDataError("the folder of telecom lacks user_db.toml")
    Phone.of(folder.phone)
    return Domain(completed(folder.tables), folder.phone, folder.policies)


def _more(folder: DomainFolder, splits: Splits) -> Splits:
    known = [task for tasks in splits.values() for task in tasks]
    made = published_tasks(PUBLISHED, folder.split_ids.get("full", ()), known)
    return {PUBLISHED: made} if made else {}


def _trial(source: TaskSource) -> Callable[[TauTask], Trial]:
    return trial_of(TauTelecom(sources=(source,)))


RULES = DomainRules(env=TauTelecom.name, folder="telecom", trial=_trial, prepared=_prepared, more=_more)

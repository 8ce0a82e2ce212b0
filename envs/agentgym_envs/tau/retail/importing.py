"""Import of the retail folders of tau-bench and tau2-bench: `import_official`, `counts`, `verify`."""

from collections.abc import Callable
from pathlib import Path

from agentgym_envs.import_report import ImportReport
from agentgym_envs.tau.data import library
from agentgym_envs.tau.data.importing import DomainRules, import_domain
from agentgym_envs.tau.desk.importing import prepared_with
from agentgym_envs.tau.retail.environment import TauRetail
from agentgym_envs.tau.trial import trial_of

RULES = DomainRules(
    env=TauRetail.name,
    folder="retail",
    trial=lambda source: trial_of(TauRetail(sources=(source,))),
    prepared=prepared_with(("users", "products", "orders")),
    id_prefix="tau2/",
)


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the retail folders; see `agentgym_envs.tau.data.importing.import_domain`."""
    return import_domain(RULES, source, home, progress)


def counts(home: Path) -> dict[str, int] | None:
    """Tasks by split; None if nothing was imported."""
    return library.counts(home, TauRetail.name)


def verify(home: Path) -> list[str]:
    """Errors of the imported files."""
    return library.verify(home, TauRetail.name)

"""Preparation of a help desk's imported data: `prepared_with`."""

from collections.abc import Callable, Sequence

from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.data.folder import DomainFolder
from agentgym_envs.tau.reading import TauDataError


def prepared_with(tables: Sequence[str]) -> Callable[[DomainFolder], Domain]:
    """Function that takes these tables, and the policy, from a folder; raises `TauDataError` if one lacks."""

    def prepared(folder: DomainFolder) -> Domain:
        for name in tables:
            if name not in folder.tables:
                raise TauDataError(f"the folder of {folder.version} lacks the table {name!r}")
        if "policy" not in folder.policies:
            raise TauDataError(f"the folder of {folder.version} lacks policy.md")
        return Domain({name: folder.tables[name] for name in tables}, policies=folder.policies)

    return prepared

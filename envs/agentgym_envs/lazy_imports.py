"""Lazy imports of a package's public names: each is imported when it is first used (PEP 562).

    if TYPE_CHECKING:
        from agentgym_envs.core import Task
    else:
        __getattr__, __dir__ = lazy_names(__name__, {"Task": "agentgym_envs.core:Task"})

Importing the package costs next to nothing then, whatever its names need.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

OWN = ("agentevol", "agentgym_client", "agentgym_envs", "agentgym_server", "agentgym_store")
"""Packages of this distribution: one that is missing is an error of ours, and no extra brings it."""


def lazy_names(
    package: str, targets: Mapping[str, str], *, extra: str | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose public names are "module:attribute" by name.

    Where a module needs a package that is not installed, the error names the `extra` that brings it.
    """

    def get_name(name: str) -> object:
        if name not in targets:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = targets[name].partition(":")
        try:
            return getattr(import_module(module), attribute)
        except ModuleNotFoundError as cause:
            missing = (cause.name or "").partition(".")[0]
            if extra is None or missing in OWN:
                raise
            raise ImportError(
                f"{package}.{name} needs {missing}: pip install 'agentevol[{extra}]'", name=cause.name
            ) from cause

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *targets})

    return get_name, list_names

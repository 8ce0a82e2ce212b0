"""Registry of objects by name: the package's own, entry points of other distributions, and
`module:attribute`.

    > EXTENSIONS.names()
    ['grpo', 'my_rule', 'sft']
    > EXTENSIONS.load("my_package.rules:RULE")

A distribution adds one by an entry point of the group in its `pyproject.toml`:

    [project.entry-points."agentevol.algorithms"]
    my_rule = "my_package.rules:RULE"

A name of the package's own always means this project's object: an entry point cannot replace it.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from pathlib import Path
from typing import Any

from agentevol.core.errors import ConfigError, one_line


@dataclass(frozen=True)
class Extensions:
    """Registry of one kind of objects."""

    kind: str
    """Singular noun for messages: `algorithm`."""
    group: str
    """Entry point group: `agentevol.algorithms`."""
    own: Mapping[str, str]
    """Name to `module:attribute` of this package."""

    def names(self) -> list[str]:
        """All names, sorted; `module:attribute` needs none."""
        return sorted({*self.own, *self._foreign()})

    def checked(self, name: str) -> str:
        """The name, if there is such an object; imports nothing. Raises `ConfigError` otherwise."""
        if name not in self.own and ":" not in name and name not in self._foreign():
            known = ", ".join(self.names())
            raise ConfigError(f"no {self.kind} named {name!r}; there are: {known}, or module:attribute")
        return name

    def load(self, name: str) -> Any:
        """The object behind a name or `module:attribute`; imports its module.

        Raises `ConfigError` for an unknown name and for a module or attribute that cannot be imported.
        """
        module, _, attribute = self._target(self.checked(name)).partition(":")
        try:
            return getattr(import_module(module), attribute)
        except Exception as cause:  # any type that a user's module raises during its import
            reason = one_line(cause)
            raise ConfigError(f"{self.kind} {name!r} cannot be imported: {reason}") from cause

    def function(self, name: str, *arguments: str) -> Callable[..., Any]:
        """The function behind a name, which takes these positional arguments and needs no others.

        Raises `ConfigError` as `load` does, and for an object that is no such function.
        """
        found, wanted = self.load(name), ", ".join(arguments)
        if not callable(found):
            raise ConfigError(f"{self.kind} {name!r} is {type(found).__name__}, not a function of ({wanted})")
        try:
            signature(found).bind(*arguments)
        except (TypeError, ValueError) as cause:
            raise ConfigError(f"{self.kind} {name!r} is no function of ({wanted}): {cause}") from cause
        return found

    def _target(self, name: str) -> str:
        if name in self.own:
            return self.own[name]
        if ":" in name:
            _see_working_folder()
            return name
        return self._foreign()[name].value.replace(" ", "")

    def _foreign(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.group)}


def _see_working_folder() -> None:
    """Add the working folder to the import path, as `python -m` does; Ray's workers get the same path."""
    folder = str(Path.cwd())
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)

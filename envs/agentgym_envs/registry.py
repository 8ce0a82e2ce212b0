"""Registry of environments: `REGISTRY`, and the entry points of other distributions.

> make("guess").name
guess
> make("gues")
UnknownEnvironment: no environment named 'gues'; there are: academia, alfworld, ...
UnknownEnvironment: no environment named 'gues'; there are: alfworld, deliberate, guess, ...

Listing imports no environment. A distribution adds its own by an entry point in its `pyproject.toml`:

    [project.entry-points."agentgym.environments"]
    chess = "my_package.chess:Chess"

A name of `REGISTRY` always means this project's environment: an entry point cannot replace it.
"""

import ast
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from agentgym_envs.core import Environment, Record

ENTRY_POINT_GROUP = "agentgym.environments"

REGISTRY: dict[str, str] = {
    "academia": "agentgym_envs.families.academia:Academia",
    "alfworld": "agentgym_envs.alfworld:ALFWorld",
    "ampo": "agentgym_envs.ampo:Ampo",
    "assistant": "agentgym_envs.assistant:Assistant",
    "babyai": "agentgym_envs.babyai:BabyAI",
    "bfcl": "agentgym_envs.bfcl:BFCL",
    "deliberate": "agentgym_envs.deliberate:Deliberate",
    "guess": "agentgym_envs.guess:Guess",
    "maze": "agentgym_envs.maze:Maze",
    "movie": "agentgym_envs.families.movie:Movie",
    "questions": "agentgym_envs.questions:Questions",
    "sciworld": "agentgym_envs.sciworld:ScienceWorld",
    "searchqa": "agentgym_envs.searchqa:SearchQA",
    "sheet": "agentgym_envs.families.sheet:Sheet",
    "social": "agentgym_envs.social:Social",
    "sotopia": "agentgym_envs.sotopia.environment:Sotopia",
    "sql": "agentgym_envs.sql.environment:SQL",
    "sqlgym": "agentgym_envs.sql.agentgym:SQLGym",
    "tau-airline": "agentgym_envs.tau.airline:TauAirline",
    "tau-mock": "agentgym_envs.tau.mock:TauMock",
    "tau-retail": "agentgym_envs.tau.retail:TauRetail",
    "tau-telecom": "agentgym_envs.tau.telecom:TauTelecom",
    "textcraft": "agentgym_envs.textcraft:TextCraft",
    "todo": "agentgym_envs.families.todo:Todo",
    "weather": "agentgym_envs.families.weather:Weather",
    "webshop": "agentgym_envs.webshop:WebShop",
    "wordle": "agentgym_envs.wordle:Wordle",
}
"""Name to "module:Class"."""

EXTRAS: dict[str, str] = {
    name: f"server,{name}" for name in ("babyai", "bfcl", "sciworld", "searchqa", "webshop")
}
"""Name to the extras of this distribution that install its image, if `server` is not enough."""

PLAIN: dict[str, str] = {"bfcl": "bfcl-eval==2026.3.23"}
"""Name to a distribution of which it uses modules that need none of the distribution's dependencies: it is
installed without them, and so in no extra.
"""

PACKAGES: dict[str, str] = {"sciworld": "default-jre-headless"}
"""Name to the packages of Debian that its image needs."""

NEEDS: dict[str, tuple[str, ...]] = {
    "babyai": ("minigrid",),
    "bfcl": ("mpmath", "bfcl_eval"),
    "sciworld": ("scienceworld",),
    "searchqa": ("numpy",),
    "webshop": ("numpy", "rapidfuzz"),
}
"""Name to the modules of its extra, which has the same name, and of its distribution in `PLAIN`."""


ARGUMENTS: dict[str, str] = {"questions": "file"}
"""Name to the option that an argument after a colon sets: `questions:FILE`."""


class UnknownEnvironment(LookupError):
    """No environment has this name; the text lists the available names."""


class EnvironmentUnavailable(RuntimeError):
    """The environment is registered but cannot be imported, for example since its extra is not installed."""


class EnvironmentEntry(Record):
    """Entry of the list of environments."""

    name: str
    target: str
    """`module:Class`."""
    distribution: str
    """Distribution of the environment: `agentevol`, or the name of another installed one."""
    summary: str
    """One line; empty if the distribution has none."""


def names() -> list[str]:
    """Names of all registered environments, sorted."""
    return sorted({*REGISTRY, *_foreign()})


def describe() -> list[EnvironmentEntry]:
    """All registered environments by name, without importing any of them."""
    foreign = _foreign()
    return [_foreign_entry(foreign[name]) if name not in REGISTRY else _own_entry(name) for name in names()]


def lacking(name: str) -> str:
    """Missing modules of `name`, with the command that installs them; '' if none is missing."""
    missing = [module for module in NEEDS.get(name, ()) if find_spec(module) is None]
    plain = f" && pip install --no-deps {PLAIN[name]}" if name in PLAIN else ""
    return f"{' and '.join(missing)}: pip install 'agentevol[{name}]'{plain}" if missing else ""


def with_argument(text: str) -> tuple[str, dict[str, str]]:
    """The name and the options of `NAME`, or of `NAME:ARGUMENT`, as `questions:FILE`.

    Raises `UnknownEnvironment` for an environment that takes no argument, and for an empty one.
    """
    name, colon, argument = text.partition(":")
    if not colon:
        return name, {}
    if name not in ARGUMENTS or not argument:
        takes = ", ".join(f"{one}:{option.upper()}" for one, option in ARGUMENTS.items())
        raise UnknownEnvironment(f"no environment named {text!r}; those with an argument are: {takes}")
    return name, {ARGUMENTS[name]: argument}


def environment_class(name: str) -> type[Environment[Any]]:
    """The class behind `name`; imports its module.

    Raises `UnknownEnvironment`, or `EnvironmentUnavailable` when its module or class cannot be imported.
    """
    module_name, _, attribute = _target(name).partition(":")
    try:
        found: object = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as cause:
        reason = f"it needs {lacking(name)}" if lacking(name) else cause
        raise EnvironmentUnavailable(f"environment {name!r} cannot be imported: {reason}") from cause
    if not (isinstance(found, type) and issubclass(found, Environment)):
        raise EnvironmentUnavailable(f"environment {name!r}: {module_name}:{attribute} is not an Environment")
    return cast("type[Environment[Any]]", found)


def make(name: str, **options: Any) -> Environment[Any]:
    """A new instance of the environment `name`, or `NAME:ARGUMENT`; `options` are its constructor's keyword
    arguments.
    """
    own, given = with_argument(name)
    return environment_class(own)(**given, **options)


def _target(name: str) -> str:
    # Own names first: reading the metadata of every installed distribution takes milliseconds.
    if name in REGISTRY:
        return REGISTRY[name]
    entry = _foreign().get(name)
    if entry is None:
        raise UnknownEnvironment(f"no environment named {name!r}; there are: {', '.join(names())}")
    return entry.value.replace(" ", "")


def _foreign() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def _foreign_entry(entry: EntryPoint) -> EnvironmentEntry:
    provider = entry.dist
    return EnvironmentEntry(
        name=entry.name,
        target=entry.value,
        distribution=provider.name if provider else "",
        summary=(provider.metadata["Summary"] or "") if provider else "",
    )


def _own_entry(name: str) -> EnvironmentEntry:
    target = REGISTRY[name]
    module_name = target.partition(":")[0]
    return EnvironmentEntry(
        name=name, target=target, distribution="agentevol", summary=_first_line(module_name)
    )


def _first_line(module_name: str) -> str:
    """First line of a module's docstring, read from its source rather than by importing it."""
    spec = find_spec(module_name) if module_name not in sys.modules else sys.modules[module_name].__spec__
    if spec is None or spec.origin is None:
        return ""
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]

"""Packages name what others import from them: the list in a package's docstring is complete and true."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = (
    ROOT / "agentevol",
    ROOT / "agentgym_client",
    ROOT / "envs" / "agentgym_envs",
    ROOT / "services" / "agentgym_server",
    ROOT / "trajectories" / "agentgym_store",
)
INTRODUCTION = "Names for other packages:"


def dotted(file: Path) -> str:
    """Name of a module."""
    source = next(one for one in SOURCES if file.is_relative_to(one))
    parts = file.relative_to(source.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, ast.Module]:
    """Parsed modules of the five packages by name."""
    files = (file for source in SOURCES for file in source.rglob("*.py"))
    return {dotted(file): ast.parse(file.read_text(encoding="utf-8")) for file in files}


@cache
def packages() -> dict[str, str]:
    """Docstring of every package that re-exports nothing, by name."""
    found = {dotted(file): file for source in SOURCES for file in source.rglob("__init__.py")}
    trees = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in found.items()}
    return {name: ast.get_docstring(tree) or "" for name, tree in trees.items() if len(tree.body) == 1}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements in it, at any depth. There are far fewer of them than expressions."""
    yield node
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, block, ())
        for one in inner if isinstance(inner, list) else ():  # of a lambda it is an expression
            yield from statements(one)


def imports(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Module and name of every import from one of the packages; None as the name of a whole module."""
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                yield (whole, None) if whole in modules() else (node.module, one.name)


@cache
def used() -> dict[str, set[str]]:
    """Names that modules outside of a package import from it, as `module.name`, by package."""
    found = defaultdict[str, set[str]](set)
    for importer, tree in modules().items():
        for module, name in imports(tree):
            package, _, leaf = module.rpartition(".")
            if module in modules() and package in packages() and not f"{importer}.".startswith(f"{package}."):
                found[package].add(leaf if name is None else f"{leaf}.{name}")
    return found


def listed(docstring: str) -> set[str]:
    """Names in the last paragraph of a package's docstring."""
    _, introduction, names = docstring.partition(INTRODUCTION)
    return set(re.findall(r"`([\w.]+)`", names)) if introduction else set()


def test_there_is_something_to_compare():
    assert {"agentevol.core", "agentevol.learn.heads", "agentgym_server.wire"} <= set(packages())
    assert "errors.ConfigError" in used()["agentevol.core"]
    assert listed(f"Tools.\n\n{INTRODUCTION} `saw.Saw`,\n`file`.") == {"saw.Saw", "file"}
    assert listed("Tools: `saw.Saw`.") == set()


@pytest.mark.parametrize("package", packages())
def test_a_package_lists_the_names_that_others_import(package: str):
    assert sorted(used().get(package, set())) == sorted(listed(packages()[package]))

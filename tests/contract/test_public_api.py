"""The public names of the packages: each imports, is documented, and costs nothing before it is used."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from agentgym_envs.lazy_imports import lazy_names

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
PACKAGES = ("agentevol", "agentgym_client", "agentgym_envs", "agentgym_server", "agentgym_store")
NAMES = [(package, name) for package in PACKAGES for name in import_module(package).__all__]
HEAVY = {
    *("deltalake", "fastapi", "httpx", "numpy", "peft"),
    *("polars", "pydantic", "ray", "torch", "transformers"),
}


def loaded(*statements: str) -> set[str]:
    """The heavy packages that a fresh interpreter holds after some statements."""
    program = "\n".join([*statements, "import sys", "print(sorted(sys.modules))"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in ast.literal_eval(done.stdout)} & HEAVY


def section(package: str) -> str:
    """The part of the page that is about a package."""
    (text,) = re.findall(rf"^## {package}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    return text


def typed_imports(package: str) -> dict[str, object]:
    """What a type checker takes the public names for: the imports under `if TYPE_CHECKING`."""
    tree = ast.parse(Path(str(import_module(package).__file__)).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.asname or alias.name: getattr(import_module(str(node.module)), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_a_public_name_has_a_docstring_and_a_place_on_the_page(package: str, name: str) -> None:
    found = getattr(import_module(package), name)
    assert isinstance(found, str) or inspect.getdoc(found)
    documented = re.findall(r"`([A-Za-z_]+)(?:\([^`]*\))?`", section(package))
    assert name in documented


@pytest.mark.parametrize("package", PACKAGES)
def test_a_type_checker_sees_the_objects_that_are_imported(package: str) -> None:
    module = import_module(package)
    assert typed_imports(package) == {name: getattr(module, name) for name in module.__all__}


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_listed_and_others_are_not_there(package: str) -> None:
    module = import_module(package)
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_importing_the_packages_loads_nothing_heavy() -> None:
    assert loaded(f"import {', '.join(PACKAGES)}") == set()


def test_the_check_of_light_imports_notices_a_heavy_one() -> None:
    assert loaded("import agentgym_envs, pydantic") == {"pydantic"}


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("from agentgym_envs import *", {"pydantic"}),
        ("from agentgym_client import *", {"pydantic"}),
        ("from agentgym_store import Trajectory, StoreError, Terminated", {"pydantic"}),
        ("from agentgym_server import ServerSettings", {"pydantic"}),
        ("from agentevol import ConfigError, __version__", set()),
        ("from agentevol import Policy, RunSummary, EvaluationSummary, LearnReport", {"numpy", "pydantic"}),
        ("from agentevol import RunConfig, TrainConfig, load_config", {"numpy", "pydantic"}),
    ],
)
def test_a_light_name_loads_nothing_of_the_training_stack(statement: str, heavy: set[str]) -> None:
    assert loaded(statement) <= heavy


def test_no_submodule_hides_a_public_name() -> None:
    """Importing a submodule sets an attribute of its package, which would replace a name that is equal."""
    hidden = [
        f"{package}.{name}"
        for package, name in NAMES
        for folder in import_module(package).__path__
        if (Path(folder) / f"{name}.py").exists() or (Path(folder) / name).is_dir()
    ]
    assert hidden == []


def test_a_package_that_is_missing_is_told_with_its_extra() -> None:
    get, _ = lazy_names("shop", {"Cart": "no_such_package.carts:Cart"}, extra="server")
    with pytest.raises(
        ImportError, match=r"shop\.Cart needs no_such_package: pip install 'agentevol\[server\]'"
    ):
        get("Cart")


def test_a_module_of_ours_that_is_missing_is_told_as_it_is() -> None:
    get, _ = lazy_names("shop", {"Cart": "agentgym_envs.carts:Cart"}, extra="server")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'agentgym_envs\.carts'"):
        get("Cart")

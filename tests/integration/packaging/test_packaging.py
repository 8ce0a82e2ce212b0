"""What is shipped: five packages and their data, each importable with the wheel's own dependencies alone."""

import ast
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from agentevol.cli import MODULES
from agentevol.cli.bench import NAMES
from agentevol.core.algorithms.registry import ALGORITHMS

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {
    "agentevol": ROOT / "agentevol",
    "agentgym_client": ROOT / "agentgym_client",
    "agentgym_envs": ROOT / "envs" / "agentgym_envs",
    "agentgym_server": ROOT / "services" / "agentgym_server",
    "agentgym_store": ROOT / "trajectories" / "agentgym_store",
}
ENTRY_POINTS = (
    "agentevol",
    "agentevol.__main__",
    "agentevol.cli.benchmarks.learn.__main__",
    "agentevol.cli",
    "agentevol.cli.reference",  # `make docs`
    *(f"agentevol.cli.{name}" for name in MODULES),
    *(f"agentevol.cli.benchmarks.{name}" for name in NAMES),
    "agentevol.cli.benchmarks.env.alfworld",
    "agentevol.cli.benchmarks.env.assistant",
    "agentevol.cli.benchmarks.env.games",
    "agentevol.cli.benchmarks.env.webshop",
    "agentevol.cli.benchmarks.serve.openenv_side",  # a program for another interpreter
    "agentgym_client",
    "agentgym_client.gymnasium",
    "agentgym_envs",
    "agentgym_envs.sotopia.package.engine",  # a program for another interpreter
    "agentgym_envs.sql.alone.__main__",  # a program of its own process
    "agentgym_envs.webshop.dialects.agentbench",  # docs/webshop.md
    "agentgym_envs.webshop.dialects.agentgym",
    "agentgym_envs.webshop.dialects.site",
    "agentgym_envs.webshop.dialects.verl_agent",
    "agentgym_server",
    "agentgym_store",
    "agentgym_store.reference",  # `make docs`
    "agentgym_store.sql",
)
"""Modules that users import, commands, and programs."""
LOADED_BY_NAME = (*(target.partition(":")[0] for target in ALGORITHMS.values()),)
IMPORTED_BY_USERS = (
    "agentgym_envs.sotopia.data.episodes",  # docs/sotopia.md
    "agentgym_envs.sotopia.data.replay",
    "agentgym_envs.sotopia.models.judge",
    "agentgym_envs.sotopia.models.partner",
    "agentgym_envs.sotopia.package.client",
    "agentgym_envs.sotopia.package.records",
    "agentgym_envs.sotopia.verification.verifier",
    "agentgym_envs.tooluse.mcp",  # docs/tools.md
)
LIGHT = (
    "agentevol",
    "agentevol.cli",
    "agentgym_client",
    "agentgym_envs",
    "agentgym_envs.registry",
    "agentgym_store",
)
OPTIONAL = (
    *("deltalake", "fastapi", "gymnasium", "matplotlib", "numpy", "peft", "polars", "pyarrow", "ray"),
    *("starlette", "tensorboard", "torch", "transformers", "uvicorn", "vllm"),
)
"""Packages that only an extra brings."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in a freshly built wheel."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_five_packages_and_its_metadata(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert len(tops) == len(PACKAGES) + 1


def test_the_wheel_holds_every_file_of_the_packages(wheel: set[str]) -> None:
    expected = {
        f"{name}/{file.relative_to(folder).as_posix()}"
        for name, folder in PACKAGES.items()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    missing = sorted(expected - wheel)
    assert missing == []  # a pattern of .gitignore leaves files out in silence
    assert {f"{name}/py.typed" for name in PACKAGES} <= wheel


def test_the_folder_of_docker_files_holds_no_module() -> None:
    assert list((ROOT / "docker").rglob("*.py")) == []


def sources() -> dict[str, Path]:
    """Files of all modules by dotted name."""
    found = {}
    for folder in PACKAGES.values():
        for file in folder.rglob("*.py"):
            parts = file.relative_to(folder.parent).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


def modules_named_in(file: Path) -> Iterator[str]:
    """Dotted names in a file's imports and strings, as `module`, `module.attribute` or `module:attribute`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.partition(":")[0]


def reached_from(starts: Iterable[str], files: Mapping[str, Path]) -> set[str]:
    """Modules that these import, directly or not, with the packages that hold them."""
    reached: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name in files and name not in reached:
            reached.add(name)
            waiting += [name.rpartition(".")[0], *modules_named_in(files[name])]
    return reached


def test_no_module_of_the_wheel_is_for_tests_only() -> None:
    files = sources()
    assert set(ENTRY_POINTS) <= files.keys()
    assert (
        sorted(files.keys() - reached_from([*ENTRY_POINTS, *LOADED_BY_NAME, *IMPORTED_BY_USERS], files)) == []
    )


def test_an_import_chain_of_its_own_does_not_reach_a_module(tmp_path: Path) -> None:
    reached = {"p": "import p.used", "p.used": "NAME = 'p.named:it'", "p.named": ""}
    texts = {**reached, "p.a": "from p import b", "p.b": "import p.a"}
    files = {name: tmp_path / f"{name}.py" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text)
    assert reached_from(["p"], files) == reached.keys()


def test_role_folders_are_no_packages() -> None:
    assert [
        folder for folder in ("envs", "services", "trajectories") if (ROOT / folder / "__init__.py").exists()
    ] == []


def modules_after(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after `statement`."""
    program = f"{statement}\nimport sys\nprint(sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ast.literal_eval(done.stdout))


@pytest.mark.parametrize("module", LIGHT)
def test_a_light_import_loads_nothing_that_an_extra_brings(module: str) -> None:
    loaded = modules_after(f"import {module}")
    assert module.partition(".")[0] in loaded
    assert sorted(loaded & set(OPTIONAL)) == []


def test_what_leads_a_run_does_not_wait_for_torch() -> None:
    loaded = modules_after(
        "from agentevol.runs.launch import check\n"
        "from agentevol.config.run import load\n"
        "check(load(None, []))"
    )
    assert "ray" in loaded
    assert sorted(loaded & {"torch", "peft", "matplotlib"}) == []


def test_the_check_of_light_imports_notices_a_heavy_one() -> None:
    assert "fastapi" in modules_after("import agentevol.cli, fastapi") & set(OPTIONAL)


BLOCKER = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def bare(statement: str) -> subprocess.CompletedProcess[str]:
    """Run `statement` where no extra is installed."""
    program = BLOCKER.format(absent=set(OPTIONAL)) + statement
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_every_command_shows_its_help_without_any_extra() -> None:
    done = bare("from agentevol.cli import main; main(['--help'])")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Commands:" in done.stdout


def test_a_command_without_its_extra_names_it() -> None:
    done = bare("from agentevol.cli import main; main(['envs', 'up', 'guess'])")
    assert done.returncode == 1
    assert done.stderr.startswith("error: missing package: ")
    assert done.stderr.endswith("pip install 'agentevol[server]'\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from agentevol import run", "agentevol.run needs numpy: pip install 'agentevol[train]'"),
        (
            "from agentgym_store import Store",
            "agentgym_store.Store needs polars: pip install 'agentevol[store]'",
        ),
        ("from agentgym_server import create_app", "needs fastapi: pip install 'agentevol[server]'"),
    ],
)
def test_a_public_name_without_its_extra_says_which(statement: str, message: str) -> None:
    done = bare(statement)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert done.stderr.rstrip().endswith(message)


def test_environments_are_checked_without_any_extra() -> None:
    done = bare("from agentevol.cli import main; main(['envs', 'check', 'guess'])")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("guess: keeps the contract\n")

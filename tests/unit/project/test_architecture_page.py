"""Paths and module names on the pages exist, and the page of the architecture lists the layers in order."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted((ROOT / "docs").glob("*.md"))]
"""Pages of the present state; the changelog names paths of the past."""
TOPS = ("agentevol", "agentgym_client", "benchmarks", "docker", "envs", "services", "tests", "trajectories")
"""Folders of the repository whose paths the pages name."""
ENDS = (".py", ".md", ".toml", ".yaml", "/")
"""Ends of a path, in contrast to an alternative such as `envs/worlds`."""
SOURCES = {
    "agentevol": ROOT,
    "agentgym_client": ROOT,
    "agentgym_envs": ROOT / "envs",
    "agentgym_server": ROOT / "services",
    "agentgym_store": ROOT / "trajectories",
}
"""Folder of each package."""


def paths(text: str) -> set[str]:
    """Paths below the repository's folders that a page names, for example `envs/agentgym_envs/core.py`."""
    tops = "|".join(TOPS)
    found = re.findall(rf"(?<![\w/.-])(?:\.\./)?((?:{tops})/[\w./-]*[\w/])", text)
    return {
        path
        for path in found
        if path.startswith("tests/") or path.endswith((".py", ".md", ".toml", ".yaml", "/"))
    }


def modules(text: str) -> set[str]:
    """Modules of this project that a page's code imports or runs."""
    imported = re.findall(r"^ *(?:from|import) (agent(?:evol|gym_\w+)[\w.]*)", text, re.M)
    return {*imported, *re.findall(r"python -m (agentevol[\w.]*)", text)}


def module_exists(name: str) -> bool:
    """Whether a dotted name is a module or a package in the tree."""
    file = SOURCES[name.partition(".")[0]].joinpath(*name.split("."))
    return file.with_suffix(".py").is_file() or (file / "__init__.py").is_file()


def packages(text: str) -> Iterator[str]:
    """Packages of the trainer in the order of the architecture's table."""
    yield from re.findall(r"^\| `agentevol/(\w+)/` \|", text, re.M)


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them: `## On a cluster` has `on-a-cluster`."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_lead_to_headings(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!\w+://)([^)#\s]*)#([^)\s]+)\)", text)
    targets = [(page.parent / file if file else page, anchor) for file, anchor in links]
    wrong = [anchor for file, anchor in targets if anchor not in anchors(file.read_text(encoding="utf-8"))]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_and_modules_on_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [path for path in sorted(paths(text)) if not (ROOT / path).exists()] == []
    assert [name for name in sorted(modules(text)) if not module_exists(name)] == []


def test_the_check_of_paths_notices_what_it_should() -> None:
    assert paths("see `agentevol/loop/evolve.py`, [x](../tests/golden/) and https://a.org/tests/x.py") == {
        "agentevol/loop/evolve.py",
        "tests/golden/",
    }
    assert modules("python -m agentevol.cli.benchmarks.learn\nfrom agentgym_envs.core import Task") == {
        "agentevol.cli.benchmarks.learn",
        "agentgym_envs.core",
    }
    assert anchors("# A page\n## `What`, where?\n```sh\n# no heading\n```\n") == {"a-page", "what-where"}
    assert module_exists("agentgym_envs.core")
    assert not module_exists("agentgym_envs.heart")


def test_the_packages_of_the_trainer_are_listed_in_the_order_of_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(one for one in contracts["contracts"] if one["name"] == "Layers of the trainer")["layers"]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert list(packages(page)) == [name.strip() for layer in layers for name in layer.split("|")]

"""What an environment's image holds, by the metadata of what would be installed."""

import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agentgym_envs.registry import EXTRAS

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILE = ROOT / "docker" / "Dockerfile"


def needed(extra: str) -> set[str]:
    """Distributions that an image with these extras holds, by the metadata of those installed here."""
    project = [f"agentevol[{extra}]"]
    seen: set[tuple[str, frozenset[str]]] = set()
    while project:
        wanted = Requirement(project.pop())
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        project += [str(one) for one in requirements(name) if applies(one, extras)]
    return {name for name, _ in seen}


def requirements(name: str) -> list[Requirement]:
    if name == "agentevol":
        return own_requirements()
    try:
        return [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:  # an extra that is not installed here; pip would still see its name
        return []


def own_requirements() -> list[Requirement]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    optional = [
        f'{text} ; extra == "{extra}"' if ";" not in text else f'{text} and extra == "{extra}"'
        for extra, texts in project["optional-dependencies"].items()
        for text in texts
    ]
    return [Requirement(text) for text in (*project["dependencies"], *optional)]


def applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in extras or {""})


HEAVY = {"torch", "ray", "transformers", "vllm"}


@pytest.mark.parametrize("extra", sorted({"server", *EXTRAS.values()}))
def test_an_image_holds_no_training_stack(extra: str):
    held = needed(extra)
    assert {"agentevol", "fastapi", "uvicorn", "aiohttp", "pyyaml", "pydantic-core"} <= held
    assert held & HEAVY == set()


def test_the_walk_through_requirements_notices_torch():
    assert {"torch", "transformers", "ray"} <= needed("train")


def test_the_image_runs_as_nobody_in_particular() -> None:
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    assert "USER 10001:10001" in lines
    assert [line for line in lines if line.startswith(("ENTRYPOINT", "ADD"))] == []


def test_an_image_is_made_of_what_the_wheel_needs() -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    packages = {path.partition("/")[0] for path in wheel["targets"]["wheel"]["packages"]}
    assert ignore[1] == "*"
    assert sent == {*packages, "pyproject.toml", "constraints.txt", "README.md", "LICENSE"}

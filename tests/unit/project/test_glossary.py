"""The glossary's terms occur on the pages, and its names exist in code, configuration or table."""

import importlib
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from agentevol.config.run import RunConfig
from agentgym_server import ServerSettings
from agentgym_store.arrow import SAMPLE, SCHEMA, TURN

ROOT = Path(__file__).resolve().parents[3]
GLOSSARY = ROOT / "docs" / "glossary.md"
COLUMNS = {*SCHEMA.names, *(field.name for field in TURN), *(field.name for field in SAMPLE)}
"""Columns of the table of episodes, nested ones included."""


def entries(text: str) -> dict[str, str]:
    """The last column of each entry, by its term."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", text, re.M)
    return {term: names for term, names in rows if term != "term"}


def sections(annotation: Any) -> list[type[BaseModel]]:
    """Configuration sections in an annotation such as `LoraConfig | None` or a tagged union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for one in get_args(annotation) for found in sections(one)]


def is_setting(name: str, model: type[BaseModel]) -> bool:
    """Whether a dotted name is a field of a configuration or of one of its sections."""
    first, _, rest = name.partition(".")
    if first not in model.model_fields:
        return False
    return not rest or any(is_setting(rest, one) for one in sections(model.model_fields[first].annotation))


def is_in_code(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute or a declared field of one."""
    parts = name.split(".")
    if not parts[0].startswith("agent"):
        return False
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        return all((found := attribute(found, part)) is not None for part in parts[end:])
    return False


def attribute(owner: Any, name: str) -> Any:
    """An attribute, or the annotation of a field that has no default."""
    fields = {**getattr(owner, "model_fields", {}), **getattr(owner, "__annotations__", {})}
    return getattr(owner, name, fields.get(name))


def resolves(name: str) -> bool:
    """Whether a name of the glossary's last column exists."""
    settings = is_setting(name, RunConfig) or is_setting(name, ServerSettings)
    return settings or name in COLUMNS or is_in_code(name)


ENTRIES = entries(GLOSSARY.read_text(encoding="utf-8"))


@pytest.mark.parametrize("names", ENTRIES.values(), ids=list(ENTRIES))
def test_the_names_of_a_term_exist_and_its_page_is_linked(names: str) -> None:
    code = re.findall(r"`([^`]+)`", names)
    assert code
    assert [name for name in code if not resolves(name)] == []
    assert re.search(r"\]\([a-z-]+\.md[^)]*\)$", names)


def test_each_term_is_used_on_a_page() -> None:
    pages = [page for page in (ROOT / "docs").glob("*.md") if page != GLOSSARY]
    text = " ".join(" ".join(page.read_text(encoding="utf-8") for page in pages).split()).lower()
    assert [term for term in ENTRIES if term.lower() not in text] == []
    assert len(ENTRIES) >= 40


def test_the_check_of_names_notices_what_does_not_exist() -> None:
    assert resolves("agentgym_envs.Task.difficulty")
    assert not resolves("agentgym_envs.Task.hardness")
    assert not resolves("agentgym_envs.task.Task")
    assert resolves("learn.lora")
    assert not resolves("learn.loras")
    assert resolves("total_reward")
    assert not resolves("return")
    assert entries("| task | A problem. | `task_id`; [Page](page.md) |") == {
        "task": "`task_id`; [Page](page.md)"
    }

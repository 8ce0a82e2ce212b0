"""The list of purposes stands once in the code; the documentation describes each."""

import re
import subprocess
import sys
from pathlib import Path

from agentgym_store import purposes
from agentgym_store.arrow import SCHEMA
from agentgym_store.purposes import PURPOSES

ROOT = Path(__file__).parents[3]


def test_the_documentation_and_the_module_describe_every_purpose():
    page = (ROOT / "docs" / "trajectories.md").read_text("utf-8")
    table = page.partition("## Purposes\n")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.M)) == PURPOSES
    assert tuple(re.findall(r"^(\w+)  +\w", str(purposes.__doc__), re.M)) == PURPOSES


def test_the_tables_column_names_every_purpose():
    assert SCHEMA.field("purpose").metadata[b"comment"].decode() == ", ".join(PURPOSES) + "."


def test_no_other_module_repeats_the_list():
    folders = ("agentevol", "agentgym_client", "envs", "services", "trajectories")
    sources = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    assert [file.name for file in sources if repeats(file.read_text("utf-8"))] == ["purposes.py"]


def repeats(text: str) -> bool:
    return {"retain", "protect"} <= set(re.findall(r'"(\w+)"', text))


def test_the_command_line_gets_the_list_without_the_store():
    unwanted = "{'pydantic', 'pyarrow', 'polars'}"
    code = f"import sys, agentgym_store.purposes; print(sorted({unwanted} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"

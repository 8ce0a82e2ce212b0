"""Chromium for tests of the web pages, and the pages' server.

`PLAYWRIGHT` names a folder that has playwright-core: `npm install --prefix DIR playwright-core`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.readiness import ready_address

CHROMIUM = shutil.which("chromium") or ""
FOLDER = os.environ.get("PLAYWRIGHT", "")


def lacking() -> str:
    """The missing program or package; empty where all is there."""
    if not CHROMIUM:
        return "there is no chromium: apt-get install chromium"
    if shutil.which("node") is None:
        return "there is no node"
    if not (Path(FOLDER) / "node_modules" / "playwright-core").is_dir() or not FOLDER:
        return "PLAYWRIGHT names no folder with playwright-core: npm install --prefix DIR playwright-core"
    return ""


needs_browser = pytest.mark.skipif(bool(lacking()), reason=lacking())


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The address of `agentevol ui` on a folder."""
    command = [sys.executable, "-m", "agentevol", "ui", str(home), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield ready_address(process)
        finally:
            process.terminate()

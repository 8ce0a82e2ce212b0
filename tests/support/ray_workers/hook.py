"""Hook of `ray.init` that has the workers of a run forked."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from support.ray_workers import SOCKET

CLIENT = Path(__file__).with_name("client.py")


def forked(runtime_env: dict[str, Any] | None) -> dict[str, Any]:
    """The runtime environment, with the client of the fork server as its interpreter."""
    command = [sys.executable, "-I", "-S", str(CLIENT), os.environ[SOCKET]]
    return {**(runtime_env or {}), "py_executable": shlex.join(command)}

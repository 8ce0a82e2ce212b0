"""Hook of `ray.init`: workers of a run are forked, and processes that no run uses are left out."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from support.ray_workers import SOCKET

CLIENT = Path(__file__).with_name("client.py")


def forked(runtime_env: dict[str, Any] | None) -> dict[str, Any]:
    """The runtime environment, with the client of the fork server as its interpreter."""
    _leave_out_unused()
    command = [sys.executable, "-I", "-S", str(CLIENT), os.environ[SOCKET]]
    return {**(runtime_env or {}), "py_executable": shlex.join(command)}


def _leave_out_unused() -> None:
    """Start Ray without API server, log monitor and autoscaler, which runs do not use: a seventh of a small
    run's time.

    `ray.init` starts them even where it is told to include no dashboard and to log nothing.
    """
    from ray._private.node import Node

    def nothing(node: Any, **_: object) -> None:
        node._webui_url = ""

    for name in ("start_api_server", "start_log_monitor", "start_monitor"):
        setattr(Node, name, nothing)

"""`agentevol doctor`: diagnosis of this machine and its environments."""

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import typer

from agentevol.cli.console.output import AsJson, print_json, print_table

PACKAGES = ("agentevol", "torch", "transformers", "ray", "peft", "fastapi", "deltalake", "polars", "vllm")
TASKS = 8
"""Tasks of each environment that its expert plays."""
INSTALL = "pip install 'agentevol[train]'"
REMEDIES = {"vllm": "needed for engine=vllm only", "agentevol": "this is a checkout"}
LEAST_DISK_BYTES = 2 * 2**30


class Finding(NamedTuple):
    """Line of the diagnosis."""

    what: str
    state: str
    """`ok`, `note` (works, with a caveat) or `bad`."""
    detail: str


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(doctor)


def doctor(json: AsJson = False) -> None:
    """Check versions, hardware, data, ports and folders, and play a few tasks; exit code 1 if one is bad.

    Example: agentevol doctor
    """
    findings = list(examine())
    if json:
        print_json([finding._asdict() for finding in findings])
    else:
        print_table(("what", "state", "detail"), findings)
    if any(finding.state == "bad" for finding in findings):
        raise typer.Exit(1)


def examine() -> Iterator[Finding]:
    """All findings; an exception of a check is a bad finding."""
    looks: dict[str, Callable[[], Iterator[Finding]]] = {
        "versions": versions,
        "hardware": hardware,
        "folders": folders,
        "port": port,
        "data": data,
        "environments": environments,
    }
    for what, look in looks.items():
        try:
            yield from look()
        except Exception as cause:  # noqa: BLE001 - an exception is a finding
            yield Finding(what, "bad", f"{type(cause).__name__}: {' '.join(str(cause).split())[:200]}")


def versions() -> Iterator[Finding]:
    """Finding about Python and required packages; those of `run` must be installed, vLLM need not be."""
    yield Finding("python", "ok" if sys.version_info >= (3, 11) else "bad", platform.python_version())
    for name in PACKAGES:
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError:
            yield Finding(name, "note", f"not installed; {REMEDIES.get(name, INSTALL)}")


def hardware() -> Iterator[Finding]:
    """Processors, memory and accelerators."""
    yield Finding("processors", "ok", f"{_usable_cores()} cores, {platform.machine()}")
    if (memory := _memory_bytes()) is not None:
        yield Finding("memory", "ok" if memory > 2 * 2**30 else "note", f"{memory / 2**30:.1f} GiB")
    if find_spec("torch") is None:
        return
    import torch

    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    yield Finding("accelerator", "ok" if names else "note", ", ".join(names) or "none; the CPU is used")


def folders() -> Iterator[Finding]:
    """Finding that the data folder is writable, and that there is space for runs."""
    from agentgym_envs.home import data_home

    home = data_home()
    yield Finding("home folder", *_writable(home))
    free = shutil.disk_usage(Path.cwd()).free
    yield Finding("disk", "ok" if free > LEAST_DISK_BYTES else "note", f"{free / 2**30:.1f} GiB free here")


def port() -> Iterator[Finding]:
    """Finding that a server can listen on this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield Finding("port", "ok", f"127.0.0.1 can be listened on (tried {listener.getsockname()[1]})")


def data() -> Iterator[Finding]:
    """Finding that imported data equals its manifest."""
    from agentevol.cli.data import problems

    found = problems()
    for name, lines in found.items():
        yield Finding(f"data of {name}", "bad" if lines else "ok", lines[0] if lines else "as imported")
    if not found:
        yield Finding("data", "note", "none imported; the generated tasks need none")


def environments() -> Iterator[Finding]:
    """Finding that experts earn the maximum, and idle play the declared reward, on a few tasks per
    environment.
    """
    from agentgym_envs.registry import make, names

    for name in names():
        yield Finding(f"environment {name}", *_scores(make(name)))


def _scores(environment: Any) -> tuple[str, str]:
    """State and detail of an environment's scripted scores."""
    from agentgym_envs.episodes import Player, follow, idle
    from agentgym_envs.testing.subject import spaced

    player = Player()
    tasks = spaced(environment.tasks(environment.splits[-1]), TASKS)
    plans = [environment.expert(task) for task in tasks]
    returns = [
        player.play(environment, task, follow(plan), seed=0).total_reward
        for task, plan in zip(tasks, plans, strict=True)
        if plan is not None
    ]
    silent = [player.play(environment, task, idle, seed=0).total_reward for task in tasks]
    player.close()
    environment.close()
    best, allowed = environment.reward_range[1], environment.baselines["idle"][1]
    well = all(earned >= best - 1e-9 for earned in returns) and _mean(silent) <= allowed + 1e-9
    expert = f"expert {_mean(returns):g} on {len(returns)} tasks" if returns else "no expert"
    return "ok" if well else "bad", f"{expert}, silence {_mean(silent):g}"


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _writable(folder: Path) -> tuple[str, str]:
    present = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=present):
            return "ok", str(folder)
    except OSError as cause:
        return "bad", f"{folder}: {cause.strerror}; set AGENTEVOL_HOME to a folder that can be written"


def _usable_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # unknown on this system
        return None

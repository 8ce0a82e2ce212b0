"""Settings of all tests."""

import gc
import os
from collections.abc import Generator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from hypothesis import settings

from agentgym_envs import registry

# Matrices of tests are small. Where the machine has other work, another test worker for instance, two threads
# for each of them wait for one another: ten times as long, for eight times the processor time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A learner of a run has its own number of threads. One that waits for another gives its core away.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# How long an example takes says how busy the machine is, and nothing of what is tested.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")

# Programs that tests start import `support` too.
PATH = (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, PATH))


def identity(entry: EntryPoint) -> tuple[str, str, str]:
    return (str(entry.dist.locate_file("")) if entry.dist else "", entry.name, entry.value)


INSTALLED = frozenset(map(identity, entry_points(group=registry.ENTRY_POINT_GROUP)))


def added(**wanted: str) -> list[EntryPoint]:
    """Entry points that a test has put on the path itself."""
    return [entry for entry in entry_points(**wanted) if identity(entry) not in INSTALLED]


# Environments of other distributions that happen to be installed are not what is tested. They are hidden here
# and not by a fixture, since tests may be parametrised over the registry.
registry.entry_points = added


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collection without the garbage collector, which then leaves alone what was imported.

    Modules stay until the end: to look for garbage among them takes a quarter of the time of the imports.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


LONGEST = ("test_run", "test_any_environment", "test_cluster", "test_run_vllm", "test_vllm")
"""Files that take minutes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, so that no worker waits at the end while another plays one of them."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


MOST_WORKERS = 4
FEW_FILES = 30


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Number of test processes where `-n` names none: for many files one more than cores, as tests wait for
    the servers that they start; for few files none beside our own.

    A worker imports everything itself, which takes longer than a few files do.
    """
    files = sum(1 for argument in config.args for _ in Path(argument).rglob("test_*.py"))
    if files <= FEW_FILES or config.getoption("capture") == "no":
        return 0
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(MOST_WORKERS, cores + 1)

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.ray_workers import serving
from support.tiny_models import GUESS_RUN, write_guess_model

RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_health_check_period_ms": "1000",  # a node is dead after five that failed
}


@pytest.fixture(scope="session", autouse=True)
def ray_workers() -> Generator[None]:
    """Runs have their workers forked, on Linux: imports are paid once."""
    if not Path("/proc/self/ns").is_dir():
        yield
        return
    with (
        TemporaryDirectory(prefix="ray-workers-") as folder,
        serving(Path(folder)) as variables,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of a few thousand weights that can say the words of the guess world."""
    return write_guess_model(tmp_path_factory.mktemp("models") / "tiny", hidden=32)


@pytest.fixture(scope="session")
def command(tiny_model: Path) -> Callable[..., list[str]]:
    """The command line of a small run in the guess world, with further arguments."""

    def build(out: Path, *more: str) -> list[str]:
        settings = (
            f"base={tiny_model}",
            *GUESS_RUN,
            "explore.commit_every=16",
            "select.per_task=20",
        )
        return [sys.executable, "-m", "agentevol", "run", "--iters", "2", "--out", str(out), *settings, *more]

    return build


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory, command: Callable[..., list[str]]) -> Path:
    """A run that nothing disturbed. It is shared by all files: look, and copy it before going on with it."""
    folder = tmp_path_factory.mktemp("calm")
    arguments = command(folder / "run", "name=same", "learn.epochs=10", "learn.save_every=2")
    environment = {**os.environ, "AGENTEVOL_HOME": str(folder / "home")}
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    assert "success on test" in done.stdout
    return folder / "run"


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    """A cluster of one node."""
    for name, value in RAY.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    with TemporaryDirectory(prefix="ray-") as place:
        (Path(place) / "ray").mkdir()
        monkeypatch.setenv("RAY_TMPDIR", place)  # `ray start` notes there what others would join
        try:
            cluster.add_node(num_cpus=1, temp_dir=place)
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Imported data of this machine's user play no part."""
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Callable[[int], Path]]:
    """A file system of its own, and how to give it a size in KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("a full disk needs the right to mount a tmpfs")

    def resize(kib: int) -> Path:
        subprocess.run(["mount", "-o", f"remount,size={kib}k", str(place)], check=True)
        return place

    yield resize
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="session")
def endpoint() -> Generator[str]:
    """S3's protocol, as moto serves it in a process of its own."""
    if find_spec("moto") is None or find_spec("flask") is None:
        pytest.skip("an object store needs moto's server: pip install 'moto[s3]' flask flask-cors")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A URL below which nothing is yet."""
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "name",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{time.time_ns()}"
    made = urllib.request.Request(f"{endpoint}/{name}", method="PUT")
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(made, timeout=10).close()
        except OSError:  # it is still starting
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return f"s3://{name}"

"""compose.yaml: it is up to date, valid, and what it starts works.

No container engine is needed: every service's command is started as a process exactly as it stands there,
with the image's environment. What makes a container of it comes from one of two machines:

- `Loopback` needs no rights. Every service has a loopback address of its own; a shim in each process lets
  0.0.0.0 and 127.0.0.1 mean that address, and the names of services mean theirs.
- `Namespaces` needs root. Every service has a network of its own with a cable to the gateway, names by
  /etc/hosts, the service's user without capabilities, a read-only file system, and the tmpfs it asks for.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym_envs.registry import REGISTRY, lacking
from agentgym_server.gateway import compose

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "compose.yaml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]
SOURCES = os.pathsep.join(str(ROOT / folder) for folder in ("", "envs", "services", "trajectories"))


def test_the_file_is_what_the_command_writes():
    assert FILE.read_text(encoding="utf-8") == compose.text(), (
        "run: agentevol envs compose --output compose.yaml"
    )


def check_schema(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_file_is_valid_compose():
    done = check_schema(FILE)
    assert done.returncode == 0, done.stdout


def test_the_schema_notices_what_is_not(tmp_path: Path):
    (tmp_path / "compose.yaml").write_text(FILE.read_text().replace("cap_drop:", "cap_dropp:"))
    assert check_schema(tmp_path / "compose.yaml").returncode == 1


def test_there_is_a_gateway_and_a_service_for_each_environment():
    assert set(SERVICES) == {"envs", *REGISTRY}
    assert SERVICES["envs"]["depends_on"] == {name: {"condition": "service_healthy"} for name in REGISTRY}
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["envs"]
    assert interpolated(SERVICES["envs"]["ports"]) == ["127.0.0.1:8000:8000"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_may_do_no_more_than_it_must(name: str):
    service = SERVICES[name]
    assert service["user"] == "10001:10001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert re.fullmatch(r"\d+[mg]", interpolated(service["mem_limit"]))
    assert service["healthcheck"]["test"][0] == "CMD"
    assert all(volume.endswith(":ro") for volume in service.get("volumes", ()))
    assert "secret" not in json.dumps(service["environment"])
    assert set(service["environment"].values()) == {None}  # as where Compose runs; never in the file


def interpolated(value: Any) -> Any:
    """The value as Compose has it where nothing is set."""
    if isinstance(value, list):
        return [interpolated(item) for item in value]
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)


def image_environment() -> dict[str, str]:
    """What the Dockerfile sets, but for where its programs lie."""
    found = re.findall(r"^ENV (\w+)=(\S+)$", (ROOT / "docker" / "Dockerfile").read_text(), re.M)
    return {name: value for name, value in found if name != "PATH"}


SHIM = """
import json, os, socket
OWN, HOSTS = os.environ["SERVICE_ADDRESS"], json.loads(os.environ["SERVICE_HOSTS"])
def here(host): return OWN if host in ("0.0.0.0", "127.0.0.1") else host
def patched(method):
    def mapped(self, address):
        if not isinstance(address, tuple):
            return method(self, address)
        try:
            return method(self, (here(address[0]), *address[1:]))
        except ConnectionRefusedError:  # a program that is not Python, as Java, listens where it says
            return method(self, address)
    return mapped
for name in ("bind", "connect", "connect_ex"):
    setattr(socket.socket, name, patched(getattr(socket.socket, name)))
look_up = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: look_up(HOSTS.get(host, here(host)), *rest, **more)
"""


def programs(folder: Path) -> Path:
    """A folder with what an image has on its path: `python`, and `agentevol` as the wheel makes it."""
    folder.mkdir(parents=True)
    for name, words in (("python", ""), ("agentevol", "-m agentevol ")):
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words}"$@"\n')
        (folder / name).chmod(0o755)
    return folder


class Loopback:
    """Services side by side on loopback addresses."""

    def __init__(self, folder: Path) -> None:
        (folder / "shim").mkdir()
        (folder / "shim" / "sitecustomize.py").write_text(SHIM)
        self._bin = programs(folder / "bin")
        self._shim = folder / "shim"
        self._hosts = {name: f"127.77.0.{number}" for number, name in enumerate(SERVICES, 2)}

    def start(self, service: str, command: list[str]) -> "subprocess.Popen[str]":
        environment = {
            **image_environment(),
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "PYTHONPATH": f"{self._shim}{os.pathsep}{SOURCES}",
            "SERVICE_ADDRESS": self._hosts[service],
            "SERVICE_HOSTS": json.dumps(self._hosts),
        }
        return subprocess.Popen(command, env=environment, text=True, **PIPES)

    def close(self) -> None:
        pass


PIPES: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
CONTAIN = """
set -eu
mount --bind "$HOSTS_FILE" /etc/hosts
mount -t tmpfs tmpfs /mnt
for top in /tmp /root; do  # the programs may lie there, where the service's user may not look
    mkdir -p "/mnt$top" && mount --rbind "$top" "/mnt$top" && mount -t tmpfs tmpfs "$top"
    for path in $PROGRAMS; do
        case $path in "$top"/*) mkdir -p "$path" && mount --bind "/mnt$path" "$path";; esac
    done
    umount --lazy "/mnt$top"
done
umount /mnt
chmod 1777 /tmp
mount -o remount,bind,ro /
cd /
exec setpriv --reuid="${SERVICE_USER%:*}" --regid="${SERVICE_USER#*:}" --clear-groups --no-new-privs \\
    --inh-caps=-all --bounding-set=-all -- "$@"
"""


class Namespaces:
    """Services in namespaces of their own, as an engine would have them."""

    def __init__(self, folder: Path) -> None:
        self._bin = programs(folder / "bin")
        self._prefix = f"ae{os.getpid()}"
        self._hosts = folder / "hosts"
        self._hosts.write_text("127.0.0.1 localhost\n")
        for name in SERVICES:
            self._ip("netns", "add", self._space(name))
            self._ip("-n", self._space(name), "link", "set", "lo", "up")
        for number, name in enumerate((name for name in SERVICES if name != "envs"), 1):
            self._join(name, number)

    def start(self, service: str, command: list[str]) -> "subprocess.Popen[str]":
        environment = {
            **image_environment(),
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "PYTHONPATH": SOURCES,
            "HOSTS_FILE": str(self._hosts),
            "PROGRAMS": " ".join(map(str, (sys.prefix, sys.base_prefix, ROOT, self._bin))),
            "SERVICE_USER": SERVICES[service]["user"],
        }
        enter = ("ip", "netns", "exec", self._space(service), "unshare", "--mount", "sh", "-c", CONTAIN, "sh")
        return subprocess.Popen([*enter, *command], env=environment, text=True, **PIPES)

    def close(self) -> None:
        for name in SERVICES:
            subprocess.run(["ip", "netns", "delete", self._space(name)], capture_output=True, check=False)

    def _join(self, name: str, number: int) -> None:
        """A cable between this service and the gateway."""
        server, gateway, wire = self._space(name), self._space("envs"), f"wire{number}"
        cable = ("link", "add", wire, "netns", gateway, "type", "veth", "peer", "name", wire, "netns", server)
        self._ip(*cable)
        for space, end in ((gateway, 1), (server, 2)):
            self._ip("-n", space, "address", "add", f"10.77.{number}.{end}/24", "dev", wire)
            self._ip("-n", space, "link", "set", wire, "up")
        with self._hosts.open("a") as hosts:
            hosts.write(f"10.77.{number}.2 {name}\n")

    def _space(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    @staticmethod
    def _ip(*words: str) -> None:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"network namespaces are not to be had: ip {' '.join(words)}: {done.stderr.strip()}")


Machine = Loopback | Namespaces


@pytest.fixture(scope="module", params=[Loopback, Namespaces])
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    kind: Callable[[Path], Machine] = request.param
    if kind is Namespaces and os.geteuid() != 0:
        pytest.skip("namespaces need root")
    folder = tmp_path_factory.mktemp("machine")
    folder.chmod(0o755)
    made = kind(folder)
    try:
        trial = made.start("envs", ["agentevol", "envs", "list"])
        output = trial.communicate(timeout=60)[0]
        if trial.returncode and kind is Namespaces:
            pytest.skip(f"the service's user cannot run it here: {output.strip()[-200:]}")
        yield made
    finally:
        made.close()


class Running:
    """All services of the file, started in the order that it asks for."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def start(self, name: str) -> None:
        """A service, after those that must be healthy before it."""
        for before in SERVICES[name].get("depends_on", {}):
            self.start(before)
        for before in SERVICES[name].get("depends_on", {}):
            self.await_health(before)
        self.processes[name] = self.machine.start(name, interpolated(SERVICES[name]["command"]))

    def await_health(self, name: str) -> None:
        """Run the service's own check until it succeeds."""
        check = SERVICES[name]["healthcheck"]["test"][1:]
        end = time.monotonic() + 60
        while (code := self.run(name, check).returncode) and time.monotonic() < end:
            assert self.processes[name].poll() is None, self.processes[name].communicate()[0]
            time.sleep(0.2)
        assert code == 0, f"{name} does not become healthy"

    def run(self, name: str, command: list[str]) -> subprocess.CompletedProcess[str]:
        """A command inside of a service."""
        process = self.machine.start(name, command)
        output = process.communicate(timeout=60)[0]
        return subprocess.CompletedProcess(command, process.returncode, output)

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def running(machine: Machine) -> Iterator[Running]:
    if needs := list(filter(None, map(lacking, REGISTRY))):
        pytest.skip(f"all environments are served: {needs[0]}")
    made = Running(machine)
    try:
        made.start("envs")
        made.await_health("envs")
        yield made
    finally:
        made.stop()


VISIT = """
import asyncio, json
from agentgym_client import EnvClient

async def visit():
    async with EnvClient("http://127.0.0.1:8000") as client:
        seen = {}
        for env in sorted([info.env for info in await client.environments()]):
            task = (await client.tasks(env, limit=1)).tasks[0]
            session = await client.open(env, task.task_id, seed=0)
            await session.step("look")
            seen[env] = [session.turn, session.id[2:6]]
            await session.close()
        print(json.dumps({"seen": seen, "health": await client.health()}))

asyncio.run(visit())
"""


@pytest.mark.slow
def test_every_service_becomes_healthy_and_answers_through_the_gateway(running: Running):
    done = running.run("envs", ["python", "-c", VISIT])  # where its port is published
    assert done.returncode == 0, done.stdout
    told = json.loads(done.stdout)
    assert {env: turn for env, (turn, _) in told["seen"].items()} == dict.fromkeys(sorted(REGISTRY), 1)
    assert len({tag for _, tag in told["seen"].values()}) == len(REGISTRY)
    assert told["health"]["status"] == "healthy"
    assert told["health"]["created"] == len(REGISTRY)


@pytest.mark.slow
def test_the_check_of_a_service_fails_where_nothing_serves(running: Running):
    check = [word.replace(":8000", ":8009") for word in SERVICES["envs"]["healthcheck"]["test"][1:]]
    assert running.run("envs", check).returncode == 1


@pytest.mark.slow
def test_a_service_runs_as_its_user_and_cannot_write(running: Running):
    if isinstance(running.machine, Loopback):
        pytest.skip("needs namespaces")
    server = next(iter(REGISTRY))
    write = running.run(server, ["touch", "/var/lib/mine"])
    assert (write.returncode, write.stdout.strip().rpartition(": ")[2]) == (1, "Read-only file system")
    assert running.run(server, ["id", "-u"]).stdout.strip() == "10001"
    status = running.run(server, ["grep", "CapEff\\|CapBnd\\|NoNewPrivs", "/proc/self/status"])
    assert status.stdout.split() == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]


@pytest.mark.slow
def test_term_stops_every_service(running: Running):
    for process in running.processes.values():
        os.kill(process.pid, 15)
    assert [process.wait(20) for process in running.processes.values()] == [0] * len(SERVICES)

"""The playground when its processes are killed: no episode is rewarded, and no server is left over."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from support.playing import Person
from support.processes import MARK, processes
from support.readiness import ready_address

from agentgym_store.store import Store

pytestmark = pytest.mark.slow

WAIT_S = 120.0


@contextmanager
def pages(home: Path, mark: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`agentevol ui` on a folder, whose processes bear a mark, and its address."""
    command = [sys.executable, "-m", "agentevol", "ui", str(home), "--port", "0"]
    environment = {**os.environ, MARK: mark}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process, ready_address(process)
        finally:
            process.kill()


@pytest.fixture
def mark() -> str:
    return uuid4().hex


def servers(mark: str) -> list[int]:
    return processes("envs serve", mark=mark)


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_killed_environment_server_fails_the_episode_which_can_be_played_again(
    tmp_path: Path, mark: str
) -> None:
    with pages(tmp_path, mark) as (_, base):
        person = Person(base)
        assert "guess-5" in person.start("guess")
        assert "Make a guess." in person.begin(index="2", seed="7", max_turns="3", name="Ann")
        assert "Go higher than 4." in person.act(1, "4")
        (server,) = servers(mark)
        os.kill(server, signal.SIGKILL)
        person.act(2, "5")
        assert "No return after 1 turn: the environment's server was lost" in person.end
        assert "Nothing that you did caused this." in person.end
        again = person.form_of("Play it again from the start")
        assert "Your action in turn 1" in person.send("/play", **again)
        assert servers(mark) != [server]
        assert "Won after 1 turn" in person.act(1, "5")
    lost, won = sorted(Store.open(tmp_path / "human").trajectories(), key=lambda one: one.attempt)
    assert (lost.ending.kind, getattr(lost.ending, "failure", "")) == ("failed", "session-not-found")
    assert (lost.total_reward, [turn.action for turn in lost.turns]) == (None, ["4"])
    assert (won.total_reward, won.task_id, won.seed, won.policy) == (1.0, "guess-5", 7, "human:Ann")


def test_killed_pages_leave_no_server_and_no_worker(tmp_path: Path, mark: str) -> None:
    with pages(tmp_path, mark) as (process, base):
        person = Person(base)
        person.start("sqlgym")
        person.begin(index="0")
        person.start("guess")
        assert len(servers(mark)) == 2
        assert len(processes("multiprocessing", mark=mark)) > 0  # workers of the server of sqlgym
        process.kill()
        wait_until(lambda: not processes("", mark=mark))


def test_pages_killed_while_a_server_starts_leave_no_server(tmp_path: Path, mark: str) -> None:
    with pages(tmp_path, mark) as (process, base):
        person = Person(base)
        person.send_only("/play/environments", env="guess")
        wait_until(lambda: bool(servers(mark)))
        process.kill()
        wait_until(lambda: not processes("", mark=mark))


def test_stopped_pages_cancel_and_keep_what_is_played(tmp_path: Path, mark: str) -> None:
    with pages(tmp_path, mark) as (process, base):
        person = Person(base)
        person.start("guess")
        person.begin(index="2")
        person.act(1, "4")
        process.terminate()
        process.wait(WAIT_S)
        assert servers(mark) == []
    (episode,) = Store.open(tmp_path / "human").trajectories()
    assert (episode.ending.kind, episode.total_reward) == ("cancelled", None)
    assert [turn.action for turn in episode.turns] == ["4"]

"""ScienceWorld: its table of games without Java; with it, games by hand, limits, splits, machines."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from agentgym_envs.core import TaskNotFound, TaskUnplayable
from agentgym_envs.registry import EnvironmentUnavailable
from agentgym_envs.sciworld import games

pytest.importorskip("scienceworld", reason="the extra sciworld is not installed")

from py4j.java_gateway import JavaObject  # scienceworld requires it
from py4j.protocol import Py4JError

from agentgym_envs.sciworld import ScienceWorld, jvm

NO_JAVA = shutil.which("java") is None and "JAVA_HOME" not in os.environ
with_java = pytest.mark.skipif(NO_JAVA, reason="there is no Java, which the simulator needs")


def is_gone(pid: int) -> bool:
    """Whether a process ends in ten seconds."""
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.05)
    return False


def test_counts_of_tasks_variations_and_splits():
    assert len(games.TASKS) == 30
    assert sum(count for _, count in games.TASKS.values()) == 7207
    assert [len(games.games(split)) for split in games.SPLITS] == [3592, 1796, 1819]
    assert [len(games.variations("7-1", split)) for split in games.SPLITS] == [62, 31, 32]


def test_agentgym_counts_games_task_by_task_without_seven_of_them():
    found = games.agentgym_games()
    assert len(found) == 4639
    assert (found[0].task, found[0].variation) == ("1-1", 0)
    assert (found[100].name, found[100].variation) == ("change-the-state-of-matter-of", 10)
    assert {one.task for one in found} == set(games.TASKS) - games.NOT_IN_AGENTGYM


def test_without_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EnvironmentUnavailable, match=r"needs Java.*apt-get install default-jre-headless"):
        ScienceWorld()


def test_without_java_other_environments_and_the_list_of_all_work():
    program = (
        "from agentgym_envs.registry import REGISTRY, describe, make\n"
        "assert 'sciworld' in [one.name for one in describe()]\n"
        "for name in REGISTRY:\n"
        "    try: make(name)\n"
        "    except Exception as error: print(name, type(error).__name__)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["PATH"] = "/nonexistent"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "sciworld EnvironmentUnavailable" in done.stdout
    assert "textcraft" not in done.stdout


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"variant": "agentgim"}, "no variant 'agentgim'"),
        ({"simplification": "easy,flying"}, "no helper 'flying'"),
    ],
)
@with_java
def test_options_that_are_none(options: dict[str, str], reason: str):
    with pytest.raises(ValueError, match=reason):
        ScienceWorld(**options)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def world() -> Iterator[ScienceWorld]:
    made = ScienceWorld()
    yield made
    made.close()


@with_java
def test_a_game_by_its_gold_path(world: ScienceWorld):
    task = world.task("test/4-1/225")
    assert task.instruction.startswith("Your task is to find")
    first = world.reset(task, 0)
    assert first.text.startswith(f"{task.instruction}\n")
    assert "Here you see:" in first.text or "In it, you see:" in first.text
    plan = world.expert(task)
    assert plan is not None
    results = [world.step(action) for action in plan]
    assert results[-1].terminated
    assert sum(one.reward for one in results) == pytest.approx(1)
    assert results[-1].info["score"] == 100
    assert all(one.reward >= 0 for one in results)
    assert world.step("look around").reward == 0


@with_java
def test_a_forbidden_action_loses_what_was_earned(world: ScienceWorld):
    task = world.task("test/1-1/25")
    plan = world.expert(task)
    assert plan is not None
    world.reset(task, 0)
    earned = next(reward for action in plan if (reward := world.step(action).reward))
    assert 0 < earned < 0.5
    result = world.step("focus on agent")
    assert (result.terminated, result.info["score"], result.info["forbidden"]) == (True, -100, True)
    assert result.reward == pytest.approx(-earned)


@with_java
def test_a_question_with_numbers_is_passed_through(world: ScienceWorld):
    world.reset(world.task("train/1-1/3"), 0)
    asked = world.step("open door")
    lines = asked.observation.text.splitlines()
    assert lines[0].startswith("Ambiguous request: Please enter the number for the action you intended")
    assert lines[1].startswith("0:\topen door")
    assert world.step("0").observation.text == "The door is now open."
    assert world.step("sing").info["invalid_action"]


@with_java
def test_more_moves_than_the_limit_cut_the_game():
    world = ScienceWorld(limit=25)
    world.reset(world.task("train/1-1/3"), 0)
    results = [world.step("wait") for _ in range(3)]
    assert [one.truncated for one in results] == [False, False, True]
    assert [one.info["moves"] for one in results] == sorted(one.info["moves"] for one in results)
    assert results[-1].info["moves"] > 25
    world.close()


@with_java
def test_helpers_are_a_part_of_ids(world: ScienceWorld):
    easy = ScienceWorld(simplification="easy")
    (task,) = islice(easy.tasks("test", "3-1"), 1)
    assert task.id == "test/3-1/15+easy"
    assert easy.task(task.id) == task
    for env, name in (
        (world, task.id),
        (easy, "test/3-1/15"),
        (world, "train/3-1/15"),
        (world, "test/3-9/1"),
    ):
        with pytest.raises(TaskNotFound):
            env.task(name)
    easy.reset(task, 0)
    assert easy.step("teleport to kitchen").observation.text == "You teleport to the kitchen."
    easy.close()


@with_java
def test_valid_actions_are_listed_on_request():
    world = ScienceWorld(valid=True)
    first = world.reset(world.task("train/1-1/3"), 0)
    assert first.actions is not None
    assert "look around" in first.actions
    assert "invalid_action" not in world.step(first.actions[0]).info
    world.close()


@with_java
def test_agentgyms_variant_tells_goals_and_possible_actions():
    world = ScienceWorld(variant="agentgym")
    assert len(world.tasks("agentgym")) == 4639
    task = world.task("agentgym/100")
    world.reset(task, 0)
    info = world.step("open door").info
    assert info["goals"].startswith("Completed keys:")
    assert "focus on OBJ" in info["possible_actions"]
    assert "air" in info["possible_objects"]
    world.close()


@with_java
def test_a_fresh_machine_repeats_every_word():
    world = ScienceWorld(fresh=True)
    assert world.deterministic
    task = world.task("test/1-1/25")
    actions = ["look around", "open door to outside", "go to outside", "wait", "look around", "inventory"]
    plays = list[list[str]]()
    pids = set[int | None]()
    for _ in range(2):
        first = world.reset(task, 0).text
        pids.add(world._jvm.pid)  # pyright: ignore[reportOptionalMemberAccess]
        plays.append([first, *(world.step(one).observation.text for one in actions)])
    assert plays[0] == plays[1]
    assert len(pids) == 2
    world.close()


@with_java
def test_splits_are_those_of_the_package():
    simulator = jvm.shared().simulator()
    for task, (name, count) in games.TASKS.items():
        simulator.load(name, 0, "")
        own = {split: list(games.variations(task, split)) for split in games.SPLITS}
        interface = simulator._interface
        assert interface.getTaskMaxVariations(name) == count
        assert own == {
            "train": list(interface.getVariationsTrain()),
            "valid": list(interface.getVariationsDev()),
            "test": list(interface.getVariationsTest()),
        }
    simulator.close()


@with_java
def test_a_machine_that_is_killed_fails_its_games_and_the_next_one_starts_anew(world: ScienceWorld):
    task = world.task("train/1-1/3")
    world.reset(task, 0)
    pid = jvm.shared().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(jvm.MachineLostError):
        world.step("look around")
    assert world.reset(task, 0).text.startswith(task.instruction)
    assert jvm.shared().pid != pid


@with_java
def test_a_machine_has_room_for_so_many_games():
    machine = jvm.Jvm(jvm.SMALL_HEAP_MB, most=2)
    held = [machine.simulator() for _ in range(2)]
    with pytest.raises(TaskUnplayable, match="2 games of sciworld are played in this process"):
        machine.simulator()
    held[0].close()
    held[0].close()
    again = machine.simulator()
    again.load("boil", 0, "")
    assert again.text("getTaskDescription").startswith("Your task is to boil")
    machine.close()


@with_java
def test_an_idle_machine_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jvm, "IDLE_S", 0.05)
    machine = jvm.Jvm(jvm.SMALL_HEAP_MB)
    simulator = machine.simulator()
    pid = machine.pid
    assert pid is not None
    simulator.close()
    assert is_gone(pid)
    assert machine.pid is None


@with_java
def test_a_list_is_let_go_and_garbage_collection_does_not_call_the_machine(
    caplog: pytest.LogCaptureFixture,
):
    machine = jvm.Jvm(jvm.SMALL_HEAP_MB)
    simulator = machine.simulator()
    simulator.load("boil", 0, "")
    held = simulator._interface.getPossibleActions()
    assert simulator.texts("getPossibleActions")[0] == held[0]
    following = simulator._interface.getPossibleActions()
    first, last = (int(one._target_id.removeprefix("o")) for one in (held, following))
    client = simulator._gateway._gateway_client
    alive = [is_alive(JavaObject(f"o{number}", client)) for number in range(first, last + 1)]
    assert alive == [True, False, True]
    simulator.close()
    machine.close()
    del simulator, machine, held, following
    gc.collect()
    assert not [one for one in caplog.records if one.name.startswith("py4j")]


def is_alive(held: JavaObject) -> bool:
    """Whether a machine has this object."""
    try:
        held.toString()
    except Py4JError:
        return False
    return True


@with_java
def test_no_machine_outlives_its_process():
    program = (
        "from agentgym_envs.sciworld import ScienceWorld, jvm\n"
        "world = ScienceWorld(); world.reset(world.task('train/1-1/3'), 0); print(jvm.shared().pid)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    pid = int(done.stdout)
    assert is_gone(pid)

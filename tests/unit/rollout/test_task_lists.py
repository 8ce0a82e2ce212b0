"""Tasks are asked of a server that may be away for a moment, or with its node for good."""

import inspect
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from agentevol.config.run import load
from agentevol.core.errors import RunStopped, TransportFault
from agentevol.core.splits import Choice, spread
from agentevol.loop.stages import data_mixture
from agentevol.loop.state import episodes
from agentevol.loop.state.episodes import Episodes
from agentevol.rollout.tasks import EnvTask
from agentgym_store.purposes import Purpose

TASK = EnvTask("guess-1", "train", "", "", "Guess.")


class Impatient(Event):
    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


class Nodes:
    """Says that a node is lost when it has been asked so often."""

    def __init__(self, lost_at: int | None = None) -> None:
        self.lost_at, self.looks = lost_at, 0

    def look(self) -> None:
        self.looks += 1
        if self.looks == self.lost_at:
            raise RunStopped("node b was lost")


def asked(
    monkeypatch: pytest.MonkeyPatch, nodes: Nodes, failures: int, *settings: str, given_up: bool = False
) -> list[EnvTask]:
    answers = iter([*["fails"] * failures, "answers"])

    def list_tasks(*_: Any) -> list[EnvTask]:
        if next(answers) == "fails":
            raise TransportFault("refused")
        return [TASK]

    monkeypatch.setattr(episodes, "list_tasks", list_tasks)
    folder, stop = SimpleNamespace(config=load(None, ["env=guess", *settings])), Impatient()
    if given_up:
        stop.set()
    whole = Episodes(cast(Any, folder), cast(Any, nodes), "http://a", cast(Any, None), cast(Any, None), stop)
    return whole.tasks("train", None, lambda total: list(range(total)))


def test_a_server_that_is_started_again_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    nodes = Nodes()
    assert asked(monkeypatch, nodes, 3) == [TASK]
    assert nodes.looks == 3


def test_one_whose_node_is_lost_ends_the_run(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(RunStopped, match="node b was lost"):
        asked(monkeypatch, Nodes(lost_at=2), 5)


def test_nobody_waits_for_ever_nor_for_what_is_given_up_nor_for_a_server_of_others(
    monkeypatch: pytest.MonkeyPatch,
):
    with pytest.raises(TransportFault):
        asked(monkeypatch, Nodes(), 1, given_up=True)
    with pytest.raises(TransportFault):
        asked(monkeypatch, Nodes(), 1, "environment.url=http://127.0.0.1:9")
    monkeypatch.setattr(episodes, "AWAY_S", 0.0)
    with pytest.raises(TransportFault):
        asked(monkeypatch, Nodes(), 1)


def test_held_out_tasks_are_explored_by_no_run_and_keep_the_name_of_their_part(
    monkeypatch: pytest.MonkeyPatch,
):
    def list_tasks(_: str, __: str, split: str, ___: None, choose: Choice) -> list[EnvTask]:
        return [TASK._replace(task_id=f"{split}-{position}", split=split) for position in choose(20)]

    monkeypatch.setattr(episodes, "list_tasks", list_tasks)
    config = load(None, ["env=guess", "evaluate.validation_split=train:valid"])
    whole = Episodes(cast(Any, SimpleNamespace(config=config)), *[cast(Any, None)] * 4)
    explored = {task.task_id for task in whole.tasks("train", None, spread(None))}
    validated = whole.tasks("train:valid", None, spread(None))
    assert {(task.task_id, task.split) for task in validated} == {
        ("train-0", "train:valid"),
        ("train-11", "train:valid"),
    }
    assert explored == {f"train-{number}" for number in range(20)} - {"train-0", "train-11"}
    assert len(whole.tasks("train", None, spread(None), env="chess")) == 20, "parts are the run's own"


class Overlapping:
    """A table that notices two appends at a time."""

    def __init__(self) -> None:
        self.under_way, self.most, self.appended = 0, 0, 0

    def append(self, batch: list[Any], commit: dict[str, str]) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        time.sleep(0.01)
        self.under_way -= 1
        self.appended += len(batch)


def test_batches_of_all_purposes_are_appended_one_at_a_time():
    table, one = Overlapping(), SimpleNamespace(id="a")
    folder = SimpleNamespace(config=load(None, ["env=guess"]), store=table)
    whole = Episodes(cast(Any, folder), cast(Any, None), "", cast(Any, None), cast(Any, None))
    purposes: list[Purpose] = ["explore", "demonstrate", "retain", "evaluate"]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda purpose: whole.append(cast(Any, [one]), 0, purpose), purposes))
    assert (table.most, table.appended) == (1, 4)


@pytest.mark.parametrize("source", [data_mixture, episodes])
def test_nothing_else_of_the_loop_appends_to_the_table(source: ModuleType):
    """All but one call would go past the lock."""
    calls = inspect.getsource(source).count("store.append(")
    assert calls == (1 if source is episodes else 0)

"""What is done when a learner dies: with learners that do as they are told."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentevol.cluster.pools.learner_group import Learners
from agentevol.cluster.processes.interface import ProcessLost
from agentevol.cluster.processes.membership import Members
from agentevol.cluster.processes.nodes import Node, Place
from agentevol.cluster.workers.learner import report_of
from agentevol.config.run import load
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, LearnReport
from agentevol.models.checkpoints import LINEAGE, Lineage
from agentevol.rollout.faults import FaultLog

LOST, BROKEN = ProcessLost("SIGKILL"), RunStopped("rank 0 heard nothing of rank 1")
NODE, OTHER = Node("here", "10.0.0.1"), Node("there", "10.0.0.2")


class Method(NamedTuple):
    remote: Any


class Reply:
    """`value` is an exception to raise, or what is replied, once it has been waited for `patience` times."""

    def __init__(self, value: Any, patience: int = 0) -> None:
        self.value, self.patience = value, patience


class Learner:
    """Takes these steps while it is waited for, then ends like `end`."""

    def __init__(self, steps: Sequence[int], end: Any) -> None:
        self._steps, self._end = list(steps), end
        self.meeting_point = Method(lambda: Reply(("host", 1)))
        self.learn = Method(lambda *_, **__: Reply(self._end, patience=len(self._steps)))
        self.progress = Method(self._progress)
        self.send = Method(lambda meeting, *_: Reply(("sent", meeting and meeting.value)))
        self.perplexity = Method(lambda *_: Reply(self._end))

    def _progress(self) -> Reply:
        return Reply((self._steps.pop(0) if self._steps else 0, 9, 0.5))


class Processes:
    """Starts these learners, one after another; at most `at_once` replies are seen at the same time."""

    def __init__(self, *learners: Learner, nodes: Sequence[Node] = (NODE,), at_once: int = 1) -> None:
        self._learners, self._nodes, self._at_once = list(learners), nodes, at_once
        self.killed: list[Learner] = []
        self.places: list[list[Place]] = []

    def alive(self) -> list[Node]:
        return list(self._nodes)

    def learners(self, places: Sequence[Place]) -> list[Any]:
        self.places.append(list(places))
        return [self._learners.pop(0) for _ in places]

    def kill(self, process: Any) -> None:
        self.killed.append(process)

    def wait(self, replies: Sequence[Reply], timeout_s: float) -> list[Any]:
        done = [reply for reply in replies if reply.patience <= 0]
        for reply in replies:
            reply.patience -= 1
        return done[: self._at_once]

    def results(self, replies: Sequence[Reply], timeout_s: float | None = None) -> list[Any]:
        for reply in replies:
            if isinstance(reply.value, Exception):
                raise reply.value
        return [reply.value for reply in replies]


def learners(processes: Any, *settings: str) -> tuple[Learners, FaultLog, list[str]]:
    told: list[str] = []
    faults = FaultLog(told.append)
    members = Members(processes, faults, (), named=False)
    made = Learners(load(None, list(settings)), processes, members, faults)
    made.start(gpus=0)
    return made, faults, told


def learnt(made: Learners, progress: Any, written: Any) -> Any:
    """Report of a training; no process of this module reads the job."""
    return made.learn(load(None, []), None, progress, written)


def nothing() -> None:
    """No learner has written a checkpoint and died."""


def test_a_learner_that_had_finished_before_it_died_is_believed(tmp_path: Path):
    out = tmp_path / "0001"
    out.mkdir()
    (out / LINEAGE).write_text(
        Lineage(version=1, metrics={"loss_last": 0.5, "reward": None}).model_dump_json()
    )
    (tmp_path / ".0001.state").write_text("saved")
    processes = Processes(Learner([1], LOST))
    made, faults, _ = learners(processes)
    report = learnt(made, lambda *_: None, lambda: report_of(out, 1))
    assert report == LearnReport(Checkpoint(out, 1), {"loss_last": 0.5})
    assert faults.take().lost_learners == 1
    assert [file.name for file in tmp_path.iterdir()] == ["0001"]


@pytest.mark.parametrize(
    ("transfer", "senders"),
    [("gloo", [("sent", None)]), ("ipc", [("sent", ("host", 1))] * 2)],
)
def test_who_sends_weights(transfer: str, senders: list[object]):
    settings = ("engine=vllm", f"engine.transfer={transfer}", "engine.workers=2", "engine.colocated=true")
    made, *_ = learners(Processes(Learner([], None), Learner([], None)), *settings, "learn.shards=2")
    replies = made.send(Checkpoint(Path("new"), 1), receivers=None)  # type: ignore[arg-type]
    assert [reply.value for reply in replies] == senders  # where they are several, they meet first


def test_one_that_was_cut_off_may_finish_while_its_replacement_is_at_it():
    processes = Processes(Learner([1], LOST), Learner([1], BROKEN))  # for example: that exists already
    made, *_ = learners(processes)
    found = iter([None, "report", "report"])
    assert learnt(made, lambda *_: None, lambda: next(found)) == "report"


def test_learning_begins_again_and_costs_the_work_that_is_repeated():
    processes = Processes(Learner([1, 2, 3], LOST), Learner([1, 2, 3, 4], "report"))
    made, faults, told = learners(processes)
    seen: list[int] = []
    assert learnt(made, lambda step, *_: seen.append(step), nothing) == "report"
    assert seen[:7] == [1, 2, 3, 0, 1, 2, 3]  # the loss is heard after one look more
    noted = faults.take()
    assert noted.lost_learners == 1
    assert noted.learners_s > 0.1
    assert told[0] == "the learner was lost at step 3, and is replaced"
    assert told[1].startswith("the learner has reached the same step again, after 0.")
    assert len(processes.killed) == 1


def test_a_learner_that_dies_at_the_same_step_every_time_stops_the_run():
    processes = Processes(*(Learner([1, 2, 3], LOST) for _ in range(4)))
    made, *_ = learners(processes, "ray.max_replacements=2")
    with pytest.raises(RunStopped, match=r"the learner was lost 3 times without progress"):
        learnt(made, lambda *_: None, nothing)


def test_a_learner_that_comes_further_every_time_goes_on():
    lost = (Learner(range(1, 2 + number), LOST) for number in range(5))
    made, faults, _ = learners(Processes(*lost, Learner([6], "report")), "ray.max_replacements=1")
    assert learnt(made, lambda *_: None, nothing) == "report"
    assert faults.take().lost_learners == 5


@pytest.mark.parametrize("at_once", [1, 2])
def test_where_one_of_several_dies_the_complaints_of_the_others_are_no_reason_to_stop(at_once: int):
    processes = Processes(
        *(Learner([1], BROKEN), Learner([1], LOST), Learner([1], "report"), Learner([1], "report of rank 1")),
        at_once=at_once,
    )
    made, faults, _ = learners(processes, "learn.shards=2")
    assert learnt(made, lambda *_: None, nothing) == "report"
    assert faults.take().lost_learners == 1
    assert len(processes.killed) == 2


def test_what_breaks_without_a_loss_stops_the_run_with_its_reason():
    made, faults, _ = learners(Processes(Learner([1], BROKEN)))
    with pytest.raises(RunStopped, match="rank 0 heard nothing"):
        learnt(made, lambda *_: None, nothing)
    assert faults.take().lost_learners == 0


def test_a_question_is_asked_again():
    made, faults, _ = learners(Processes(Learner([], LOST), Learner([], 3.5)))
    assert made.ask("perplexity", "sequences") == 3.5
    noted = faults.take()
    assert noted.lost_learners == 1
    assert noted.learners_s > 0


def colocated(gpus: list[Place], count: int) -> tuple[Learners, Processes]:
    """Two that share these GPUs with others."""
    processes = Processes(*(Learner([], "answer") for _ in range(count)), nodes=(NODE, OTHER))
    members = Members(processes, FaultLog(), (), named=True)  # type: ignore[arg-type]
    settings = ["learn.shards=2", "engine=vllm", "engine.colocated=true"]
    made = Learners(load(None, settings), processes, members, FaultLog())  # type: ignore[arg-type]
    made.start(0, lambda: gpus)
    return made, processes


def test_learners_that_share_gpus_are_where_these_are():
    gpus = [Place(NODE, shared="3"), Place(OTHER, shared="0"), Place(OTHER, shared="1")]
    made, processes = colocated(gpus, count=4)
    assert processes.places == [gpus[:2]]
    made.ask("perplexity", "sequences")
    assert len(processes.places) == 1
    gpus[0] = Place(OTHER, shared="2")
    assert made.ask("perplexity", "sequences") == "answer"
    assert processes.places[1:] == [gpus[:2]]
    assert len(processes.killed) == 2


def test_learners_that_share_gpus_need_one_each():
    with pytest.raises(RunStopped, match="rollout workers hold 1 GPUs for 2 learners, which need one each"):
        colocated([Place(NODE, shared="0")], count=2)


def test_without_room_a_run_stops_with_what_is_missing():
    members = Members(Processes(nodes=()), FaultLog(), (), named=False)  # type: ignore[arg-type]
    made = Learners(load(None, []), Processes(), members, FaultLog())  # type: ignore[arg-type]
    with pytest.raises(RunStopped, match="no room for 1 learners with a GPU each"):
        made.start(gpus=1)

"""What is done when rollout workers die, hang or do not start: with processes that do as they are told."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any, NamedTuple

import pytest
from support.runs import episode_request

from agentevol.cluster.pools.dispatch import Attempt, Dispatch, Played, Replica, stalled
from agentevol.cluster.pools.rollout_pool import Fleet
from agentevol.cluster.processes.interface import ProcessLost
from agentevol.cluster.processes.membership import Members
from agentevol.cluster.processes.nodes import Facts, Node, Place
from agentevol.config.run import RunConfig, load
from agentevol.core.errors import ConfigError, PolicyFault, RunStopped, TransferFailed
from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.faults import FaultLog
from agentevol.rollout.seats import failed_episode
from agentgym_store.records import Terminated, Trajectory

HERE = Node("here", "10.0.0.1")
SAMPLING = Sampling(temperature=1.0, max_new_tokens=1)
OLD, NEW = Checkpoint(Path("old"), 0), Checkpoint(Path("new"), 1)


class Reply(NamedTuple):
    """`value` None never comes; an exception is raised."""

    value: Any
    number: int


class Method(NamedTuple):
    remote: Any


class Worker:
    """`does` is what becomes of each call, the last of it for ever: plays, dies, hangs, breaks."""

    def __init__(self, numbers: list[int], checkpoint: Checkpoint, ready: str, does: Sequence[str]) -> None:
        self.checkpoints, self._numbers, self._does = [checkpoint], numbers, list(does)
        self.asked = list[str]()
        self.ready = Method(lambda: self._reply(ready, (str(2 * len(numbers)), "7")))
        self.play = Method(self._play)
        self.update = Method(self._update)
        self.receive = Method(self._update)
        self.sleep = Method(self._sleep)
        self.slept = 0

    def _play(self, request: EpisodeRequest, sampling: Sampling) -> Reply:
        assert sampling == SAMPLING
        self.asked.append(request.id)
        does = self._does.pop(0) if len(self._does) > 1 else self._does[0]
        broken = failed_episode(request, "", "transport", "")
        whole = tuple(one.model_copy(update={"ending": Terminated()}) for one in broken)
        return self._reply(does, broken if does == "breaks" else whole)

    def _update(self, checkpoint: Checkpoint) -> Reply:
        self.checkpoints.append(checkpoint)
        return self._reply(self._does[0], True)

    def _sleep(self) -> Reply:
        self.slept += 1
        return self._reply(self._does[0], True)

    def _reply(self, does: str, value: Any) -> Reply:
        self._numbers.append(1)
        values = {"dies": ProcessLost("SIGKILL"), "hangs": None}
        return Reply(values.get(does, value), len(self._numbers))


class Processes:
    """Starts workers that do as `script` says, in the order of their starts; later ones just play."""

    def __init__(self, *script: Sequence[str], ready: dict[int, str] | None = None) -> None:
        self._script, self._ready, self._numbers = script, ready or {}, list[int]()
        self.started: list[Worker] = []
        self.killed: list[Worker] = []
        self.left: list[str] = []

    def alive(self) -> list[Node]:
        return [HERE]

    def facts(self, nodes: Any, packages: Any, token: Any, url: str) -> list[Facts | str]:
        raise AssertionError

    def rollout(self, name: str, node: Node, gpus: int, url: str, checkpoint: Checkpoint) -> Any:
        number = len(self.started)
        does = self._script[number] if number < len(self._script) else ["plays"]
        self.started.append(Worker(self._numbers, checkpoint, self._ready.get(number, "plays"), does))
        return self.started[-1]

    def leave(self, name: str) -> None:
        self.left.append(name)

    def learners(self, places: Sequence[Place]) -> list[Any]:
        raise AssertionError

    def kill(self, process: Any) -> None:
        self.killed.append(process)

    def wait(self, replies: Sequence[Any], timeout_s: float) -> list[Any]:
        return [reply for reply in replies if reply.value is not None]

    def results(self, replies: Sequence[Any], timeout_s: float | None = None) -> list[Any]:
        for reply in replies:
            if isinstance(reply.value, Exception):
                raise reply.value
            if reply.value is None:
                raise RunStopped("too late")
        return [reply.value for reply in replies]


def config(*settings: str) -> RunConfig:
    return load(None, ["engine.workers=2", "engine.slots=2", "explore.retries=3", *settings])


def fleet(processes: Processes, *settings: str) -> tuple[Fleet, FaultLog, list[str]]:
    told: list[str] = []
    faults = FaultLog(told.append)
    members = Members(processes, faults, (), named=False)
    made = Fleet(config(*settings), processes, members, faults)
    made.start(OLD, "http://world", gpus=0)
    return made, faults, told


def request(number: int) -> EpisodeRequest:
    return episode_request(id=f"e{number}", seed=number)


def play(made: Fleet, count: int = 8) -> tuple[Counter[str], list[Trajectory], Played]:
    """How often each episode ended, the episodes, and what is told besides."""
    played = Played()
    found = list(made.play([request(number) for number in range(count)], SAMPLING, played))
    return Counter(one.id for one in found), found, played


def once(count: int = 8) -> Counter[str]:
    return Counter(f"e{number}" for number in range(count))


def test_the_episodes_of_a_worker_that_dies_are_played_again_and_each_ends_once():
    processes = Processes(["plays", "dies"])
    made, faults, told = fleet(processes)
    ended, found, played = play(made)
    assert ended == once()
    assert {one.ending.kind for one in found} == {"terminated"}
    noted = faults.take()
    assert noted.lost_workers == 1
    assert played.replayed == noted.replayed > 0
    assert noted.workers_s > 0
    assert len(processes.started) == 3
    assert processes.killed == [processes.started[0]]  # it may live, cut off
    assert told[0] == "rollout worker 0 was lost, and is replaced"
    assert told[1].startswith("rollout worker 0 plays, 0.")


def test_the_others_go_on_while_a_replacement_starts():
    processes = Processes(["dies"], ["plays"], ready={2: "hangs"})
    made, _, _ = fleet(processes)
    ended, *_ = play(made)
    assert ended == once()  # the third never started


def test_an_episode_that_takes_worker_after_worker_with_it_is_given_up_and_counted():
    processes = Processes(*[["dies"]] * 9)
    made, _, _ = fleet(processes, "explore.retries=1", "engine.slots=1", "ray.max_replacements=9")
    ended, found, played = play(made, 2)
    assert ended == once(2)
    assert {one.ending.kind for one in found} == {"failed"}
    assert played.replayed == 2


def test_a_worker_that_finishes_nothing_while_another_does_is_replaced():
    processes = Processes(["hangs"])
    made, faults, told = fleet(processes, "engine.stall_s=0.05")
    ended, found, _ = play(made)
    assert ended == once()
    assert {one.ending.kind for one in found} == {"terminated"}
    noted = faults.take()
    assert (noted.stalled, noted.lost_workers, noted.replayed) == (1, 0, 2)  # both of its slots
    assert processes.killed == [processes.started[0]]
    assert told[0].startswith("rollout worker 0 finished no episode for ")


def test_nobody_is_stalled_where_all_are_silent_alike():
    batch = Dispatch([], lambda process, request: None, 0, Played(), FaultLog())
    one, other = Replica(0), Replica(1)
    for number, replica in enumerate((one, other)):
        replica.give(f"reply {number}", Attempt(batch, request(number)), now=100.0)
    assert stalled([one, other], now=1000.0, bound_s=60.0) == []
    other.end("reply 1", now=130.0)
    assert stalled([one, other], now=150.0, bound_s=60.0) == []
    assert stalled([one, other], now=161.0, bound_s=60.0) == [one]


def test_threads_have_their_batches_played_beside_each_other_and_each_gets_its_own():
    made, _, _ = fleet(Processes(["plays", "dies"], ["plays", "plays", "breaks", "plays"]))
    found: dict[int, list[str]] = {}

    def thread(first: int) -> None:
        batch = made.play([request(number) for number in range(first, first + 300)], SAMPLING, Played())
        found[first] = [one.id for one in batch]

    threads = [Thread(target=thread, args=(first,)) for first in (0, 300, 600)]
    for one in threads:
        one.start()
    made.update(NEW)  # of a fourth thread, whose turn comes among theirs
    for one in threads:
        one.join(60)
    assert {first: sorted(ids) for first, ids in found.items()} == {
        first: sorted(f"e{number}" for number in range(first, first + 300)) for first in (0, 300, 600)
    }


@pytest.mark.parametrize(("settings", "each"), [((), 3), (("engine.episodes=5",), 5)])
def test_workers_are_given_as_many_episodes_as_may_be_in_flight(settings: tuple[str, ...], each: int):
    processes = Processes(["hangs"], ["hangs"])
    made, _, _ = fleet(processes, "engine=vllm", "engine.slots=3", *settings)
    given_up = Event()
    batch = made.play([request(number) for number in range(11)], SAMPLING, Played(), given_up)
    Timer(0.2, given_up.set).start()
    assert list(batch) == []
    assert [len(worker.asked) for worker in processes.started] == [each, each]


def test_the_batch_of_the_lowest_priority_is_handed_out_first():
    processes = Processes()
    made, _, _ = fleet(processes, "engine.workers=1", "engine.slots=2", "engine.stall_s=600")
    later = made.play([request(number) for number in range(20)], SAMPLING, Played(), None, 2)
    next(later)
    before = len(processes.started[0].asked)
    sooner = made.play([request(number) for number in range(20, 30)], SAMPLING, Played(), None, 1)
    assert len(list(sooner)) == 10
    asked = processes.started[0].asked[before:]
    assert asked[:10] == [f"e{number}" for number in range(20, 30)]
    assert len([*later]) == 19
    assert Counter(processes.started[0].asked) == once(30)


def test_a_batch_that_is_given_up_yields_no_more():
    given_up = Event()
    made, _, _ = fleet(Processes())
    batch = made.play([request(number) for number in range(50)], SAMPLING, Played(), given_up)
    next(batch)
    given_up.set()
    assert len(list(batch)) < 49
    assert len(play(made)[1]) == 8  # others go on


def test_a_worker_that_dies_again_and_again_without_an_episode_stops_the_run():
    made, _, _ = fleet(Processes(["plays"], *[["dies"]] * 9), "ray.max_replacements=2", "explore.retries=9")
    with pytest.raises(RunStopped, match=r"rollout worker 1 was lost 3 times without finishing an episode"):
        play(made, 400)


def test_one_that_finishes_an_episode_in_between_may_die_as_often_as_it_likes():
    script = [["plays"], *[["plays", "dies"]] * 9]
    made, faults, _ = fleet(
        Processes(*script), "ray.max_replacements=1", "explore.retries=9", "engine.slots=1"
    )
    ended, *_ = play(made, 60)
    assert ended == once(60)
    assert faults.take().lost_workers == 9


def test_broken_episodes_are_played_again_up_to_the_retries():
    made, faults, _ = fleet(Processes(["breaks"], ["breaks"]), "explore.retries=2")
    _, found, played = play(made, 3)
    assert [one.ending.kind for one in found] == ["failed"] * 3
    assert played.replayed == 6
    assert faults.take().figures() == {"replayed": 6}


def test_new_weights_reach_every_worker_and_one_that_dies_of_them_is_replaced_with_them():
    processes = Processes(["plays"], ["dies"])
    made, faults, _ = fleet(processes)
    made.update(NEW)
    assert processes.started[0].checkpoints == [OLD, NEW]
    assert processes.started[2].checkpoints == [NEW]
    assert faults.take().lost_workers == 1


def test_a_worker_that_still_starts_begins_again_with_the_new_weights():
    processes = Processes(["dies"], ["plays"], ready={2: "hangs"})
    made, faults, _ = fleet(processes)
    play(made)
    made.update(NEW)
    assert processes.started[3].checkpoints == [NEW]
    assert faults.take().lost_workers == 1  # this was not another loss


def test_a_worker_that_keeps_the_old_weights_for_too_long_is_replaced():
    processes = Processes(["plays"], ["hangs"])
    made, faults, _ = fleet(processes, "engine.stall_s=0.05")
    made.update(NEW)
    assert processes.started[2].checkpoints == [NEW]
    assert faults.take().stalled == 1


def sent(*replies: Any) -> tuple[Any, list[Sequence[Worker]]]:
    """A learner that answers so, and to whom it sent."""
    to: list[Sequence[Worker]] = []

    def send(_: Checkpoint, workers: Sequence[Worker]) -> list[Any]:
        to.append(list(workers))
        return [Reply(value, -number) for number, value in enumerate(replies, 1)]

    return send, to


def test_weights_that_are_sent_reach_every_worker():
    processes = Processes()
    made, faults, _ = fleet(processes)
    send, to = sent(True)
    assert made.update(NEW, send)
    assert to == [processes.started]
    assert [worker.checkpoints for worker in processes.started] == [[OLD, NEW], [OLD, NEW]]
    assert faults.take().lost_workers == 0


@pytest.mark.parametrize(
    ("does", "reply"),
    [
        ("dies", True),
        ("plays", ProcessLost("the learner died")),
        ("plays", TransferFailed("nccl: 3")),
        ("plays", PolicyFault("over")),
    ],
)
def test_workers_that_weights_do_not_reach_begin_anew_with_them(does: str, reply: Any):
    processes = Processes(["plays"], [does])
    made, faults, told = fleet(processes)
    assert not made.update(NEW, sent(reply)[0])
    assert processes.killed == processes.started[:2]  # whatever part of the weights they hold
    assert [worker.checkpoints for worker in processes.started[2:]] == [[NEW], [NEW]]
    assert faults.take().lost_workers == 2
    assert "did not receive the new weights (" in told[0]
    assert play(made)[0] == once()


def test_workers_that_wait_for_weights_for_too_long_begin_anew_with_them():
    processes = Processes()
    made, *_ = fleet(processes, "engine.stall_s=0.05")
    assert not made.update(NEW, sent(None)[0])
    assert [worker.checkpoints for worker in processes.started[2:]] == [[NEW], [NEW]]


def test_an_engine_that_does_not_sample_with_what_was_sent_stops_the_run():
    made, *_ = fleet(Processes())
    with pytest.raises(RunStopped, match="does not sample"):
        made.update(NEW, sent(RunStopped("vLLM does not sample with the weights"))[0])


def test_workers_that_sleep_wake_with_new_weights_or_before_they_play():
    processes = Processes()
    made, *_ = fleet(processes)
    made.sleep()
    assert [worker.slept for worker in processes.started] == [1, 1]
    assert play(made)[0] == once()
    assert [worker.checkpoints for worker in processes.started] == [[OLD, OLD], [OLD, OLD]]
    made.sleep()
    made.update(NEW)
    assert play(made)[0] == once()
    assert [worker.checkpoints[2:] for worker in processes.started] == [[NEW], [NEW]]


def test_a_worker_that_dies_of_sleep_is_replaced_by_one_that_sleeps():
    processes = Processes(["plays"], ["dies"])
    made, faults, _ = fleet(processes)
    made.sleep()
    assert faults.take().lost_workers == 1
    assert [worker.slept for worker in processes.started] == [1, 1, 1]
    assert play(made)[0] == once()
    assert len(processes.started) == 3


def test_a_replacement_that_does_not_start_in_time_is_lost_as_well():
    processes = Processes(["dies"], ["plays"], ready={2: "hangs"})
    made, faults, _ = fleet(processes, "ray.start_timeout_s=0.01")
    play(made, 4000)
    assert faults.take().lost_workers == 2
    assert len(processes.started) == 4


class Elsewhere(Processes):
    """Nodes with GPUs, the first of which may be lost."""

    nodes = (Node("a", "10.0.0.1", 2), Node("b", "10.0.0.2", 4))

    def alive(self) -> list[Node]:
        return list(self.nodes)


def test_the_gpus_of_workers_are_told_by_worker_and_an_idle_one_whose_node_was_lost_is_replaced_first():
    processes, faults = Elsewhere(), FaultLog()
    members = Members(processes, faults, (), named=False)
    made = Fleet(config("engine=vllm", "engine.tensor_parallel=2"), processes, members, faults)
    made.start(OLD, "http://world", gpus=2)
    a, b = Elsewhere.nodes
    found = made.gpus()
    assert [(place.node, place.claimed) for place in found] == [(a, 0), (a, 0), (b, 0), (b, 0)]
    assert [place.shared for place in found[1::2]] == ["7", "7"]
    made.sleep()
    processes.nodes = (b,)
    moved = made.gpus()
    assert [worker.slept > 0 for worker in processes.started] == [True] * 3
    assert [place.node for place in moved] == [b] * 4
    assert moved[2:] == found[2:]
    assert faults.take().lost_workers == 1
    assert len(processes.started) == 3


def test_a_worker_without_room_has_left_and_the_others_go_on():
    processes, faults = Elsewhere(["plays", "dies"]), FaultLog()
    members = Members(processes, faults, (), named=False)
    made = Fleet(config("engine=vllm", "engine.tensor_parallel=2"), processes, members, faults)
    made.start(OLD, "http://world", gpus=2)
    processes.nodes = (Node("b", "10.0.0.2", 2),)
    play(made)
    assert processes.left[0] == "rollout worker 0"
    assert [place.node.id for place in made.gpus()] == ["b", "b"]


def test_gpus_that_no_node_has_together_are_refused_at_the_start():
    processes = Processes()
    processes.alive = lambda: [Node("a", "10.0.0.1", 3), Node("b", "10.0.0.2", 1)]  # type: ignore[method-assign]
    members = Members(processes, FaultLog(), (), named=False)
    made = Fleet(config("engine=vllm", "engine.tensor_parallel=2"), processes, members, FaultLog())
    with pytest.raises(ConfigError, match="no node has 2 GPUs left for rollout worker 1: set"):
        made.start(OLD, "http://world", gpus=2)


def test_a_worker_that_cannot_start_stops_the_run_with_its_own_reason():
    lost = ProcessLost("Traceback\n  agentevol.core.errors.ConfigError: no model here\n")
    processes = Processes(ready={1: "dies"})
    processes.results = lambda *_: (_ for _ in ()).throw(lost)  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match=r"^no model here$"):
        fleet(processes)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["engine.workers=1", "engine.stall_s=5"], "engine: stall_s has no effect with one worker"),
        (["ray.address=auto", "ray.cpus=2"], "ray: cpus has no effect with address"),
        (["ray.address=ray://head:10001"], "begin the run on a node of the cluster"),
        (["ray.environment_labels.role=worlds"], "ray: environment_labels has no effect without address"),
        (
            ["ray.address=auto", "ray.environment_labels.role=worlds", "environment.url=http://host:1"],
            "ray.environment_labels has no effect with environment.url: that server runs already",
        ),
    ],
)
def test_settings_without_effect_are_refused(settings: list[str], line: str):
    with pytest.raises(ConfigError, match=line):
        load(None, settings)


def test_episodes_are_not_waited_for_once_the_run_cannot_go_on():
    made, faults, told = fleet(Processes())
    faults.end("there is no environment server any more")
    with pytest.raises(RunStopped, match="there is no environment server any more"):
        list(made.play([request(number) for number in range(4)], SAMPLING, Played()))
    assert told == ["there is no environment server any more"]

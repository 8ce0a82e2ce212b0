"""Who gets which GPU of a cluster: nodes that only say that they have some, workers that have no engine."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentevol.cluster.cluster import Cluster
from agentevol.cluster.pools.dispatch import Played
from agentevol.cluster.workers.rollout import RolloutWorker
from agentevol.config.run import load
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.seats import Episode, failed_episode

pytestmark = pytest.mark.slow
BASE = Checkpoint(Path("none"), 0)


def idle() -> type[Any]:
    """A rollout worker that plays nothing. A local class, which Ray sends along whole."""

    class Idle(RolloutWorker):
        def __init__(self, *_: Any) -> None: ...

        async def play(self, request: EpisodeRequest, sampling: Sampling) -> Episode:
            return failed_episode(request, "", "transport", "")

    return Idle


@contextmanager
def run(head: Any, *settings: str) -> Iterator[Cluster]:
    config = load(None, [f"ray.address={head.address}", "engine=vllm", "explore.retries=1", *settings])
    with Cluster(config, rollout_worker=idle()) as cluster:
        cluster.start_rollouts(BASE, "none")
        yield cluster


def asked(process: Any, question: Callable[[Any], Any]) -> Any:
    import ray

    return ray.get(process.__ray_call__.remote(question), timeout=120)


def gpus(process: Any) -> tuple[str, str]:
    """The node that it is on, and the GPUs that it sees."""

    def answer(_: Any) -> tuple[str, str]:
        import ray

        return ray.get_runtime_context().get_node_id(), os.environ.get("CUDA_VISIBLE_DEVICES", "")

    return asked(process, answer)


def workers(cluster: Cluster) -> list[Any]:
    return [worker.process for worker in cluster._rollouts._workers]


def learners(cluster: Cluster) -> list[Any]:
    return cluster._learners._ready()


def kill(process: Any) -> None:
    os.kill(asked(process, lambda _: os.getpid()), signal.SIGKILL)


def play(cluster: Cluster) -> None:
    """Until lost workers are replaced, and their replacements have started."""
    names = dict.fromkeys(("id", "run", "env", "task_id", "split", "kind", "difficulty", "instruction"), "e")
    request = EpisodeRequest(**names, iteration=1, purpose="explore", seed=0, attempt=0)
    deadline = time.monotonic() + 120
    before = set(workers(cluster))
    while set(workers(cluster)) == before or not all(one.ready for one in cluster._rollouts._workers):
        assert time.monotonic() < deadline
        assert len(list(cluster.play([request] * 4, Sampling(), Played()))) == 4


def test_every_process_has_gpus_of_its_own_which_the_one_in_its_place_gets_again(head: Any):
    import ray

    for _ in range(2):
        head.add_node(num_cpus=1, num_gpus=4)
    with run(head, "engine.workers=2", "engine.tensor_parallel=2", "learn.shards=2") as cluster:
        there = [gpus(process) for process in workers(cluster)]
        assert [len(ids.split(",")) for _, ids in there] == [2, 2]
        learnt = [gpus(process) for process in learners(cluster)]
        assert learnt[0][0] == learnt[1][0]  # on one node
        taken = [(node, one) for node, ids in (*there, *learnt) for one in ids.split(",")]
        assert len(set(taken)) == 6
        assert ray.available_resources()["GPU"] == 2

        kill(workers(cluster)[0])
        time.sleep(2)
        assert ray.available_resources()["GPU"] == 2  # nobody gets them meanwhile
        play(cluster)
        assert [gpus(process) for process in workers(cluster)] == there

        kill(learners(cluster)[1])
        cluster._learners.end()
        assert [gpus(process) for process in learners(cluster)] == learnt

    ray.init(head.address, log_to_driver=False)
    deadline = time.monotonic() + 60
    while ray.available_resources()["GPU"] < 8:  # the run has ended, and given them back
        assert time.monotonic() < deadline
        time.sleep(0.2)
    ray.shutdown()


def test_a_worker_whose_node_is_lost_leaves_its_gpus_and_gets_others(head: Any):
    import ray

    nodes = [head.add_node(num_cpus=1, num_gpus=1) for _ in range(2)]
    with run(head, "engine.workers=1", "learn.device=cpu") as cluster:
        (node, _) = gpus(workers(cluster)[0])
        lost = next(one for one in nodes if one.node_id == node)
        head.remove_node(lost, allow_graceful=False)
        play(cluster)
        (other, _) = gpus(workers(cluster)[0])
        assert other == next(one for one in nodes if one is not lost).node_id
        held = [one["state"] for one in ray.util.placement_group_table().values()]
        assert sorted(held) == ["CREATED", "REMOVED"]


def test_gpus_that_somebody_else_has_are_named_when_time_is_up(head: Any):
    import ray

    head.add_node(num_cpus=1, num_gpus=2)

    class Other:
        pass

    ray.init(head.address, log_to_driver=False)  # another job, which leaves this behind
    left = ray.remote(num_gpus=1, lifetime="detached", name="other")(Other).remote()
    ray.get(left.__ray_ready__.remote())
    ray.shutdown()
    line = r"has not reserved 2 of the GPUs on \S+ \(Ray node \w+\) within 3 s \(ray\.start_timeout_s\)"
    settings = ("engine.workers=1", "ray.start_timeout_s=3")
    with (
        pytest.raises(RunStopped, match=line),
        run(head, *settings, "engine.tensor_parallel=2", "learn.device=cpu"),
    ):
        pass
    learners_alone = run(head, *settings, "engine=embedded", "learn.shards=2")
    with pytest.raises(RunStopped, match=line), learners_alone as cluster:  # or while rollout workers start
        cluster.perplexity(BASE, [])


def test_gpus_enough_but_on_no_node_together_are_refused(head: Any):
    for _ in range(2):
        head.add_node(num_cpus=1, num_gpus=3)
    with (
        pytest.raises(ConfigError, match=r"no node has 2 GPUs left for rollout worker 2: set"),
        run(head, "engine.workers=3", "engine.tensor_parallel=2", "learn.device=cpu"),
    ):
        pass


def test_colocated_learners_share_the_gpus_of_rollout_workers_and_follow_them(head: Any):
    import ray

    nodes = [head.add_node(num_cpus=1, num_gpus=2) for _ in range(3)]
    settings = ("engine.workers=2", "engine.tensor_parallel=2", "engine.colocated=true", "learn.shards=3")
    with run(head, *settings) as cluster:
        held = [(node, one) for node, ids in map(gpus, workers(cluster)) for one in ids.split(",")]
        before = learners(cluster)
        assert [gpus(process) for process in before] == held[:3]
        assert ray.available_resources()["GPU"] == 2  # only the workers' are taken
        kill(workers(cluster)[1])
        play(cluster)
        assert learners(cluster) == before  # its GPUs are the same

        head.remove_node(next(one for one in nodes if one.node_id == held[0][0]), allow_graceful=False)
        play(cluster)
        moved = [(node, one) for node, ids in map(gpus, workers(cluster)) for one in ids.split(",")]
        assert moved[0][0] not in {node for node, _ in held}
        assert [gpus(process) for process in learners(cluster)] == moved[:3]

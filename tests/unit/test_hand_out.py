"""How many episodes a worker is given at a time."""

from collections import deque
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentevol.cluster import Cluster, _Worker
from agentevol.config.run import load
from agentevol.protocols import Sampling


@pytest.mark.parametrize(("settings", "each"), [((), 3), (("engine.episodes=5",), 5)])
def test_workers_are_given_as_many_episodes_as_may_be_in_flight(settings: tuple[str, ...], each: int):
    cluster = Cluster(load(None, ["engine=vllm", "engine.slots=3", *settings]))
    actor = SimpleNamespace(play=SimpleNamespace(remote=lambda request, _: request))
    cluster._workers = [_Worker(actor), _Worker(actor)]
    waiting = deque((cast(Any, number), 0) for number in range(11))
    cluster._hand_out(waiting, Sampling())
    assert [len(worker.running) for worker in cluster._workers] == [each, each]
    assert len(waiting) == 11 - 2 * each

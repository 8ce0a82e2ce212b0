"""Which worker plays which episode, and which are played again."""

from typing import Any

import pytest
from support.runs import episode_request

from agentevol.cluster.pools.dispatch import Attempt, Dispatch, Played, Replica, lost
from agentevol.rollout.episode import ABORTED, EpisodeRequest
from agentevol.rollout.faults import FaultLog
from agentevol.rollout.seats import failed_episode
from agentgym_store.records import Terminated


def request(number: int) -> EpisodeRequest:
    return episode_request(id=f"e{number}", attempt=number)


def dispatch(count: int, played: Played | None = None, name: str = "") -> Dispatch:
    def ask(process: Any, asked: EpisodeRequest) -> Any:
        return f"{name}{process}:{asked.id}"

    requests = [request(number) for number in range(count)]
    return Dispatch(requests, ask, 1, played or Played(), FaultLog())


def worker(name: str) -> Replica:
    return Replica(0, process=name)


def test_the_emptiest_worker_comes_first_and_none_has_more_than_its_slots():
    batch, a, b = dispatch(5), worker("a"), worker("b")
    batch.hand_out([a, b], slots=2)
    assert (list(a.running), list(b.running)) == (["a:e0", "a:e2"], ["b:e1", "b:e3"])
    b.end("b:e1", now=0.0)
    batch.hand_out([a, b], slots=2)
    assert list(b.running) == ["b:e3", "b:e4"]


def test_batches_share_the_slots_of_a_worker_and_each_hears_of_its_own():
    first, second, a = dispatch(1, name="1"), dispatch(2, name="2"), worker("a")
    first.hand_out([a], slots=2)
    second.hand_out([a], slots=2)
    assert list(a.running) == ["1a:e0", "2a:e0"]
    for reply in list(a.running):
        attempt = a.end(reply, now=0.0)
        (ended,) = failed_episode(attempt.request, "p", "none", reply)
        attempt.batch.ended((ended.model_copy(update={"ending": Terminated()}),), attempt)
    assert [t.id for t in first.taken()] == ["e0"]
    assert not first.unfinished
    assert len(list(second.taken())) == 1
    assert second.unfinished


def test_episodes_of_a_lost_worker_are_played_again_whoever_asked_for_them():
    first, second, a, b = dispatch(1, name="1"), dispatch(1, name="2"), worker("a"), worker("b")
    for batch in (first, second):
        batch.hand_out([a], slots=2)
    lost(a, "rollout-worker-lost", "killed")
    assert not a.running
    for batch in (first, second):
        assert list(batch.taken()) == []
        batch.hand_out([b], slots=2)
    assert list(b.running) == ["1b:e0", "2b:e0"]
    lost(b, "rollout-worker-lost", "killed")  # once too often
    for batch in (first, second):
        assert [t.ending.kind for t in batch.taken()] == ["failed"]
        assert not batch.unfinished


@pytest.mark.parametrize(
    ("kind", "tries", "ended", "counted"),
    [
        ("transport", 0, False, (1, 0)),
        ("transport", 1, True, (0, 0)),
        ("action-format", 0, True, (0, 0)),  # an equal seed gives the message that the format failed on
        (ABORTED, 1, False, (0, 1)),  # giving up is no failure of anything: it is played again however often
    ],
)
def test_what_is_played_again(kind: str, tries: int, ended: bool, counted: tuple[int, int]):
    played = Played()
    batch = dispatch(1, played)
    a = worker("a")
    batch.hand_out([a], slots=1)
    attempt = a.end("a:e0", now=0.0)
    batch.ended(failed_episode(request(0), "p", kind, ""), Attempt(batch, attempt.request, tries))
    assert (played.replayed, played.aborted) == counted
    assert len(list(batch.taken())) == int(ended)
    assert batch.unfinished != ended

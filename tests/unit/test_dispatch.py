"""Which worker plays which episode, and which are played again."""

from typing import Any

import pytest

from agentevol.loop.explore import ABORTED, EpisodeRequest, failed
from agentevol.workers.dispatch import Attempt, Dispatch, Played, Replica
from agentgym_store.records import Terminated


def request(number: int) -> EpisodeRequest:
    return EpisodeRequest(
        id=f"e{number}", run="r", iteration=1, purpose="explore", env="guess", task_id="t", split="train",
        kind="", difficulty="", instruction="", seed=0, attempt=number,
    )  # fmt: skip


def dispatch(count: int, played: Played | None = None, retries: int = 1) -> Dispatch:
    def ask(process: Any, asked: EpisodeRequest) -> Any:
        return f"{process}:{asked.id}"

    return Dispatch([request(number) for number in range(count)], ask, retries, played or Played())


def test_the_emptiest_worker_comes_first_and_none_has_more_than_its_slots():
    batch, replicas = dispatch(5), [Replica("a"), Replica("b")]
    batch.hand_out(replicas, slots=2)
    assert list(batch.running) == ["a:e0", "b:e1", "a:e2", "b:e3"]
    batch.answered("b:e1")
    batch.hand_out(replicas, slots=2)
    assert "b:e4" in batch.running


def test_batches_share_the_slots_of_a_worker():
    first, second, replicas = dispatch(1), dispatch(2), [Replica("a")]
    first.hand_out(replicas, slots=2)
    second.hand_out(replicas, slots=2)
    assert (list(first.running), list(second.running)) == (["a:e0"], ["a:e0"])
    assert replicas[0].running == 2


def test_replies_of_a_replaced_process_leave_the_slots_of_the_new_one_alone():
    batch, replica = dispatch(2), Replica("a")
    batch.hand_out([replica], slots=2)
    replica.process, replica.running = "b", 0
    assert batch.answered("a:e0").process == "a"
    assert replica.running == 0
    # the counter-test: of the process that is there now
    other = Replica("c")
    again = dispatch(1)
    again.hand_out([other], slots=1)
    again.answered("c:e0")
    assert other.running == 0


@pytest.mark.parametrize(
    ("kind", "tries", "ended", "counted"),
    [
        ("transport", 0, False, (1, 0)),
        ("transport", 1, True, (0, 0)),
        (ABORTED, 1, False, (0, 1)),  # giving up is no failure of anything: it is played again however often
    ],
)
def test_what_is_played_again(kind: str, tries: int, ended: bool, counted: tuple[int, int]):
    played = Played()
    batch = dispatch(0, played)
    attempt = Attempt(request(0), tries)
    assert (batch.ended(failed(request(0), "p", kind, ""), attempt) is not None) == ended
    assert (played.replayed, played.aborted) == counted
    assert batch.unfinished != ended


def test_an_episode_that_the_world_ended_has_ended():
    episode = failed(request(0), "p", "transport", "").model_copy(update={"ending": Terminated()})
    batch = dispatch(0)
    assert batch.ended(episode, Attempt(request(0))) is episode
    assert not batch.unfinished

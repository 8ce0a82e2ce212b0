"""What broke: counted, told, and what it took to be where the work had been."""

import pytest

from agentevol.cluster.processes.failures import ProcessFailures, stop_if_hopeless
from agentevol.core.errors import RunStopped
from agentevol.core.summaries import Faults, IterationSummary, RunSummary
from agentevol.loop.report.page import render
from agentevol.rollout.faults import FaultLog, sentence


def test_faults_are_taken_once():
    told: list[str] = []
    log = FaultLog(told.append)
    log.note("a node was lost", lost_nodes=1)
    log.note(replayed=3, workers_s=1.5)
    log.note(replayed=1)
    assert log.take() == Faults(lost_nodes=1, replayed=4, workers_s=1.5)
    assert log.take() == Faults()
    assert told == ["a node was lost"]


def test_what_broke_is_told_in_words():
    faults = Faults(lost_workers=2, lost_nodes=1, stalled=1, replayed=37, workers_s=10.0, learners_s=2.3)
    assert sentence(faults) == (
        "lost 2 rollout workers, 1 stalled rollout worker, 1 node; 37 episodes played again; 12.3 s lost"
    )
    assert sentence(Faults()) == ""


def test_the_report_shows_what_broke_and_nothing_where_nothing_did():
    def page(faults: Faults) -> str:
        one = IterationSummary(iteration=1, checkpoint="0001", table_version=1, faults=faults)
        return render(RunSummary(run="r", environment="e", iterations=(one,)), b"")

    assert "What broke, and what it cost" not in page(Faults())
    assert "lost_learners" in page(Faults(lost_learners=1, learners_s=12.5))
    assert "12.5" in page(Faults(lost_learners=1, learners_s=12.5))


def test_a_loss_costs_the_time_until_the_work_is_where_it_was():
    work = ProcessFailures()
    assert work.reached(5, now=10.0) is None
    work.lost(now=12.0)
    assert work.reached(0, now=20.0) is None
    work.lost(now=21.0)  # its replacement, before it had caught up
    assert work.reached(4, now=29.0) is None
    assert work.reached(5, now=30.0) == 18.0
    assert work.reached(6, now=31.0) is None


def test_only_steps_that_were_never_taken_before_end_a_row_of_losses():
    work = ProcessFailures()
    for _ in range(3):
        work.reached(5, now=0.0)
        work.lost(now=0.0)
    assert work.in_a_row == 3
    stop_if_hopeless(work, 3, "lost {} times", "")
    work.lost(now=0.0)
    with pytest.raises(
        RunStopped, match=r"lost 4 times \(ray.max_replacements\); the last time: ValueError: no"
    ):
        stop_if_hopeless(work, 3, "lost {} times", "Traceback:\nValueError: no\nthat was all")
    work.reached(6, now=0.0)
    assert work.in_a_row == 0

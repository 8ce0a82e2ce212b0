"""The attack suite: what it says of a sound environment, and that it notices flaws."""

import time
from itertools import groupby

import pytest

from agentgym_envs.tooluse.attacks import AttackReport, attack
from agentgym_envs.tooluse.attacks.bounds import is_within, standard_error
from agentgym_envs.tooluse.attacks.policies import POLICIES
from agentgym_envs.tooluse.calls import written
from tests.support.notes import (
    Breaks,
    Erasable,
    IgnoresOthers,
    KnowsOne,
    Notes,
    NoteTask,
    PaysTwice,
    PunishesUndone,
    Shares,
    Slow,
)


def violated(report: AttackReport) -> dict[str, str]:
    """First violation of each policy that has one."""
    return {result.name: result.violations[0] for result in report.results if result.violations}


def test_a_sound_environment_passes_and_every_policy_was_played() -> None:
    report = attack(Notes(), tasks=10)
    assert violated(report) == {}
    played = {result.name: result.episodes for result in report.results}
    assert set(played) == {*POLICIES, "extra_write", "double_send", "always_refuse", "constant_answer"}
    assert played.pop("always_refuse") == 0  # it has no refusals
    assert played.pop("undo_redo") == 0  # no tool takes a note back
    some = {"submit_first", "double_send", "oracle_shuffled"}
    # Half of the tasks ask for a write, the others for two reads.
    assert {name: played.pop(name) for name in some} == dict.fromkeys(some, 10)
    assert set(played.values()) == {20}


def test_answers_that_can_be_tried_are_noticed() -> None:
    found = violated(attack(PaysTwice(), tasks=10))
    assert found["answer_spray"].startswith("earns")
    assert found["submit_first"].startswith("earns 1.0")


def test_writes_that_cost_nothing_are_noticed() -> None:
    found = violated(attack(IgnoresOthers(), tasks=10))
    assert {"extra_write", "double_send", "write_spray"} <= found.keys()


def test_an_exception_is_noticed() -> None:
    found = violated(attack(Breaks(), tasks=10))
    assert "raised RuntimeError: syntax error" in found["hostile_strings"]


def test_harm_to_later_episodes_is_noticed() -> None:
    found = violated(attack(Shares(), tasks=10))
    assert "after it the expert earns 0" in found["write_spray"]


class Counts(Notes):
    """Names a shortcut of its own for the tasks that ask: the number, without a look."""

    attack_bounds = {"known_number": (0.0, 0.2)}  # noqa: RUF012 - a class fact, never changed

    def shortcuts(self, task: NoteTask) -> dict[str, list[str]]:
        return {} if task.wanted else {"known_number": [written("submit", answer=0)]}


def test_an_environments_own_shortcut_is_played_where_it_has_one() -> None:
    report = attack(Counts(), tasks=10)
    assert violated(report) == {}
    (played,) = [result for result in report.results if result.name == "known_number"]
    assert (played.episodes, played.mean, played.low, played.high) == (10, 0.0, 0.0, 0.2)


def test_a_shortcut_that_earns_more_than_its_bounds_is_noticed() -> None:
    class Knows(Counts):
        def shortcuts(self, task: NoteTask) -> dict[str, list[str]]:
            return {name: self.expert(task) for name in super().shortcuts(task)}

    assert violated(attack(Knows(), tasks=10))["known_number"].startswith("earns 1.0")


class KnowsOneOfTen(KnowsOne):
    attack_bounds = {"known_number": (0.0, 0.1)}  # noqa: RUF012 - a class fact, never changed


class KnowsOneOfNone(KnowsOne):
    attack_bounds = {"known_number": (0.0, 0.0)}  # noqa: RUF012 - a class fact, never changed


def test_a_mean_beyond_its_bounds_by_chance_is_told() -> None:
    """0.1 is 0.05 + 0.73 standard errors of sqrt(0.05 * 0.95 / 10) = 0.0689."""
    report = attack(KnowsOne(), tasks=10)
    (played,) = [result for result in report.results if result.name == "known_number"]
    assert (report.passed, played.mean, played.status) == (True, 0.1, "within error")
    assert played.standard_error == pytest.approx(0.0689, abs=5e-5)
    (played,) = [one for one in attack(KnowsOneOfTen(), tasks=10).results if one.name == "known_number"]
    assert played.status == "ok"


def test_beyond_bounds_of_0_there_is_no_chance() -> None:
    (played,) = [one for one in attack(KnowsOneOfNone(), tasks=10).results if one.name == "known_number"]
    assert (played.standard_error, played.status) == (0.0, "failed")
    assert played.violations == ("earns 0.1000 in the mean, not 0 to 0",)
    assert not is_within(1e-12, 0.0, 0.0, error=0.5)
    assert is_within(0.0, 0.0, 0.0)
    assert standard_error(0.0, 0.0, 10) == standard_error(0.0, 1.0, 10) == 0.0


def test_a_report_counts_the_tasks_of_each_split() -> None:
    counts = attack(Notes(), tasks=3, splits=["test"]).splits
    assert {split: (one.tasks, one.of) for split, one in counts.items()} == {"test": (3, 24)}


def test_all_policies_meet_a_task_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an environment makes for a task is made once, and not for each policy."""
    met = list[str]()
    begin = Notes.begin

    def noted(self: Notes, task: NoteTask, seed: int) -> object:
        met.append(task.id)
        return begin(self, task, seed)

    monkeypatch.setattr(Notes, "begin", noted)
    done = list[int]()
    attack(Notes(), tasks=4, splits=["train"], progress=done.append)
    assert len([one for one, _ in groupby(met)]) == len(set(met)) == 4
    assert done == [1, 2, 3, 4]


def result_of(environment: Notes, policy: str) -> tuple[int, float, tuple[str, ...]]:
    (found,) = (result for result in attack(environment, tasks=10).results if result.name == policy)
    return found.episodes, found.mean, found.violations


def test_what_is_undone_is_no_change_and_with_strict_history_costs_the_reward() -> None:
    assert result_of(Erasable(), "undo_redo") == (20, 1.0, ())
    strict = Erasable()
    strict.strict_history = True
    assert result_of(strict, "undo_redo") == (20, 0.0, ())
    assert result_of(strict, "oracle") == (20, 1.0, ())


def test_an_environment_that_punishes_what_was_undone_is_noticed() -> None:
    _, mean, violations = result_of(PunishesUndone(), "undo_redo")
    assert mean == 0.0
    assert violations[0].startswith("earns")


def test_many_slow_calls_in_one_message_are_noticed() -> None:
    report = attack(Slow(), tasks=2, step_limit_s=0.02)
    assert "call_flood" in violated(report)


def test_waiting_for_a_core_is_no_slow_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgym_envs.testing.stopwatch.queued_s", time.perf_counter)  # it never had one
    assert "call_flood" not in violated(attack(Slow(), tasks=2, step_limit_s=0.02))


def test_a_snapshot_keeps_the_history() -> None:
    world = Erasable()
    world.strict_history = True
    task = world.tasks("train")[0]
    world.reset(task, 0)
    world.step(written("add_note", text="other"))
    world.step(written("erase_note"))
    went_back = world.snapshot()
    world.reset(task, 0)
    clean = world.snapshot()
    for snapshot, reward in ((went_back, 0.0), (clean, 1.0)):
        world.restore(snapshot)
        world.step(written("add_note", text=task.wanted))
        assert world.step(written("submit")).reward == reward

"""GiGPO beside GRPO: the arms differ in what they say, and the figures are what they are called."""

import pytest
from support.trajectories import trajectory

from agentevol.config.rewards.process import ContinuationProcess, EnvironmentTurnReward
from agentgym_store.records import Terminated, Trajectory, Truncated, Turn
from benchmarks import credit
from benchmarks.credit import Outcome, Round, Trial


def episode(name: str, task: str, seen: str, *, won: bool = False) -> Trajectory:
    """One turn in the room where a task begins, then one after each word of `seen` but the last."""
    words = seen.split()
    rewards = [0.0] * (len(words) - 1) + [1.0 if won else 0.0]
    return trajectory(
        id=name,
        iteration=0,
        env="house",
        task_id=task,
        initial_observation="door",
        turns=tuple(
            Turn(action="go", observation=word, reward=reward, sample=None)
            for word, reward in zip(words, rewards, strict=True)
        ),
        ending=Terminated() if won else Truncated(limit="max_turns"),
    )


def outcome(arm: str, seed: int, success: float) -> Outcome:
    """Of one round of two episodes in three turns."""
    spent = Round(episodes=2, success=0.5, turns=3, tokens=40, mixed=1.0, shared=0.5, shared_between=0.25)
    return Outcome(Trial(arm, seed, 1), success, 7.0, (spent,))


def test_a_state_recurs_within_an_episode_or_between_those_of_a_task():
    # states: a: door hall hall; b: door desk; of another task c: door hall
    explored = [
        episode("a", "t", "hall hall safe"),
        episode("b", "t", "desk bed"),
        episode("c", "u", "hall safe"),
    ]
    # met again: both doors of t (another episode) and both halls of a (the same one), of 7 turns
    assert credit.recurrence(explored) == (4 / 7, 2 / 7)


def test_a_round_counts_its_episodes_turns_and_mixed_groups():
    explored = [
        episode("a", "t", "hall safe", won=True),
        episode("b", "t", "hall bed"),
        episode("c", "u", "hall"),
    ]
    found = credit.round_of(explored)
    assert (found.episodes, found.turns, found.success, found.mixed) == (3, 5, 1 / 3, 0.5)


def test_all_arms_have_the_same_budget_and_steps_of_the_same_size():
    configs = [credit.configured(Trial(arm, 3, 1)) for arm in credit.ARMS]
    plain, valued = EnvironmentTurnReward(), ContinuationProcess(continuations=4)
    assert [c.process for c in configs] == [plain] * 5 + [valued]
    assert len({(c.seed, c.environment.model_dump_json(), c.explore.model_dump_json()) for c in configs}) == 1
    shared = [c.learn.model_dump(exclude={"algorithm", "options"}) for c in configs]
    assert shared == [shared[0]] * 6
    assert credit.configured(Trial("grpo", 3, 1, ("explore.tasks=2",))).explore != configs[0].explore


def test_the_arm_without_credit_for_turns_differs_in_nothing_else():
    whole, part = (credit.configured(Trial(arm, 0, 1)).learn for arm in ("gigpo", "gigpo-episode"))
    assert part.options == {"step_weight": 0}
    assert whole.model_copy(update={"options": part.options}) == part


def test_the_starter_comes_first_and_then_every_arm_of_a_seed():
    arguments = credit.parse(
        ["--seeds", "2", "--first-seed", "5", "--rounds", "4", "--arms", "grpo", "gigpo"]
    )
    assert [(trial.arm, trial.seed, trial.rounds) for trial in credit.trials(arguments)] == [
        ("starter", 0, 0),
        ("grpo", 5, 4),
        ("gigpo", 5, 4),
        ("grpo", 6, 4),
        ("gigpo", 6, 4),
    ]


def test_differences_are_paired_by_seed():
    # +10, +20 and +30 points: mean 20, deviation 10, Student's t 4.3027 with 2 degrees of freedom
    better = [outcome("gigpo", seed, 0.5 + 0.1 * seed) for seed in (0, 1, 2)]
    worse = [outcome("grpo", seed, 0.4) for seed in (2, 1, 0)]
    line = credit.difference_line("gigpo", better, "grpo", worse)
    assert line.split() == ["gigpo", "-", "grpo", "+20.0", "-4.8", "to", "+44.8"]
    # a seed that only one arm has is in no difference, and one difference has no interval
    assert credit.difference_line("gigpo", better, "grpo", worse[:1]).split()[3:] == ["+30.0"]


def test_the_table_has_a_line_of_each_arm_and_of_each_difference(capsys: pytest.CaptureFixture[str]) -> None:
    starter = Outcome(Trial(credit.STARTER, 0, 0), 0.25, None)
    arms = [outcome(arm, seed, 0.5) for seed in (0, 1) for arm in ("grpo", "gigpo")]
    credit.print_table([starter, *arms])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["starter", "25.0%", "nan"] in lines
    assert ["grpo", "50.0%", "50.0", "to", "50.0", "7.0"] in lines
    assert ["gigpo", "-", "grpo", "+0.0", "+0.0", "to", "+0.0"] in lines
    assert ["gigpo", "2", "3", "40"] in lines
    assert ["gigpo", "100.0%", "50.0%", "25.0%"] in lines


@pytest.mark.slow
def test_a_trial_explores_learns_and_evaluates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credit, "TEST_TASKS", 4)
    few = ("explore.tasks=2", "explore.samples=4", "environment.max_turns=6")
    found = credit.run(Trial("gigpo", 1, 1, few))
    assert found.success in (0.0, 0.25, 0.5, 0.75, 1.0)
    assert [(r.episodes, r.turns <= 48, r.tokens > r.turns) for r in found.rounds] == [(8, True, True)]

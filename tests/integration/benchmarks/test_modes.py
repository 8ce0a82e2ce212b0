"""What the benchmark of modes counts and prints, and that its arms differ in what they say."""

from pathlib import Path

import pytest
from support.trajectories import trajectory

from agentevol.core.algorithms.registry import objective
from agentgym_store.records import Sample, Trajectory, Turn
from benchmarks import modes
from benchmarks.modes import Conduct, Result, Trial, by_level, table


def answered(level: str, mode: int, tokens: int, reward: float) -> Trajectory:
    sample = Sample(
        text="", prompt_ids=(1,), token_ids=(2,) * tokens, logprobs=(-0.5,) * tokens, policy_version=0
    )
    turn = Turn(action="", observation="", reward=reward, sample=sample, info={"mode": mode})
    return trajectory(
        id=f"{level}{mode}{tokens}",
        run="bench",
        iteration=0,
        purpose="evaluate",
        env="deliberate",
        task_id=level,
        split="test",
        difficulty=level,
        turns=(turn,),
    )


def test_answers_are_counted_by_difficulty():
    played = [
        answered("shallow", 1, 5, 1.0),
        answered("shallow", 2, 11, 1.0),
        answered("medium", -1, 2, 0.0),
        answered("deep", 4, 23, 0.0),
        answered("deepest", 4, 24, 1.0),
    ]
    found = by_level(played)
    assert found["shallow"] == Conduct(100.0, 8.0, (50.0, 50.0, 0.0, 0.0))
    assert found["medium"] == Conduct(0.0, 2.0, (0.0, 0.0, 0.0, 0.0))  # malformed: in no mode
    assert found["all"] == Conduct(60.0, 13.0, (20.0, 20.0, 0.0, 40.0))


def results(arm: str, *successes: float) -> list[Result]:
    conducts = [Conduct(success, 10.0, (25.0,) * 4) for success in successes]
    found = [{str(level): one for level in modes.LEVELS} for one in conducts]
    return [Result(Trial(arm, seed, 15, Path("base")), one) for seed, one in enumerate(found)]


def test_the_table_has_intervals_over_seeds_and_differences_by_seed():
    # 60, 70, 80: deviation 10, half of the interval 4.303 * 10 / sqrt 3 = 24.8; by seed 1, 2, 3: 2.5
    lines = list(
        table([*results("ampo, outcome", 60.0, 70.0, 80.0), *results("grpo, outcome", 59.0, 68.0, 77.0)])
    )
    assert lines[1].split()[:6] == ["ampo,", "outcome", "all", "70.0", "±", "24.8"]
    assert lines[1].split()[6:9] == ["10.0", "±", "0.0"]
    assert lines[11] == "\nampo, outcome - grpo, outcome, by seed"
    assert lines[12].split()[:4] == ["all", "+2.0", "±", "2.5"]
    assert len(lines) == 1 + 2 * 5 + 1 + 5


def test_every_seed_tries_every_arm_and_where_the_base_lies_makes_no_other_trial(tmp_path: Path):
    arguments = modes.parse(["--arms", "base", "grpo, outcome", "--seeds", "2", "--first-seed", "5"])
    found = modes.trials(arguments, tmp_path)
    assert [(trial.arm, trial.seed) for trial in found] == [
        ("base", 5),
        ("grpo, outcome", 5),
        ("base", 6),
        ("grpo, outcome", 6),
    ]
    assert found == modes.trials(arguments, tmp_path / "elsewhere")


def test_one_seed_has_no_interval():
    assert "±" not in "".join(table(results("ampo, outcome", 60.0)))


def test_arms_differ_in_advantage_and_reward_alone(tmp_path):
    configs = {arm: Trial(arm, 7, 3, tmp_path).config for arm in modes.ARMS}
    same = [config.model_dump(exclude={"learn": {"algorithm", "options"}}) for config in configs.values()]
    assert all(each == same[0] for each in same)
    options = {arm: objective(c.learn.algorithm, c.learn.options).options for arm, c in configs.items()}
    told = {arm: (found.get("mode_weight"), found.get("length_target")) for arm, found in options.items()}
    assert told == {
        "base": (None, None),
        "ampo, length": (1.0, 25.0),
        "grpo, length": (0.0, 25.0),
        "ampo, outcome": (1.0, 0.0),
        "grpo, outcome": (None, None),
    }
    shared = options["grpo, outcome"].keys() & options["ampo, outcome"].keys() - {"singleton"}
    differing = {n for n in shared if options["grpo, outcome"][n] != options["ampo, outcome"][n]}
    assert differing == set()


@pytest.mark.parametrize("pair", modes.PAIRS)
def test_what_is_compared_is_an_arm(pair):
    assert set(pair) <= modes.ARMS.keys()

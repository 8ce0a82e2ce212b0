"""Whether an update may stay: literal verdicts."""

from math import sqrt

import pytest

from agentevol.config.run import load
from agentevol.config.sections.forgetting import ProtectedTasks
from agentevol.core.errors import ConfigError
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.loop.stages.acceptance import served_environments, verdict_on
from agentevol.rollout.environment_server import command


def earned(successes: int, n: int = 100) -> EvaluationSummary:
    return EvaluationSummary(split="valid", n=n, successes=successes, mean_reward=0.0, mean_turns=1.0)


EASY = {"easy": ProtectedTasks()}


def stage(number: int, successes: int, *, rejected: str | None = None) -> IterationSummary:
    place = {"iteration": number, "checkpoint": "", "table_version": 0}
    return IterationSummary(**place, protected={"easy": earned(successes)}, rejected=rejected)


def test_a_fall_beyond_chance_is_rejected_and_one_within_it_is_not():
    # 0.80 and 0.60 of 100: 2 * sqrt(0.16 / 99 + 0.24 / 99) = 0.1271
    verdict = verdict_on(EASY, {"easy": earned(80)}, {"easy": earned(60)})
    assert verdict.reason == "easy fell by 0.200, more than 0.127"
    assert verdict.figures == pytest.approx(
        {
            "forgetting_easy": 0.2, "fall_easy": 0.2, "fall_allowed_easy": 2 * sqrt(0.16 / 99 + 0.24 / 99),
            "backward_transfer": -0.2, "rejected": 1.0,
        }
    )  # fmt: skip
    # 0.80 and 0.70: allowed is 2 * sqrt(0.16 / 99 + 0.21 / 99) = 0.1223
    kept = verdict_on(EASY, {"easy": earned(80)}, {"easy": earned(70)})
    assert kept.reason is None
    assert kept.figures["rejected"] == 0.0


def test_points_are_always_allowed_and_both_limits_are_settings():
    alike = {"easy": earned(100)}, {"easy": earned(99)}  # certain before, so that nearly no chance is left
    assert verdict_on({"easy": ProtectedTasks(standard_errors=0)}, *alike).reason is None  # 0.01 of 0.02
    strict = {"easy": ProtectedTasks(points=0, standard_errors=0)}
    assert verdict_on(strict, *alike).reason == "easy fell by 0.010, more than 0.000"


def test_every_protected_group_of_tasks_has_to_stay():
    both = {"easy": ProtectedTasks(), "shop": ProtectedTasks()}
    before = {"easy": earned(80), "shop": earned(50)}
    verdict = verdict_on(both, before, {"easy": earned(90), "shop": earned(10)})
    assert [fall.environment for fall in verdict.falls] == ["shop"]
    assert verdict.figures["backward_transfer"] == pytest.approx((0.1 - 0.4) / 2)


def test_forgetting_is_against_the_best_accepted_stage_and_the_gate_against_the_start():
    earlier = [stage(0, 80), stage(1, 95), stage(2, 99, rejected="shop fell")]
    verdict = verdict_on(EASY, {"easy": earned(80)}, {"easy": earned(75)}, earlier)
    assert verdict.figures["forgetting_easy"] == pytest.approx(0.95 - 0.75)
    assert verdict.figures["backward_transfer"] == pytest.approx(0.75 - 0.80)
    assert verdict.reason is None  # 0.05 below the start, of 0.12 allowed


def test_what_was_not_scored_is_not_unharmed():
    with pytest.raises(ConfigError, match="easy is protected, and needs 2 evaluation episodes"):
        verdict_on(EASY, {"easy": earned(80)}, {"easy": earned(1, n=1)})


def test_other_environments_are_served_beside_the_run_s_own():
    given = ["protect.a.environment=deliberate", "protect.b.split=train", "protect.c.environment=guess"]
    config = load(None, ["environment.name=guess", *given])
    own, *others = served_environments(config)
    assert [one.name for one in others] == ["deliberate"]
    line = command(own, 0, others)
    assert list(line[line.index("serve") :][:3]) == ["serve", "guess", "deliberate"]

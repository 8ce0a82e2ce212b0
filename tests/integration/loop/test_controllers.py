"""Settings that follow the run: the same whenever they are asked for."""

import pytest
from support.trajectories import trajectory

from agentevol.config.run import load
from agentevol.config.sections.constraints import Constraint
from agentevol.config.sections.exploration import HorizonConfig
from agentevol.config.sections.learner import KLTarget
from agentevol.core.errors import ConfigError
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.loop.control.controllers import kl_coefficient, multipliers, price_figures, turns_allowed
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Turn


def episode(name: str, invalid: int = 0, *, harm: float | None = 0.0, broken: bool = False) -> Trajectory:
    infos = [{"invalid_action": True}] * invalid + [{"costs": {"harm": harm}}]
    sample = Sample(text="", prompt_ids=(1,), token_ids=(2, 3), logprobs=(-0.5, -0.5), policy_version=0)
    turns = [Turn(action="a", observation="o", reward=0.0, sample=sample, info=info) for info in infos]
    return trajectory(
        id=name, turns=tuple(turns), ending=Failed(failure="worker-lost") if broken else Terminated()
    )


def summary(iteration: int, *, kl: float | None = None, won: int = 0) -> IterationSummary:
    validation = EvaluationSummary(split="valid", n=10, successes=won, mean_reward=0.0, mean_turns=1.0)
    learn = {} if kl is None else {"kl": kl}
    place = {"iteration": iteration, "checkpoint": "", "table_version": 0}
    return IterationSummary(**place, selected=100, learn=learn, validation=validation)


def test_prices_rise_by_how_far_the_mean_cost_lies_above_the_limit():
    limits = {name: Constraint(limit=limit) for name, limit in (("invalid_actions", 1), ("harm", 0.5))}
    first = [episode(str(n), invalid=2, harm=0.25) for n in range(100)]
    second = [episode(str(n), invalid=n % 2, harm=0.25) for n in range(100)]
    assert multipliers(limits, [])["invalid_actions"].value == 0.0
    once = multipliers(limits, [first])
    assert once["invalid_actions"].value == pytest.approx(0.05)  # 0.05 * (2 - 1)
    assert once["harm"].value == 0.0  # satisfied
    twice = multipliers(limits, [first, second])
    assert twice["invalid_actions"].value == pytest.approx(0.05 + 0.05 * (0.5 - 1))
    assert multipliers(limits, [first, second]) == twice


def test_a_price_answers_to_what_the_policy_is_charged():
    limits = {"invalid_actions": Constraint(limit=0.25)}
    half = [[episode(str(n), invalid=4 * (n % 2)) for n in range(100)]]
    # in sum 2 on average, but only every second episode has any
    assert multipliers(limits, half)["invalid_actions"].value == pytest.approx(0.05 * (2 - 0.25))
    found = multipliers(limits, half, "any")
    assert found["invalid_actions"].value == pytest.approx(0.05 * (0.5 - 0.25))
    assert price_figures(found) == {
        "mean_cost_invalid_actions": 0.5, "constraint_infeasible_invalid_actions": 0.0,
    }  # fmt: skip
    assert price_figures(multipliers(limits, [])) == {"constraint_infeasible_invalid_actions": 0.0}


def test_an_episode_whose_cost_nobody_could_judge_counts_nothing():
    limits = {"harm": Constraint(limit=0.5)}
    judged = [episode(str(n), harm=1.0) for n in range(100)]
    unjudged = [episode(f"x{n}", harm=None) for n in range(100)]
    assert multipliers(limits, [[*judged, *unjudged]])["harm"].mean_cost == 1.0


def test_what_infrastructure_broke_costs_nothing_and_counts_nothing():
    limits = {"invalid_actions": Constraint(limit=0)}
    broken = [episode(str(n), invalid=9, broken=True) for n in range(200)]
    assert multipliers(limits, [broken])["invalid_actions"].costs == ()


def test_the_kl_coefficient_follows_its_target_by_the_record_of_the_run():
    target = KLTarget(target=0.1, horizon=1000)
    #              far above: e = +0.2   far below: -0.2       nothing learnt
    record = [summary(0), summary(1, kl=9.0), summary(2, kl=0.0), summary(3)]
    assert kl_coefficient(0.01, target, record[:1]) == 0.01
    assert kl_coefficient(0.01, target, record[:2]) == pytest.approx(0.01 * (1 + 0.2 * 100 / 1000))
    assert kl_coefficient(0.01, target, record) == pytest.approx(0.01 * 1.02 * 0.98)


def test_episodes_grow_longer_by_the_iteration_or_by_success():
    steps = HorizonConfig(rounds=(5, 10, 20), every=2)
    assert [turns_allowed(steps, iteration, []) for iteration in range(1, 7)] == [5, 5, 10, 10, 20, 20]
    gated = HorizonConfig(rounds=(5, 10), success=0.5)
    assert turns_allowed(gated, 3, [summary(0, won=1), summary(1, won=4)]) == 5
    assert turns_allowed(gated, 4, [summary(0, won=1), summary(1, won=6)]) == 10
    assert turns_allowed(None, 9, []) is None


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["algorithm=grpo", "constraints.tokens.limit=9"], "constraints.NAME.limit has no effect"),
        (["algorithm=dpo", "kl.target=0.1"], "kl.* has no effect"),
        (["algorithm=dr_grpo", "kl.target=0.1"], "no kl_coef above 0"),
        (["horizon.every=2"], "horizon.rounds: Field required"),
        (["horizon.rounds=[9, 5]"], "never fewer"),
        (["algorithm=lagrangian", "constraints.tokens.window=5"], "constraints.tokens"),
    ],
)
def test_a_controller_with_nothing_to_act_on_is_refused(overrides: list[str], complaint: str):
    with pytest.raises(ConfigError, match=complaint.replace("*", r"\*")):
        load(None, overrides)


def test_a_lagrangian_run_has_a_limit_of_its_own_unless_others_are_given():
    config = load(None, ["algorithm=lagrangian"])
    assert config.constraints["invalid_actions"].limit == 1.0
    both = load(None, ["algorithm=lagrangian", "constraints.tokens.limit=40"]).constraints
    assert sorted(both) == ["invalid_actions", "tokens"]

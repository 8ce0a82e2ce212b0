"""What `agentevol run --dry-run` says beside the configuration."""

import re

import pytest

from agentevol.config.run import load
from agentevol.runs.launch import plan
from agentevol.runs.shared_judges import shared_judges
from agentgym_envs.registry import names

WARNING = (
    "warning, big judges training and evaluation: a policy that exploits it seems to become better;"
    " train with another judge (reward.judge)"
)


def lines(*settings: str) -> list[str]:
    return plan(load(None, list(settings)))


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            ["algorithm=ppo", "process.continuations=4", "process.share=0.25", "process.states=2"],
            # a quarter of 50 * 8 episodes, two states each, four continuations each
            "process rewards: values 4 continuations of up to 2 states in 25% of the episodes: at most"
            " 800 episodes",
        ),
        (
            ["algorithm=ppo", "process.pooled=true", "process.heads.safety=0.5", "process.rules.format=0.1"],
            "turns earn 1 * return + 0.5 * (value differences (outcome 1, safety 0.5) + rules (format -0.1))",
        ),
        (
            ["algorithm=ppo", "feedback=judge", "process.opinions={score=0.5,relevance=1}"],
            "turns earn 1 * return + 0.5 * (qualities (relevance 1, score 0.5))",
        ),
        (
            ["algorithm=ppo", "feedback=judge", "process.opinions.score=1"],
            "process rewards: opinions of turns alone",
        ),
        (
            ["algorithm=grpo", "reward.judge=rubric", "reward.concurrency=4", "reward.alpha=0.5"],
            "reward: 0.5 * return + 1 * verdict of rubric, asked for 4 episodes at a time, at most 120 s"
            " each, stop when exploited 2 times in a row",
        ),
        (
            ["algorithm=sft", "select.score=self", "select.rule=best_of", "self.min_auc=0.6"],
            "score: the policy's own opinion, a digit of base by exact probabilities, in place of the return;"
            " where the lower bound of its AUC is not above 0.6, the returns are used",
        ),
        (
            [
                "algorithm=sft",
                "select.score=self",
                "select.rule=all",
                "self.judge=openai:big",
                "self.distrust=stop",
            ],
            "score: the policy's own opinion, a digit of openai:big by the mean of 20 samples, in place of"
            " the return; where the lower bound of its AUC is not above 0.5, the run stops",
        ),
        (
            ["algorithm=sft", "select.score=judge", "reward.judge=rubric"],
            "score: judge, in place of the return",
        ),
        (
            ["algorithm=grpo", "reward.consistency=true"],
            "reward: 0 * return + 1 * agreement with the majority of answers, where 0.3 to 0.9 agree, no"
            " stop",
        ),
        (["guards.collapse=stop"], "guards: the run stops where the variety of explored episodes collapses"),
        (
            ["environment.seats=2"],
            "seats: 2 in every episode, the policy plays all of them (self-play)",
        ),
        (
            ["environment.seats=2", "environment.partner=random"],
            "seats: 2 in every episode, the policy plays one, random the others",
        ),
        (
            ["environment.seats=2", "selfplay.partner=league", "selfplay.scripted.random=0.25"],
            "league: 2 seats in every explored episode, the latest policy plays all of them in a share of 0.5"
            " of the tasks, else one, beside one of the 8 checkpoints before it, by (1 - win rate)^2 or"
            " random (0.25)",
        ),
        (
            ["environment.seats=2", "selfplay.partner=league", "environment.partner=idle"],
            "evaluations: 2 in every episode, the policy plays one, idle the others",
        ),
        (
            ["environment.seats=2"],
            "processes: 2 rollout workers with 24 episodes each, 1 learner, 1 environment server",
        ),
        (
            ["algorithm=bradley_terry"],
            "reward: 0 * return + 1 * lcb of a reward model, trained on pairs in every iteration, no stop",
        ),
        (
            ["algorithm=grpo", "kl.target=0.05", "learn.options.kl_coef=0.01"],
            "kl: the coefficient follows a target of 0.05 nats",
        ),
        (
            ["algorithm=grpo", "horizon.rounds=[3,6]"],
            "horizon: 3, 6 turns of an explored episode, 1 iterations each",
        ),
        (
            ["algorithm=grpo", "horizon.rounds=[3,6]", "horizon.success=0.5"],
            "horizon: 3, 6 turns of an explored episode, the next at 50% success in validation",
        ),
        (
            ["environment.format=react", "environment.max_turns=9", "explore.max_new_tokens=64"],
            "actions: react, at most 64 tokens, at most 9 turns",
        ),
        (
            ["rollout.mode=one_step_off"],
            "rollout: one_step_off, 1 round explored during training on another",
        ),
        (
            ["rollout.mode=asynchronous", "rollout.in_flight=abort"],
            "rollout: asynchronous, up to 2 rounds explored during training on another, episodes under way"
            " abort",
        ),
        (
            ["ray.address=auto", "engine.slots=8"],
            "processes: 2 rollout workers with 8 episodes each, 1 learner, 1 environment server, on the Ray"
            " cluster at auto",
        ),
        (
            ["ray.address=auto", "ray.environment_labels.role=worlds"],
            "processes: 2 rollout workers with 48 episodes each, 1 learner, 1 environment server on a node"
            " with role=worlds, on the Ray cluster at auto",
        ),
        (
            ["algorithm=grpo", "explore.resample=2"],
            "resample: up to 2 rounds of tasks in place of those with equal returns",
        ),
        (
            ["algorithm=lagrangian", "constraints.turns.limit=4"],
            "constraint: mean turns at most 4, its price follows",
        ),
    ],
)
def test_the_plan_names_what_steers_the_run(settings: list[str], line: str):
    assert line in lines(*settings)


@pytest.mark.parametrize("name", names())
def test_the_plan_names_the_turn_limit_of_each_environment(name: str):
    told = [line for line in lines(f"env={name}", "base=starter:guess") if line.startswith("actions:")]
    assert re.search(r"at most [1-9]\d* turns$", told[0])


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        (["env=wordle"], "at most 6 turns"),
        (["env=wordle", "environment.options.invalid=free"], "at most 12 turns"),
        (["env=wordle,textcraft"], "wordle: at most 6 turns, textcraft: at most 30 turns"),
        (
            ["env=wordle,textcraft", "mixture.wordle.environment.options.invalid=free"],
            "wordle: at most 12 turns, textcraft: at most 30 turns",
        ),
    ],
)
def test_turn_limits_are_those_of_the_options(settings: list[str], limits: str):
    told = [line for line in lines(*settings, "base=starter:guess") if line.startswith("actions:")]
    assert told[0].endswith(f"tokens, {limits}")


def test_the_plan_of_rlhf_names_its_three_stages():
    told = plan(load(None, ["base=starter:guess", "env=guess"], preset="rlhf"))
    stages = [line for line in told if line.startswith(("clone", "rewards", "learn", "reward:", "kl"))]
    assert stages == [
        "clone: the base trains on 400 episodes of the expert, 1 epochs, learning rate 0.0003",
        "learn: ppo (value_coef 0.001, kl_coef 0.05), 1 epochs, learning rate 0.0001",
        "rewards: bradley_terry on pairs of iterations 1 to 6, 1 epochs, learning rate 0.001; the policy"
        " learns in iterations 7 to 12",
        "reward: 0 * return + 1 * lcb of a reward model, which stays as it is, stop when exploited 2 times"
        " in a row",
        "kl: the coefficient follows a target of 0.05 nats",
    ]


def test_a_plain_run_has_none_of_these_lines():
    begins = ("process rewards", "turns earn", "reward", "kl", "horizon", "resample", "constraint")
    assert not [line for line in lines("algorithm=grpo") if line.startswith(begins)]


JUDGED = 'environment.options.judge_model=\'{"base_url": "http://h/v1", "model": "big"}\''


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ([JUDGED], True),  # the environment's judge gives both rewards
        (["algorithm=grpo", JUDGED, "reward.judge=rubric", "reward.options.model=small"], False),
        (["algorithm=grpo", JUDGED, "reward.judge=rubric", "reward.options.model=big"], True),
        (["algorithm=grpo", JUDGED, "reward.judge=service", "reward.options.judges=rule, openai:big"], True),
        (["algorithm=grpo", JUDGED, "reward.judge=service", "reward.options.judges=rule"], False),
        (["algorithm=grpo", JUDGED, "reward.function=success"], False),
        (["algorithm=grpo", JUDGED, "reward.function=success", "reward.alpha=0.5"], True),
        (["environment.options.judge_model=big"], True),
        (["environment.options.judge=big"], False),  # a kind of judge, no model
        ([], False),
    ],
)
def test_a_judge_of_training_and_evaluation_is_warned_of(settings: list[str], warned: bool) -> None:
    found = shared_judges(load(None, ["algorithm=grpo", *settings]))
    assert found == [WARNING] * warned


def test_the_plan_has_the_warning() -> None:
    assert WARNING in lines("algorithm=grpo", "env=sotopia", "base=starter:guess", JUDGED)
    assert WARNING not in lines("algorithm=grpo")


def test_the_engines_of_a_leagues_partners_are_in_the_memory_of_a_worker():
    league = lines("environment.seats=2", "selfplay.partner=league", "engine.slots=4")
    (told,) = [line for line in league if "partners of a league" in line]
    assert "2 rollout workers" in told
    assert not any("partners of a league" in line for line in lines("environment.seats=2"))

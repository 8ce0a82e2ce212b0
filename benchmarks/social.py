"""Scores of scripted policies in the verifiable social worlds, with intervals; and the environment's speed.

    python -m benchmarks social [--tasks 1200] [--split train] [--families price,split] [--json | --speed]

Rule-based partner and outcome verifier; not Sotopia's judge; not a measure of social intelligence.

`goal`, `secret` and `rules` are means of Sotopia's dimensions, a dash where a family does not define one;
`reward` is the training reward, and `of expert` its share of the expert's. `--speed` prints steps and resets
per second.
"""

import argparse
import json
from collections.abc import Sequence
from time import perf_counter

from agentgym_envs.registry import make
from agentgym_envs.social import Social
from agentgym_envs.social.outcome import LABEL
from agentgym_envs.social.scripts.suite import Scores, measure, violations
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import Conversation, Rules

COLUMNS = "{:9} {:15} {:>8} {:>14} {:>7} {:>6} {:>7} {:>10} {:>6} {:>6} {:>6}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; exit code 1 if a policy earns what it may not."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks social", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--tasks", type=int, default=1200, help="tasks of each family and split")
    parser.add_argument("--split", action="append", help="train by default; repeatable")
    parser.add_argument("--families", default="", help="names separated by commas; all by default")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument("--speed", action="store_true", help="print steps and resets per second")
    given = parser.parse_args(arguments)
    if given.speed:
        _print_speed()
        return
    scores = measure(Social(given.families), given.tasks, given.split or ["train"])
    told = violations(scores)
    if given.json:
        rows = [one.model_dump() for one in scores]
        print(json.dumps({"label": LABEL, "scores": rows, "violations": dict(told)}, indent=1))
    else:
        _print_table(scores)
        print(*(f"{name}: {what}" for name, what in told.items()), sep="\n", end="\n" if told else "")
    if told:
        raise SystemExit(1)


def _print_table(scores: Sequence[Scores]) -> None:
    print(f"{LABEL}\n")
    best = {one.family: one.reward for one in scores if one.rule == "expert"}
    header = (
        "family",
        "policy",
        "episodes",
        "goal",
        "secret",
        "rules",
        "reward",
        "of expert",
        "deals",
        "Pareto",
        "turns",
    )
    print(COLUMNS.format(*header))
    for one in scores:
        print(
            COLUMNS.format(
                one.family,
                one.policy,
                one.episodes,
                f"{one.goal:.2f} ± {one.goal_half:.2f}",
                _number(one.secret),
                _number(one.social_rules),
                f"{one.reward:.3f}",
                f"{one.reward / best[one.family]:.0%}",
                f"{one.deals:.0%}",
                "–" if one.pareto is None else f"{one.pareto:.0%}",
                f"{one.turns:.1f}",
            )
        )


def _number(score: float | None) -> str:
    return "–" if score is None else f"{score:.2f}"


def _print_speed() -> None:
    world = make("social")
    tasks = [world.tasks("train")[number] for number in range(600)]
    plans = [world.demonstrate(task, seed) for seed, task in enumerate(tasks)]
    started = perf_counter()
    for seed, task in enumerate(tasks):
        world.reset(task, seed)
    resets = perf_counter() - started
    steps, spent = 0, 0.0
    for seed, (task, plan) in enumerate(zip(tasks, plans, strict=True)):
        world.reset(task, seed)
        started = perf_counter()
        for action in plan:
            world.step(action)
        spent += perf_counter() - started
        steps += len(plan)
    print(f"reset          {1000 * resets / len(tasks):.3f} ms")
    print(f"step           {steps / spent:,.0f} a second, each with the partner's reply")
    print(f"protocol alone {_turns_per_second():,.0f} turns a second")


def _turns_per_second() -> float:
    words = Action(action_type="speak", argument="I could do a little better. [OFFER 72.50]")
    started, turns = perf_counter(), 0
    for _ in range(2000):
        talk = Conversation(("A B", "C D"), ("", ""), Rules(stale_rule="own"))
        while not talk.ended:
            talk.apply({talk.turn_number % 2: words})
        turns += talk.turn_number
    return turns / (perf_counter() - started)

"""Scores of policies without a model in the tau domains, on built-in tasks and on imported ones; and times.

    python -m benchmarks tau [--json | --scripted]

Counts are of episodes that earn the benchmark's reward, `strict` of those that also keep the conditions of
the option `strict`. Times are medians over all tasks of the first imported split, or of `test`. `--scripted`
prints how many tasks the scripted user takes instead.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any, cast

from agentgym_envs.core import StepResult, Task
from agentgym_envs.registry import make
from agentgym_envs.tau.environment import TauEnvironment
from agentgym_envs.tau.users import can_be_scripted
from agentgym_envs.tooluse.environment import ToolEnvironment

Environment = ToolEnvironment[Any, Any]
Tau = TauEnvironment[Any]
Policy = Callable[[Environment, Task], Sequence[str]]

NAMES = ("tau-telecom", "tau-retail", "tau-airline", "tau-mock")
SCRIPTED = ("tau-retail", "tau-airline")
"""Environments with a scripted user."""
OWNER = {"customer_id": "C1001", "line_id": "L1002"}


def call(name: str, /, **arguments: object) -> str:
    """A call as an action."""
    return json.dumps({"name": name, "arguments": arguments})


DONE = call("done")
TRANSFER = call("transfer_to_human_agents", summary="-")
RECIPE = (
    call("reseat_sim_card"),
    call("set_network_mode_preference", mode="4g_5g_preferred"),
    call("reset_apn_settings"),
    call("grant_app_permission", app_name="messaging", permission="sms"),
    call("grant_app_permission", app_name="messaging", permission="storage"),
    call("disconnect_vpn"),
    call("enable_roaming", **OWNER),
    call("send_payment_request", customer_id="C1001", bill_id="B1234321"),
    call("make_payment"),
    call("resume_line", **OWNER),
    call("refuel_data", **OWNER, gb_amount=2.0),
    call("reboot_device"),
    TRANSFER,
    DONE,
)
"""Fixes of telecom without a look, for the customer of the benchmark."""


@dataclass(frozen=True)
class Row:
    """Score of one policy on one split."""

    environment: str
    split: str
    policy: str
    tasks: int
    won: int
    strict: int


@dataclass(frozen=True)
class Times:
    """Medians in microseconds."""

    environment: str
    split: str
    reset: float
    tool: float
    """One tool call of the expert, as an action, with its observation."""
    verdict: float


def main(given: Sequence[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks tau", description="Scores without a model.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--scripted", action="store_true", help="print the tasks of the scripted user")
    options = parser.parse_args(given)
    as_json = options.json
    if options.scripted:
        print_scripted()
        return
    rows = [row for name in NAMES for row in scores(name)]
    timed = [times(name) for name in NAMES]
    if as_json:
        print(
            json.dumps({"scores": [asdict(row) for row in rows], "times_us": [asdict(one) for one in timed]})
        )
        return
    print("| environment | split | policy | won | strict |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row.environment} | {row.split} | {row.policy} | {row.won}/{row.tasks} | {row.strict} |")
    print("\n| environment | split | reset, µs | tool, µs | verdict, µs |\n|---|---|---|---|---|")
    for one in timed:
        print(f"| {one.environment} | {one.split} | {one.reset:.0f} | {one.tool:.0f} | {one.verdict:.0f} |")


def print_scripted() -> None:
    """Print how many tasks of each split each rule of the scripted user takes."""
    print("| environment | split | tasks | text | rehearsal | both | s |\n|---|---|---|---|---|---|---|")
    for name in SCRIPTED:
        everything, scripted = cast("Tau", make(name)), cast("Tau", make(name, user="scripted"))
        halves = {"tau2_train", "tau2_test"} & set(everything.splits)
        for split in [one for one in everything.splits if one not in halves] + ["tau2_base"] * bool(halves):
            tasks, started = everything.tasks(split), perf_counter()
            taken = len(scripted.tasks(split))
            seconds = perf_counter() - started
            by_text = sum(can_be_scripted(task.scenario) for task in tasks)
            by_rehearsal = sum(map(scripted.wins_rehearsal, tasks))
            print(
                f"| {name} | {split} | {len(tasks)} | {by_text} | {by_rehearsal} | {taken} | {seconds:.2f} |"
            )


def scores(name: str) -> Iterator[Row]:
    """Every policy on every split."""
    plain, strict = cast("Environment", make(name)), cast("Environment", make(name, strict=True))
    for split in plain.splits:
        tasks = list(plain.tasks(split))
        for policy_name, policy in policies(name, split).items():
            won = [sum(won_by(one, policy, task) for task in tasks) for one in (plain, strict)]
            yield Row(name, split, policy_name, len(tasks), *won)


def policies(name: str, split: str) -> dict[str, Policy]:
    """The policies that apply to a split."""
    found: dict[str, Policy] = {
        "oracle": lambda environment, task: environment.expert(task) or [],
        "do_nothing": lambda environment, task: [DONE],
        "transfer": lambda environment, task: [TRANSFER, DONE],
    }
    if name == "tau-telecom":
        found["searcher"] = lambda environment, task: environment.demonstrate(task, 0)
        if split.startswith("tau2"):
            found["recipe"] = lambda environment, task: RECIPE
    return found


def won_by(environment: Environment, policy: Policy, task: Task) -> bool:
    """True if an episode earns 1."""
    actions = policy(environment, task)
    environment.reset(task, 0)
    return sum(cast("StepResult", environment.step(action)).reward for action in actions) >= 1


def times(name: str) -> Times:
    """Times of resets, tool calls and verdicts."""
    environment = cast("Environment", make(name))
    split = next((one for one in environment.splits if one.startswith("tau2")), "test")
    resets, tools, verdicts = list[float](), list[float](), list[float]()
    for task in environment.tasks(split):
        plan = environment.expert(task) or []
        environment.reset(task, 0)  # its gold state is replayed once
        environment.verdict(task, environment.state)
        resets.append(timed(lambda task=task: environment.reset(task, 0)))
        tools += [timed(lambda action=action: environment.step(action)) for action in plan[:-1]]
        verdicts.append(timed(lambda task=task: environment.verdict(task, environment.state)))
    return Times(name, split, *(median(one) * 1e6 for one in (resets, tools, verdicts)))


def timed(play: Callable[[], object]) -> float:
    """Seconds of a call."""
    started = perf_counter()
    play()
    return perf_counter() - started

"""The benchmark's own tasks on its classes: solutions, bad episodes, threads, shared constants."""

import inspect
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.bfcl import needs_wheel

from agentgym_envs.bfcl import apis
from agentgym_envs.bfcl.apis import PACKAGE, documents_of_the_wheel, fresh, module_of
from agentgym_envs.bfcl.documents import FILES
from agentgym_envs.bfcl.importing import import_official, verify
from agentgym_envs.bfcl.sources import CATEGORIES
from agentgym_envs.core import Task
from agentgym_envs.registry import make
from agentgym_envs.testing import check_environment
from agentgym_envs.tooluse import ToolEnvironment
from agentgym_envs.tooluse.attacks import attack

pytestmark = [pytest.mark.golden, needs_wheel]

BFCL = ToolEnvironment[Any, Any]


@pytest.fixture(scope="module")
def home(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The staged tasks, imported."""
    source = shared_data / "bfcl"
    if not source.is_dir():
        pytest.skip(f"there is no {source}")
    folder = tmp_path_factory.mktemp("home")
    report = import_official(source, folder)
    assert (report.counts, report.refused) == (dict.fromkeys(CATEGORIES, 160), ())
    assert verify(folder) == []
    return folder


@pytest.fixture(scope="module")
def environment(home: Path) -> BFCL:
    return make("bfcl", home=home)  # type: ignore[return-value]


@pytest.fixture(scope="module")
def tasks(environment: BFCL) -> list[Task]:
    return [task for split in CATEGORIES for task in environment.tasks(split)]


def play(environment: BFCL, task: Task, actions: Sequence[str]) -> tuple[float, list[str]]:
    """The return, and the texts of all observations."""
    texts, total = [environment.reset(task, 0).text], 0.0
    for action in actions:
        result = environment.step(action)
        texts.append(result.observation.text)
        total += result.reward
    return total, texts


def won(environment: BFCL, tasks: Sequence[Task]) -> int:
    return sum(play(environment, task, environment.expert(task) or ())[0] == 1.0 for task in tasks)


def bad_actions(environment: BFCL, task: Task, draw: Random) -> list[str]:
    """Calls of the solution out of order, repeated and left out, among calls of tools with odd arguments."""
    plan = list(environment.expert(task) or ())
    draw.shuffle(plan)
    odd = [
        json.dumps(
            {"name": name, "arguments": {one: draw.choice(["x", 1, -3.5, [], {}]) for one in tool.required}}
        )
        for name, tool in draw.sample(list(environment.offered_to(task).items()), 8)
    ]
    actions = [*plan[: len(plan) // 2], *odd, *plan[len(plan) // 3 :]]
    draw.shuffle(actions)
    return actions


def test_the_ids_are_those_of_the_source(tasks: list[Task], shared_data: Path) -> None:
    for category in CATEGORIES:
        path = shared_data / "bfcl" / f"BFCL_v4_multi_turn_{category}.json"
        ids = [json.loads(line)["id"] for line in path.read_text().splitlines()]
        assert [task.id for task in tasks if task.split == category] == ids


def test_every_solution_is_valid_and_whoever_does_nothing_earns_nothing(
    environment: BFCL, tasks: list[Task]
) -> None:
    outcomes = Counter[str]()
    for task in tasks:
        environment.reset(task, 0)
        results = [environment.step(action) for action in environment.expert(task) or ()]
        outcomes[results[-1].info["outcome"]] += 1
        assert {result.reward for result in results[:-1]} == {0.0}
    assert outcomes == {"success": 640}
    nothing = [play(environment, task, environment.giving_up(task))[0] for task in tasks]
    assert (len(nothing), set(nothing)) == (640, {0.0})


def constants() -> dict[str, Any]:
    """What the modules share in a process."""
    modules = {name: vars(module_of(name)) for name in FILES}
    modules["long_context"] = vars(import_module(f"{PACKAGE}.long_context"))
    return {
        f"{owner}.{name}": value
        for owner, members in modules.items()
        for name, value in members.items()
        if name.isupper()
    }


def test_bad_episodes_leave_nothing_behind(environment: BFCL, tasks: list[Task]) -> None:
    before = deepcopy(constants())
    assert len(before) > 30
    draw = Random(7)
    paid, good = 0, 0
    for task in tasks:
        paid += play(environment, task, bad_actions(environment, task, draw))[0] == 1.0
        good += won(environment, [task])
    assert (paid <= 6, good) == (True, 640)
    for task in [*tasks[480:640:2], *tasks[:20]]:  # long contexts, which change constants, and others
        play(environment, task, bad_actions(environment, task, draw))
    assert won(environment, tasks[::8]) == 80
    assert constants() == before


def test_the_comparison_of_constants_notices_a_change() -> None:
    before = deepcopy(constants())
    weather = constants()["long_context.LONG_WEATHER_EXTENSION"]
    weather["outsideTemperature"] = 1.0  # as the function does without its guard
    assert constants() != before
    del weather["outsideTemperature"]
    assert constants() == before


def interleaved(home: Path, tasks: Sequence[Task], plans: Sequence[Sequence[str]]) -> list[list[str]]:
    """The texts of episodes of which each takes a step in turn."""
    environments = [make("bfcl", home=home) for _ in tasks]
    texts = [[one.reset(task, 0).text] for one, task in zip(environments, tasks, strict=True)]  # type: ignore[union-attr]
    for turn in range(max(map(len, plans))):
        for number, plan in enumerate(plans):
            if turn < len(plan):
                texts[number].append(environments[number].step(plan[turn]).observation.text)  # type: ignore[union-attr]
    return texts


def test_episodes_of_eight_threads_are_those_that_are_played_alone(
    home: Path, environment: BFCL, tasks: list[Task]
) -> None:
    draw = Random(3)
    chosen = [*tasks[::10], *tasks[481:640:4]]
    plans = [
        [*bad_actions(environment, task, draw)] if number % 3 else list(environment.expert(task) or ())
        for number, task in enumerate(chosen)
    ]
    alone = [play(environment, task, plan)[1] for task, plan in zip(chosen, plans, strict=True)]
    parts = [slice(start, None, 8) for start in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: interleaved(home, chosen[part], plans[part]), parts))
    for part, texts in zip(parts, found, strict=True):
        assert texts == alone[part]


def test_one_call_at_a_time_draws_the_temperature() -> None:
    """Eight threads call the function that writes to a constant; each gets the numbers of its generator."""

    def drawn(seed: int) -> list[str]:
        from agentgym_envs.bfcl.world import World

        world = World(("VehicleControlAPI",), {"VehicleControlAPI": {"random_seed": seed}}, True)
        name = "get_outside_temperature_from_google"
        return [world.call("VehicleControlAPI", name, {}) for _ in range(200)]

    alone = [drawn(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(drawn, range(8))) == alone


def parameters() -> Iterator[tuple[str, Any, Any]]:
    for owner in FILES:
        instance = fresh(owner, {}, False)
        for line in documents_of_the_wheel(owner).splitlines():
            document = json.loads(line)
            yield f"{owner}.{document['name']}", document, getattr(instance, document["name"])


def test_the_documented_order_is_that_of_the_functions() -> None:
    differing = {
        name: list(inspect.signature(function).parameters)
        for name, document, function in parameters()
        if list(document["parameters"]["properties"]) != list(inspect.signature(function).parameters)
    }
    # Positional arguments are in the documented order, which is the one that an agent knows.
    assert differing == {
        "TravelAPI.purchase_insurance": [
            *("access_token", "insurance_type", "booking_id", "insurance_cost", "card_id")
        ]
    }
    assert len(list(parameters())) == 128


def test_the_documents_of_the_data_are_those_of_the_wheel(shared_data: Path) -> None:
    for owner, name in FILES.items():
        path = shared_data / "bfcl" / "multi_turn_func_doc" / f"{name}.json"
        assert path.read_text(encoding="utf-8") == documents_of_the_wheel(owner)


def test_a_function_that_reads_leaves_the_state_and_the_random_numbers(
    environment: BFCL, tasks: list[Task]
) -> None:
    looked_at = Counter[str]()
    for task in tasks[:160]:
        environment.reset(task, 0)
        for action in environment.expert(task) or ():
            called = json.loads(action)["name"] if action.startswith("{") else ""
            before = private_state(environment)
            environment.step(action)
            tool = environment.toolset.get(called)
            if tool is not None and tool.kind != "write":
                looked_at[called] += 1
                assert private_state(environment) == before, (task.id, action)
    assert len(looked_at) > 30


def private_state(environment: BFCL) -> object:
    instances: dict[str, Any] = environment.state.world.instances
    hidden = {
        owner: (getattr(one, "_random", None) and one._random.getstate(), getattr(one, "_current_dir", None))
        for owner, one in instances.items()
    }
    return environment.net_change(), {
        owner: (state, folder and folder.name) for owner, (state, folder) in hidden.items()
    }


def test_the_age_of_a_traveller_does_not_depend_on_today() -> None:
    travels = fresh("TravelAPI", {"user_first_name": "Ada", "user_last_name": "Bo"}, False)
    verified = partial(travels.verify_traveler_information, "Ada", "Bo", passport_number="US1")
    assert verified("2006-09-01") == {"verification_status": True}
    assert verified("2006-09-02")["verification_status"] is False
    assert apis.FixedTime.today().date().isoformat() == "2024-09-01"


def test_the_attack_suite_finds_nothing(environment: BFCL) -> None:
    report = attack(environment, 6, splits=CATEGORIES)
    assert report.passed, [(one.name, one.violations) for one in report.results if one.violations]
    assert next(one for one in report.results if one.name == "oracle").mean == 1.0


def test_the_contract_is_kept_with_imported_tasks(home: Path) -> None:
    report = check_environment(lambda: make("bfcl", home=home), tasks_per_split=2, rows_per_split=20)
    assert report.passed, "\n".join(report.lines())


def test_known_issues_name_tasks_that_there_are(tasks: list[Task]) -> None:
    issues = json.loads(
        Path(inspect.getfile(apis)).with_name("known_issues.json").read_text(encoding="utf-8")
    )
    named = [task_id for issue in issues["tasks"] for task_id in issue["tasks"]]
    assert set(named) <= {task.id for task in tasks}
    assert all(issue[key] for issue in (*issues["tasks"], *issues["general"]) for key in ("reason", "effect"))
    crowded = [task.id for task in tasks if any(len(calls) > 20 for calls in task.dialogue.gold)]  # type: ignore[attr-defined]
    unchecked = [task.id for task in tasks if not task.dialogue.gold[-1]]  # type: ignore[attr-defined]
    assert crowded == ["multi_turn_long_context_38", "multi_turn_long_context_46"]
    assert unchecked == [f"multi_turn_{category}_167" for category in CATEGORIES]
    assert {*crowded, *unchecked} <= set(named)


def test_a_turn_of_the_solution_may_be_one_message(home: Path) -> None:
    environment = make("bfcl", home=home)
    tasks = [task for split in CATEGORIES for task in environment.tasks(split)]
    long = [task for task in tasks if max(map(len, task.dialogue.gold)) > 32]
    assert [task.id for task in long] == ["multi_turn_long_context_38", "multi_turn_long_context_46"]
    for task in long:
        environment.reset(task, 0)
        results = [
            environment.step(message)
            for calls in task.dialogue.gold
            for message in (*([_as_one(calls)] if calls else []), "Done.")
        ]
        assert results[-1].reward == 1.0


def _as_one(calls: Sequence[Any]) -> str:
    return json.dumps([{"name": call.name, "arguments": dict(call.arguments)} for call in calls])

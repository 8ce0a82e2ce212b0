"""Turns, withheld functions, verdicts and limits of the environment, on generated and on imported tasks."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.bfcl import needs_wheel

from agentgym_envs.bfcl.apis import documents_of_the_wheel
from agentgym_envs.bfcl.dialogues import MORE_FUNCTIONS
from agentgym_envs.bfcl.documents import FILES
from agentgym_envs.bfcl.importing import import_official
from agentgym_envs.core import StepResult, TaskNotFound
from agentgym_envs.registry import make
from agentgym_envs.tooluse.attacks import attack

pytestmark = needs_wheel


def said(*texts: str) -> list[list[dict[str, str]]]:
    return [[{"role": "user", "content": text}] if text else [] for text in texts]


TREE = {
    "root": {
        "desk": {
            "type": "directory",
            "contents": {
                "box": {"type": "directory", "contents": {"in.txt": {"type": "file", "content": "b\na"}}},
                "a.txt": {"type": "file", "content": "two\none"},
            },
        }
    }
}
TASKS = {
    "base": {
        "question": said("Sort a.txt.", "Make a folder 'new'."),
        "involved_classes": ["GorillaFileSystem", "MathAPI"],
        "excluded_function": ["rm"],
        "truth": [["sort('a.txt')"], ["mkdir(dir_name='new')"]],
    },
    "miss_func": {
        "question": said("Sort a.txt.", "", "Add 1 and 2."),
        "involved_classes": ["GorillaFileSystem", "MathAPI"],
        "missed_function": {"1": ["sort"]},
        "truth": [[], ["sort('a.txt')"], ["add(a=1, b=2)"]],
    },
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks of our own, imported from a folder in the benchmark's layout."""
    folder = tmp_path_factory.mktemp("bfcl")
    (folder / "possible_answer").mkdir()
    (folder / "multi_turn_func_doc").mkdir()
    for owner, name in FILES.items():
        (folder / "multi_turn_func_doc" / f"{name}.json").write_text(documents_of_the_wheel(owner))
    for category, fields in TASKS.items():
        task = {"id": f"multi_turn_{category}_1", "initial_config": {"GorillaFileSystem": TREE}, **fields}
        file = f"BFCL_v4_multi_turn_{category}.json"
        (folder / file).write_text(json.dumps(task))
        (folder / "possible_answer" / file).write_text(
            json.dumps({"id": task["id"], "ground_truth": fields["truth"]})
        )
    assert import_official(folder, folder).counts == {"base": 1, "miss_func": 1}
    return folder


def played(home: Path, task_id: str, actions: Sequence[str], **options: object) -> list[StepResult]:
    environment = make("bfcl", home=home, **options)
    environment.reset(environment.task(task_id), 0)
    return [environment.step(action) for action in actions]


def texts(results: Sequence[StepResult]) -> list[str]:
    return [result.observation.text for result in results]


BASE, WITHHELD = "multi_turn_base_1", "multi_turn_miss_func_1"


def test_the_user_speaks_when_the_agent_does_and_the_last_answer_ends_the_episode(home: Path) -> None:
    results = played(home, BASE, ["sort('a.txt')", "Sorted.", "[mkdir(dir_name='new'), ls()]", "Made."])
    assert texts(results) == [
        '{"sorted_content": "one\\ntwo"}',
        "Make a folder 'new'.",
        'None\n{"current_directory_content": ["box", "a.txt", "new"]}',
        "The user has no further request.",
    ]
    assert [(result.reward, result.terminated) for result in results] == [(0, False)] * 3 + [(1, True)]
    assert results[-1].info == {"outcome": "success", "checked_turns": 2, "passed_turns": 2}
    assert all(result.info == {} for result in results[:-1])


@pytest.mark.parametrize(
    "message",
    [
        "sort('a.txt'),",
        "[sort('a.txt')];",
        "`sort('a.txt')`",
        "```python\nsort('a.txt')\n```",
        "```\n[sort('a.txt')]\n```",
        "<think>Which?</think>\n```py\n# the file\nsort('a.txt')\n```",
    ],
)
def test_calls_that_are_nearly_python_are_executed(home: Path, message: str) -> None:
    (result,) = played(home, BASE, [message])
    assert (result.observation.text, result.info) == ('{"sorted_content": "one\\ntwo"}', {})


def test_a_call_on_each_line_is_executed(home: Path) -> None:
    (result,) = played(home, BASE, ["```python\nmkdir(dir_name='new')\n\ncd('new'),\nls()\n```"])
    assert result.observation.text.startswith('None\n{"current_working_directory": "new"}\n{')


@pytest.mark.parametrize(
    "message",
    [
        "I sort it:\n```python\nsort('a.txt')\n```",
        "x = sort('a.txt')",
        "sort('a.txt'",
        "First sort('a.txt'), then we see.",
        "sort('a.txt')\nDone.",
        'It is {"name": "sort", "arguments": {}}.',
    ],
)
def test_text_that_resembles_a_call_ends_the_turn_and_info_says_so(home: Path, message: str) -> None:
    (result,) = played(home, BASE, [message])
    assert result.observation.text == "Make a folder 'new'."
    assert result.info["parse"].startswith("no call could be read, so that the message is the answer")


@pytest.mark.parametrize("message", ["Done.", "[]", "", "<think>sort('a.txt')</think>Done."])
def test_a_message_without_a_call_ends_the_turn(home: Path, message: str) -> None:
    (result,) = played(home, BASE, [message])
    assert (result.observation.text, result.info) == ("Make a folder 'new'.", {})


@pytest.mark.parametrize("message", ["sort(open('a.txt'))", "cd('box')\nsort(x)", "<think>?</think>f(g())"])
def test_calls_whose_arguments_are_no_literals_are_told_and_end_no_turn(home: Path, message: str) -> None:
    (result,) = played(home, BASE, [message])
    assert "the arguments of a call are literals" in result.observation.text
    assert result.info == {"invalid_action": True}


def test_agents_speak_to_its_user(home: Path) -> None:
    assert make("bfcl", home=home).speaks
    assert not make("weather").speaks


def test_the_opening_is_the_first_message_of_the_user(home: Path) -> None:
    environment = make("bfcl", home=home)
    first = environment.reset(environment.task(BASE), 0)
    assert first.text.endswith("\n\nSort a.txt.")
    assert first.tools is not None
    names = [tool["function"]["name"] for tool in first.tools]
    assert len(names) == 18 - 1 + 17
    assert "rm" not in names


@pytest.mark.parametrize(
    ("actions", "outcome", "passed"),
    [
        (["Done.", "Done."], "no_submit", 0),
        (["sort('a.txt')", "Done.", "Done."], "no_submit", 1),
        (["cat('a.txt')", "Done.", "mkdir('new')", "Done."], "missing_evidence", 1),
        (["sort('a.txt')", "touch('x')", "Done.", "mkdir('new')", "Done."], "wrong_state", 0),
        (["sort('a.txt')", "Done.", "mkdir('other')", "Done."], "wrong_state", 1),
    ],
)
def test_an_episode_fails_with_the_reason_of_its_first_wrong_turn(
    home: Path, actions: list[str], outcome: str, passed: int
) -> None:
    info = {"outcome": outcome, "checked_turns": 2, "passed_turns": passed}
    last = played(home, BASE, actions)[-1]
    assert (last.reward, last.terminated, last.info) == (0.0, True, info)
    assert played(home, BASE, actions, shaping=True)[-1].reward == passed / 2


def test_nothing_is_paid_or_changed_after_the_end(home: Path) -> None:
    actions = ["sort('a.txt')", "a", "mkdir('new')", "b", "mkdir('other')", "c"]
    results = played(home, BASE, actions)
    assert [result.reward for result in results] == [0, 0, 0, 1, 0, 0]
    assert ["episode_done" in text for text in texts(results)] == [False] * 4 + [True] * 2


def test_a_withheld_function_is_offered_when_the_user_adds_it(home: Path) -> None:
    results = played(
        home, WITHHELD, ["sort('a.txt')", "I cannot.", "sort('a.txt')", "Here.", "add(1, 2)", "3"]
    )
    assert json.loads(results[0].observation.text)["error"]["code"] == "unknown_tool"
    assert results[1].observation.text == MORE_FUNCTIONS
    offered = [
        ["sort" in str(tool["function"]["name"]) for tool in one.observation.tools or ()] for one in results
    ]
    assert [any(names) for names in offered] == [False, True, True, True, True, True]
    assert results[-1].reward == 1.0


def test_a_function_that_is_added_later_is_told_in_text_in_the_turn_that_adds_it(home: Path) -> None:
    environment = make("bfcl", home=home, tools_in="text")
    first = environment.reset(environment.task(WITHHELD), 0)
    assert "\nmkdir(" in first.text
    assert "\nsort(" not in first.text
    refused, added, sorted_ = (
        environment.step(one) for one in ("sort('a.txt')", "I cannot.", "sort('a.txt')")
    )
    assert json.loads(refused.observation.text)["error"]["code"] == "unknown_tool"
    assert added.observation.text == f"{MORE_FUNCTIONS}\nsort(file_name)"
    assert "sort(" not in sorted_.observation.text
    assert {one.observation.tools for one in (refused, added, sorted_)} == {first.tools} == {None}


def test_a_turn_has_twenty_messages_with_calls(home: Path) -> None:
    won = ["ls()"] * 19 + ["sort('a.txt')", "Done.", *["ls()"] * 19, "mkdir('new')", "Done."]
    assert played(home, BASE, won)[-1].reward == 1.0
    results = played(home, BASE, ["ls()"] * 19 + ['{"name": ', "sort('a.txt')", "Done."])
    assert [result.terminated for result in results[18:]] == [False, False, True, True]
    results = played(home, BASE, ["sort('a.txt')", "Done.", *["ls()"] * 21])
    assert results[-1].info == {"outcome": "tool_limit", "checked_turns": 2, "passed_turns": 1}


HOSTILE = (
    "__import__('os').getpid()",
    "open('/etc/passwd')",
    "[open('/etc/passwd')]",
    "os.system('id')",
    "ls.__call__()",
    "(lambda: 1)()",
    "ls()()",
    "getattr(ls, '__self__')()",
    "cat(file_name=pwd())",
    "sort(sort('a.txt'))",
    "sort(*['a.txt'])",
    "sort(**{'file_name': 'a.txt'})",
    "sort(f'a.txt')",
    "sort('a' + '.txt')",
    "sort(file_name=a)",
    "sort('a.txt', 'b.txt')",
    "sort('a.txt', file_name='a.txt')",
    "sort(self='x', file_name='a.txt')",
    "_load_scenario(scenario={})",
    "__init__()",
    "__eq__(other=1)",
    "root()",
    "rm(file_name='a.txt')",
    "post_tweet(content='x')",
    "add(a=float('nan'), b=1)",
    "add(a=1e999, b=1)",
    "add(a=1j, b=1)",
    "add(a=(1, 2), b=1)",
    "mean(numbers={1, 2})",
)


@pytest.mark.parametrize("action", HOSTILE)
def test_a_hostile_call_is_an_error_that_changes_nothing(home: Path, action: str) -> None:
    environment = make("bfcl", home=home)
    environment.reset(environment.task(BASE), 0)
    before = environment.net_change()
    result = environment.step(action)
    assert json.loads(result.observation.text)["error"]["code"] in (
        "parse_error",
        "unknown_tool",
        "invalid_arguments",
    )
    assert result.info == {"invalid_action": True}
    assert environment.net_change() == before
    for solution in ("sort('a.txt')", "Done.", "mkdir('new')", "Done."):
        result = environment.step(solution)
    assert result.reward == 1.0


@pytest.mark.parametrize(
    "action",
    [
        "power(base=9, exponent=999999)",
        "power(9, -1e9)",
        "round_number(number=5, decimal_places=-1000000000)",
        "square_root(number=2, precision=999999999)",
        "logarithm(value=2, base=10, precision=100000)",
        "multiply(a=1e101, b=2)",
        "mean(numbers=[1, 1e200])",
        f"[{', '.join(['ls()'] * 51)}]",
    ],
)
def test_a_costly_call_is_refused(home: Path, action: str) -> None:
    error = json.loads(texts(played(home, BASE, [action]))[0])["error"]
    assert error["code"] == "limit"


def test_a_folder_is_not_copied_into_itself_nor_beyond_the_bound(home: Path) -> None:
    environment = make("bfcl", home=home)
    environment.reset(environment.task(BASE), 0)
    before = environment.net_change()
    assert '"limit"' in environment.step("cp(source='box', destination='box')").observation.text
    assert environment.net_change() == before
    grown = [environment.step(f"cp(source='box', destination='box{n % 2}')") for n in range(2)]
    assert not any('"limit"' in text for text in texts(grown))
    for _ in range(3):  # each doubles what is below
        environment.step("cp(source='box0', destination='box1')")
        environment.step("cp(source='box1', destination='box0')")
    assert environment.step("du()").observation.text.startswith('{"disk_usage": ')


def test_precision_of_a_calculation_ends_with_it(home: Path) -> None:
    from decimal import getcontext

    mpmath = pytest.importorskip("mpmath")
    before = getcontext().prec, mpmath.mp.dps
    shown = texts(played(home, BASE, ["square_root(number=2, precision=5)", "logarithm(100, 10, 30)"]))
    assert shown == ["{'result': Decimal('1.4142')}", "{'result': mpf('2.0')}"]
    assert (getcontext().prec, mpmath.mp.dps) == before


def test_a_snapshot_goes_on_as_the_episode_did(home: Path) -> None:
    environment, other = make("bfcl", home=home), make("bfcl", home=home)
    environment.reset(environment.task(WITHHELD), 0)
    environment.step("I cannot.")
    snapshot = environment.snapshot()
    plan = ["sort('a.txt')", "Here.", "add(1, 2)", "3"]
    first = [environment.step(action) for action in plan]
    for instance in (environment, other):
        instance.restore(snapshot)
        instance.step("touch('x')")
        instance.restore(snapshot)
        assert [instance.step(action) for action in plan] == first
    assert first[-1].reward == 1.0
    with pytest.raises(TypeError):
        environment.restore("a snapshot")


def test_without_data_the_command_that_imports_them_is_said(tmp_path: Path) -> None:
    environment = make("bfcl", home=tmp_path)
    assert environment.splits == ("train", "valid", "test")
    with pytest.raises(TaskNotFound, match=r"no split 'base'.*agentevol data import bfcl DIR"):
        environment.tasks("base")
    with pytest.raises(TaskNotFound, match="no task 'multi_turn_base_1'; agentevol data import bfcl DIR"):
        environment.task("multi_turn_base_1")


def test_the_version_of_the_data_is_part_of_the_environment(home: Path, tmp_path: Path) -> None:
    assert make("bfcl", home=tmp_path).data_version == "generated:1"
    assert make("bfcl", home=home).data_version.startswith("generated:1+imported:")


def test_generated_dialogues_are_solved_by_their_experts(tmp_path: Path) -> None:
    environment = make("bfcl", home=tmp_path)
    seen = set()
    for number in range(0, 2000, 20):
        task = environment.tasks("train")[number]
        environment.reset(task, 0)
        results = [environment.step(action) for action in environment.expert(task) or ()]
        assert results[-1].reward == 1.0, task.id
        assert not any("rror" in text for text in texts(results)), task.id
        seen.add(task.dialogue.model_dump_json())
        assert environment.task(task.id) == task
    assert len(seen) == 100


def test_the_attack_suite_finds_nothing(tmp_path: Path) -> None:
    report = attack(make("bfcl", home=tmp_path), 4)
    assert report.passed, [(one.name, one.violations) for one in report.results if one.violations]
    assert {one.name for one in report.results if one.episodes} >= {
        *("oracle", "do_nothing", "submit_first", "write_spray", "extra_write", "double_send"),
        *("forge_object", "hostile_strings", "control_reach", "random_calls"),
    }


def test_the_cap_of_the_last_turn_comes_before_the_end_of_the_budget(home: Path) -> None:
    environment = make("bfcl", home=home)
    task = environment.tasks("base")[0]
    environment.reset(task, 0)
    for _ in task.dialogue.says[1:]:
        results = [environment.step(action) for action in (*["nosuch()"] * 20, "Done.")]
        assert not any(result.terminated or result.truncated for result in results)
    results = [environment.step("nosuch()") for _ in range(21)]
    assert not any(result.terminated or result.truncated for result in results[:20])
    assert results[20].terminated
    assert results[20].info["outcome"] == "tool_limit"

"""AgentGym's own client classes, unmodified, against real servers.

They are not on PyPI: `AGENTEVOL_AGENTGYM` names the folder of a checkout of WooooDyy/AgentGym that holds the
package `agentenv` (there: `agentenv/`). Each test drives them in a process of its own, in which only what
they import for other purposes (torch, transformers, openai) is replaced by empty modules.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.readiness import ready_address

from agentgym_envs.alfworld.dialects import Dialect
from agentgym_envs.alfworld.environment import ALFWorld
from agentgym_envs.registry import make

CHECKOUT = Path(os.environ.get("AGENTEVOL_AGENTGYM", "/nonexistent"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHECKOUT / "agentenv" / "envs").is_dir(),
        reason="AGENTEVOL_AGENTGYM names no folder with AgentGym's package `agentenv`, which is not on PyPI",
    ),
]

STUBS = {
    "torch/__init__.py": """
class Tensor: ...
def no_grad():
    return lambda function: function
""",
    "torch/nn/__init__.py": "",
    "torch/nn/parallel.py": "class DistributedDataParallel: ...",
    "transformers/__init__.py": """
class GenerationConfig: ...
class PreTrainedModel: ...
class PreTrainedTokenizerBase: ...
""",
    "transformers/generation/__init__.py": "",
    "transformers/generation/utils.py": "class GenerateOutput: ...",
    "openai.py": "class OpenAI: ...",
}

DRIVER = """
import json, sys
from agentenv.controller import APIAgent, Evaluator
from agentenv import envs


class Script(APIAgent):
    # says one line after the other

    def __init__(self, *lines):
        self.lines = list(lines)

    def generate(self, conversation):
        return self.lines.pop(0), None


def task(name, path, **more):
    args = {"env_server_base": base + "/agentgym/" + path, "data_len": 2, "timeout": 60, **more}
    return getattr(envs, name + "Task")(client_args=args, n_clients=1)


def shown(output):
    return [output.state, output.reward, output.done]


def fails(act, *args):
    try:
        return act(*args)
    except Exception as error:
        return [type(error).__name__, *map(str, error.args)]


base, code, out = sys.argv[1:]
found = {}
exec(code)
json.dump(found, open(out, "w"))
"""

STAND_INS = """
import sys
from agentgym_server.serve import serve_environments
from agentgym_server.settings import ServerSettings
from support.server.environments import CheapMischief, Echo, Mischief
ECHOES = "webshop sciworld textcraft maze wordle searchqa weather movie todo academia sheet webarena".split()
if __name__ == "__main__":
    worlds = {**dict.fromkeys(ECHOES, Echo), "sqlgym": Mischief, "babyai": CheapMischief}
    sys.exit(serve_environments(worlds, 0, ServerSettings(workers=None, max_sessions=int(sys.argv[1]))))
"""


@contextmanager
def running(*command: str, **environment: str) -> Generator[str]:
    """A server process, by its address."""
    process = subprocess.Popen(
        [sys.executable, *command], env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    )
    try:
        yield ready_address(process)
    finally:
        process.send_signal(signal.SIGINT)  # SIGTERM would wait for open episodes
        process.wait()


@pytest.fixture(scope="module")
def stand_ins() -> Generator[str]:
    with running("-c", STAND_INS, "100") as address:
        yield address


@pytest.fixture
def household(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[str]:
    """ALFWorld as `agentevol envs up` serves it, in one of its dialects, without imported games."""
    options = ("--option", f"alfworld.dialect={request.param}")
    command = ("-m", "agentevol", "envs", "up", "alfworld", "--port", "0", *options)
    with running(*command, AGENTEVOL_HOME=str(tmp_path / "home")) as address:
        yield address


def drive(tmp_path: Path, address: str, code: str) -> dict[str, Any]:
    """Run `code` with AgentGym's classes; what it leaves in `found`."""
    stubs = tmp_path / "stubs"
    for name, text in STUBS.items():
        (stubs / name).parent.mkdir(parents=True, exist_ok=True)
        (stubs / name).write_text(text)
    out = tmp_path / "found.json"
    path = os.pathsep.join([str(stubs), str(CHECKOUT)])
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, address, code, str(out)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


@dataclass(frozen=True)
class Game:
    """The household's first game as the environment itself plays it, in the texts of AgentGym's server."""

    room: str
    actions: str
    plan: list[str]
    replies: list[str]


def first_game(dialect: Dialect) -> Game:
    household = ALFWorld(dialect)
    task = household.tasks("train")[0]
    begun = household.reset(task, 0)
    room = "\n".join(begun.text.split("\n\n")[1:])
    assert room.startswith("You are in the middle of a room. Looking quickly around you, you see a ")
    assert "\nYour task is to: " in room
    plan = household.expert(task)
    assert plan is not None
    replies = [household.step(command).observation.text for command in plan]
    return Game(room, ",".join(begun.actions), plan, replies)


def call(command: str) -> list[str]:
    """A command as AgentGym's adapter names it: the function, then its arguments."""
    name, objects = command.replace("go to ", "goto ").split(" ", 1)
    return [name, *re.split(" (?:from|to|with|in/on) ", objects)]


@pytest.mark.parametrize("household", ["move"], indirect=True)
def test_alfworld_is_won_through_agentgyms_evaluator(household: str, tmp_path: Path):
    game = first_game("move")
    found = drive(
        tmp_path,
        household,
        f"commands = {game.plan!r}"
        """
alfworld = task("AlfWorld", "alfworld/")
client = alfworld.clients[0]
agent = Script(*(f"Thought:\\nI try.\\n\\nAction:\\n{command}" for command in commands))
result = Evaluator(agent, [alfworld]).eval(idxs=[0], max_rounds=30)
said = [message["content"] for message in result.experiences[0].conversation]
found = {"score": float(result.score), "success": float(result.success), "first": said[2], "last": said[-1],
         "after the end": fails(client.step, "Action: look"), "begun": client.reset(0)["observation"],
         "empty": shown(client.step("no action at all")), "world": fails(client.reset, 0, "Nowhere"),
         "too far": fails(client.reset, 10 ** 9), "closed": client.close()}
""",
    )
    # Ids begin with the server's instance, which `envs up` draws.
    found["after the end"][1] = re.sub(r"environment \d+ has", "environment N has", found["after the end"][1])
    assert found == {
        "score": 1.0,
        "success": 1.0,
        "first": f"{game.room}\nAVAILABLE ACTIONS: {game.actions}",
        "last": game.replies[-1],
        "after the end": [
            "KeyError",
            "AlfWorld step response missing 'observation': "
            '{"error": "The task with environment N has finished."}',
        ],
        "begun": game.room,
        "empty": ["Nothing happens.", 0.0, False],
        "world": [
            "KeyError",
            "AlfWorld reset failed after 3 attempts; missing 'observation' in response: "
            '{"error": "world_type must be one of: Text, Embody, Hybrid"}',
        ],
        "too far": [
            "KeyError",
            "AlfWorld reset failed after 3 attempts; missing 'observation' in response: "
            '{"error": "game must be from 0 to 601199"}',
        ],
        "closed": True,
    }


@pytest.mark.parametrize("household", ["put"], indirect=True)
@pytest.mark.parametrize("action_format", ["function_calling", "code_as_action"])
def test_alfworld_is_won_by_function_calls_and_by_code(household: str, tmp_path: Path, action_format: str):
    game = first_game("put")
    calls = [call(command) for command in game.plan]
    found = drive(
        tmp_path,
        household,
        f"ACTION_FORMAT, calls = {action_format!r}, {calls!r}"
        """
alfworld = task("AlfWorld", "alfworld", action_format=ACTION_FORMAT)
client = alfworld.clients[0]
client.reset(0)

def told(name, *args):
    if ACTION_FORMAT == "code_as_action":
        return "```python\\n" + f"{name}({', '.join(map(repr, args))})" + "\\n```"
    names = envs.AlfWorldAdapter.valid_functions_args[name]
    return json.dumps({"thought": "", "function_name": name, "arguments": dict(zip(names, args))})

found["steps"] = [shown(client.step(told(*call)))[1:] for call in calls]
found["state"] = client.info["observation"]
client.reset(0)
found["unreadable"] = shown(client.step("no call"))
found["arrived"] = shown(client.step(told(*calls[0])))[0]
""",
    )
    assert found["steps"] == [[0.0, False]] * (len(calls) - 1) + [[1.0, True]]
    assert found["state"] == game.replies[-1]
    begun = f"{game.room}\nAVAILABLE ACTIONS: {game.actions}"
    assert found["unreadable"] == [f"Invalid Action.\n\n{begun}", 0.0, False]
    assert game.plan[0].startswith("go to ")
    assert found["arrived"] == game.replies[0]


FAMILIES = {"Weather": 343, "Movie": 238, "Todo": 155, "Academia": 20, "Sheet": 20}
"""AgentGym's classes of tools, with its numbers of tasks."""


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The environments of tools as `agentevol envs up` serves them, in AgentGym's form."""
    names = [name.lower() for name in FAMILIES]
    options = [word for name in names for word in ("--option", f"{name}.render=agentgym")]
    command = ("-m", "agentevol", "envs", "up", *names, "--port", "0", *options)
    with running(*command, AGENTEVOL_HOME=str(tmp_path_factory.mktemp("home"))) as address:
        yield address


def completions(plan: Sequence[str]) -> list[str]:
    """An expert's actions as a model of AgentGym's writes them."""
    calls = [json.loads(action) for action in plan]
    return [
        f"Thought: I go on.\n\nAction: {call['name']} with Action Input: {json.dumps(call['arguments'])}"
        for call in calls
    ]


@pytest.mark.parametrize(("name", "count"), FAMILIES.items())
def test_a_class_of_tools_wins_the_first_and_the_last_of_its_tasks(
    families: str, tmp_path: Path, name: str, count: int
):
    tasks = make(name.lower()).tasks("agentgym")
    plans = {index: completions(tasks[index].plan) for index in (0, count - 1)}
    found = drive(
        tmp_path,
        families,
        f"client = task({name!r}, {name.lower()!r}, data_len={count}).clients[0]\nplans = {plans!r}"
        + """
found["len"] = len(client)
for index, plan in plans.items():
    begun = client.reset(index)
    found[str(index)] = [begun, client.observe(), *(shown(client.step(said)) for said in plan)]
found["far"] = fails(client.reset, 10 ** 9)
""",
    )
    assert found["len"] == count
    assert found["far"] == ["AssertionError"]
    for index in plans:
        begun, observed, *steps = found[str(index)]
        assert begun == observed
        assert tasks[index].instruction in begun
        assert [step[1:] for step in steps] == [[0.0, False]] * (len(steps) - 1) + [[1.0, True]]
        assert all(step[0].endswith("\nGive me one action.") for step in steps)


FIRST, SECOND = (f"Say stop. This is episode {n}. Seed 0." for n in range(2))

PLAY = """
client = task({name!r}, {path!r}).clients[0]
found = {{"len": len(client), "begun": client.reset(1), "observed": client.observe(),
         "say": shown(client.step({say!r})), "stop": shown(client.step({stop!r})), "again": client.reset(0)}}
found["closed"] = client.close() if hasattr(client, "close") else "has no close"
"""

REACT = "Thought:\nwell\n\nAction:\n{}\n</s>"
FIRST_LINE = "Thought: well\nAction: {}"
SQL = "Thought: well\n\nAction: ```sql\n{}\n```"
ROWS: dict[str, tuple[str, str, Any, float, float]] = {
    # class: path, how its completions look, what closing gives, what `say` and then `stop` earn
    "Webshop": ("webshop/", REACT, None, 0.125, 1.0),
    "SqlGym": ("sqlgym", SQL, "has no close", 0.125, 1.0),
    "SearchQA": ("searchqa/", "{}", True, 0.125, 1.0),
    "Weather": ("weather", "{}", "has no close", 0.125, 1.0),
    "Movie": ("movie", "{}", "has no close", 0.125, 1.0),
    "Todo": ("todo/", "{}", "has no close", 0.125, 1.0),
    "Academia": ("academia", "{}", "has no close", 0.125, 1.0),
    "Sheet": ("sheet", "{}", "has no close", 0.125, 1.0),
    "BabyAI": ("babyai/", FIRST_LINE, True, 0.125, 1.125),
    "Sciworld": ("sciworld", REACT, True, 12.5, 112.5),
    "TextCraft": ("textcraft", FIRST_LINE, True, 0.125, 1.0),
    "Maze": ("lmrlgym/maze/", REACT, "has no close", 0.125, 1.0),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_class_plays_an_episode(stand_ins: str, tmp_path: Path, name: str):
    path, completion, closed, first, last = ROWS[name]
    say, stop = completion.format("say"), completion.format("stop")
    found = drive(tmp_path, stand_ins, PLAY.format(name=name, path=path, say=say, stop=stop))
    assert found["len"] == 2
    assert found["observed"].endswith(SECOND)
    assert SECOND in json.dumps(found["begun"])
    assert FIRST in json.dumps(found["again"])
    assert found["say"] == ["1: say", first, False]
    assert found["stop"] == ["2: say stop", last, True]
    assert found["closed"] == closed


def test_wordle_reads_its_vocabulary(stand_ins: str, tmp_path: Path):
    found = drive(
        tmp_path,
        stand_ins,
        """
client = task("Wordle", "lmrlgym/wordle").clients[0]
found = {"vocabulary": client.info["vocab"], "begun": client.reset(0), "seen": client.observe(),
         "steps": [shown(client.step("Thought:\\n\\nAction:\\n" + word)) for word in ("say", "stop")]}
""",
    )
    assert found["vocabulary"] == ["say", "stop"]
    assert found["begun"]["observation"] == "Let's start Wordle!"
    assert "```\nsay\nstop\n```" in found["seen"]
    assert found["steps"] == [["1: say", 0.125, False], ["2: say stop", 1.0, True]]


def test_webarena_passes_a_reward_on_at_the_end_only(stand_ins: str, tmp_path: Path):
    found = drive(
        tmp_path,
        stand_ins,
        """
client = task("Webarena", "webarena").clients[0]
found = {"begun": client.reset(1)["observation"], "observed": client.observe(),
         "no marks": shown(client.step("say")), "marked": shown(client.step("I will ```say```")),
         "closed": client.close(), "gone": fails(client.reset, 0)}
""",
    )
    assert (found["begun"], found["observed"]) == (SECOND, SECOND)
    assert found["no marks"][0].startswith("Cannot parse action from response.")
    assert found["marked"] == ["1: I will ```say```", 0, False]
    assert found["closed"] == {"closed": "closed"}
    assert found["gone"][0] == "TimeoutError"


def test_webshop_after_the_end_and_in_the_other_formats(stand_ins: str, tmp_path: Path):
    found = drive(
        tmp_path,
        stand_ins,
        """
call = json.dumps({"thought": "", "function_name": "search", "arguments": {"keywords": "red"}})
client = task("Webshop", "webshop", action_format="function_calling").clients[0]
client.reset(0)
found["call"] = shown(client.step(call))
found["unreadable"] = shown(client.step("no call"))
client = task("Webshop", "webshop", action_format="code_as_action").clients[0]
client.reset(0)
found["code"] = shown(client.step("```python\\nclick('red')\\n```"))
client = task("Webshop", "webshop").clients[0]
client.reset(0)
found["stops"] = [shown(client.step("Action: stop")) for _ in range(2)]
found["too far"] = fails(client.reset, 99)
""",
    )
    assert found["call"] == ["1: search[red]", 0.125, False]
    assert found["unreadable"] == ["Invalid Action.\n\n1: search[red]", 0.0, False]
    assert found["code"] == ["1: click[red]", 0.125, False]
    assert found["stops"] == [["1: stop", 1.0, True], ["1: stop", 0.0, True]]
    assert found["too far"] == ["AssertionError"]


def test_what_breaks_raises_in_a_class_and_is_no_reward(stand_ins: str, tmp_path: Path):
    found = drive(
        tmp_path,
        stand_ins,
        """
sql, babyai = task("SqlGym", "sqlgym").clients[0], task("BabyAI", "babyai").clients[0]
sql.reset(0)
babyai.reset(0)
found["sql"] = fails(sql.step, "exit")  # its worker dies
found["sql again"] = fails(sql.step, "say")
found["babyai"] = fails(babyai.step, "Action: raise")
sql.reset(0)
babyai.reset(0)
found["sql anew"], found["babyai anew"] = shown(sql.step("say")), shown(babyai.step("Action: say"))
""",
    )
    assert found == {
        "sql": ["KeyError", "state"],
        "sql again": ["KeyError", "state"],
        "babyai": ["KeyError", "observation"],
        "sql anew": ["1: say", 0.125, False],
        "babyai anew": ["1: say", 0.125, False],
    }


def test_a_full_server_refuses_the_constructor(tmp_path: Path):
    with running("-c", STAND_INS, "1") as address:
        found = drive(
            tmp_path,
            address,
            """
client = task("Webshop", "webshop").clients[0]
found["second"] = fails(task, "Webshop", "webshop")
found["other"] = fails(task, "Maze", "maze")
client.reset(1)  # gives its slot up and takes it again
client.close()
found["third"] = task("Webshop", "webshop").clients[0].env_id
""",
        )
    assert found["second"] == ["RequestException", "Failed to create environment: <Response [503]>"]
    assert found["other"] == ["KeyError", "id"]
    assert found["third"] == 1

"""AgentGym's messages, one by one: what each of its clients sends, and what it must find in the reply."""

from collections.abc import Callable
from typing import Any

import pytest
from support.server.agentgym import FIRST, serving
from support.server.environments import Echo

from agentgym_envs.core import Observation, StepResult, Task
from agentgym_server.dialects.agentgym.environments import COUNTERPARTS


class Told(Echo):
    """A stand-in that tells whatever an environment may tell."""

    def step(self, action: str) -> StepResult:
        said = super().step(action)
        told = {
            "goals": ["one"],
            "object_tree": {"room": {}},
            "state": {"seconds": 1},
            "possible_objects": ["cup"],
            "has_search_bar": True,
            "clickables": ["search"],
            "instruction_text": "Instruction: buy",
            "url": "/0",
            "html": "<p>",
            "vocabulary": ["s h i r e"],
            "observation_metadata": {"obs_nodes_info": {}},
        }
        return said.model_copy(update={"info": told})


SAID = {"observation": "1: say", "reward": 0.125, "done": False}
ENDED = {"observation": "2: say stop", "reward": 1.0, "done": True}
BEGUN = {"observation": FIRST, "reward": 0.0, "done": False}
STATED = {"state": "1: say", "reward": 0.125, "done": False}
INSTRUCTION = "Say stop. This is episode 0."

CASES: dict[str, tuple[dict[str, int] | None, Any, str, dict[str, Any], Any, Any]] = {
    # env: create's body, its reply, the id's name, reset's further fields, its reply, the reply to `say`
    "babyai": (
        None,
        {"id": 0},
        "id",
        {"data_idx": 0},
        {**BEGUN, "score": 0.0, "deleted": False},
        {**SAID, "score": 0.125},
    ),
    "sciworld": (
        None,
        {"id": 0},
        "id",
        {"data_idx": 0},
        {
            **BEGUN,
            "score": 0.0,
            "deleted": False,
            "task_name": "chat",
            "var_num": 0,
            "task_description": INSTRUCTION,
        },
        {"observation": "1: say", "reward": 12.5, "score": 12.5, "done": False},
    ),
    "textcraft": ({}, {"id": 0, **BEGUN}, "id", {"data_idx": 0}, {"id": 0, **BEGUN}, SAID),
    "maze": (None, {"id": 0}, "id", {"game": 0}, {"observation": FIRST}, SAID),
    "wordle": (
        None,
        {"id": 0},
        "id",
        {"seed": 0},
        {"id": 0, "observation": "Let's start Wordle!"},
        SAID,
    ),
    "webshop": (None, 0, "env_idx", {"session_id": 0}, [FIRST, None], {**STATED, "info": None}),
    "sqlgym": (None, 0, "env_idx", {"item_id": 0}, [FIRST, None], {**STATED, "info": {}}),
    "searchqa": ({"id": 3}, 0, "env_idx", {"id": 3}, FIRST, {**SAID, "info": None}),
    "weather": ({"id": 0}, 0, "env_idx", {"id": 0}, FIRST, SAID),
    "movie": ({"id": 0}, 0, "env_idx", {"id": 0}, FIRST, SAID),
    "todo": ({"id": 0}, 0, "env_idx", {"id": 0}, FIRST, SAID),
    "academia": ({"id": 0}, 0, "env_idx", {"id": 0}, FIRST, SAID),
    "sheet": ({"id": 0}, 0, "env_idx", {"id": 0}, FIRST, SAID),
    "webarena": (
        None,
        {"env_idx": 0},
        "env_idx",
        {"seed": 0, "idx": 0},
        {"observation": FIRST, "sites": [], "object": INSTRUCTION},
        {"observation": "1: say", "reward": 0.125, "terminated": False, "truncated": False, "info": {}},
    ),
}


def test_every_counterpart_has_a_case():
    assert set(CASES) | {"alfworld"} == set(COUNTERPARTS)


@pytest.mark.parametrize("env", CASES)
async def test_create_reset_step_and_close(env: str):
    create, created, id_name, fields, begun, stepped = CASES[env]
    async with serving({env: Echo}) as client:
        assert await client.post(f"{env}/create", create) == (200, created)
        assert await client.post(f"{env}/reset", {id_name: 0, **fields, "extra": 1}) == (200, begun)
        assert await client.post(f"{env}/step", {id_name: 0, "action": "say", "extra": 1}) == (200, stepped)
        closed = {"closed": "closed"} if env == "webarena" else True
        assert await client.post(f"{env}/close", {id_name: 0}) == (200, closed)
        closed = {"closed": "closed"} if env == "webarena" else False
        assert await client.post(f"{env}/close", {id_name: 0}) == (200, closed)


OBJECT = {**SAID, "score": 0.125, "deleted": False}
DETAIL = {**SAID, "available_actions": ["say", "stop"], "deleted": False}
FACTS: list[tuple[str, str, Any]] = [
    ("babyai", "observation?id=0", OBJECT),
    ("sciworld", "observation?id=0", "1: say"),
    (
        "sciworld",
        "action_hint?id=0",
        {"possible_actions": ["say", "stop"], "possible_objects": ["cup"]},
    ),
    ("sciworld", "goals?id=0", {"goals": ["one"]}),
    ("sciworld", "detail?id=0", DETAIL),
    ("sciworld", "task_description?id=0", {"task_description": INSTRUCTION}),
    ("sciworld", "object_tree?id=0", {"object_tree": {"room": {}}}),
    ("sciworld", "state?id=0", {"seconds": 1}),
    ("textcraft", "observation?id=0", "1: say"),
    ("textcraft", "detail?id=0", DETAIL),
    ("textcraft", "commands?id=0", FIRST),
    ("textcraft", "goal?id=0", INSTRUCTION),
    ("maze", "available_actions", ["move left", "move right", "move up", "move down"]),
    ("maze", "observation?id=0", "1: say"),
    ("maze", "detail?id=0", DETAIL),
    ("wordle", "filtered_vocab?id=0", ["s h i r e"]),
    ("wordle", "observation?id=0", "1: say"),
    ("wordle", "detail?id=0", DETAIL),
    ("webshop", "list_envs", [0]),
    ("webshop", "observation?env_idx=0", "1: say"),
    ("webshop", "available_actions?env_idx=0", {"has_search_bar": True, "clickables": ["search"]}),
    ("webshop", "instruction_text?env_idx=0", "Instruction: buy"),
    (
        "webshop",
        "state?env_idx=0",
        {"url": "/0", "html": "<p>", "instruction_text": "Instruction: buy"},
    ),
    ("sqlgym", "list_envs", [0]),
    ("sqlgym", "observation?env_idx=0", "1: say"),
    ("searchqa", "observation?env_idx=0", "1: say"),
    ("weather", "list_envs", [0]),
    ("weather", "observation?env_idx=0", "1: say"),
    ("webarena", "list_envs", [0]),
    ("webarena", "observation?env_idx=0", "1: say"),
    ("webarena", "observation_metadata?env_idx=0", {"obs_nodes_info": {}}),
]


@pytest.mark.parametrize(("env", "path", "expected"), FACTS)
async def test_what_can_be_asked(env: str, path: str, expected: Any):
    async with serving({env: Told}) as client:
        create, _, id_name, *_ = CASES[env]
        await client.post(f"{env}/create", create)
        await client.post(f"{env}/step", {id_name: 0, "action": "say"})
        assert await client.get(f"{env}/{path}") == (200, expected)


async def test_what_an_environment_does_not_tell_is_an_error_of_its_dialect():
    worlds: dict[str, Callable[[], Any]] = {"sciworld": Echo, "webshop": Echo, "webarena": Echo}
    async with serving(worlds) as client:
        for env in worlds:
            await client.post(f"{env}/create")
        why = "this environment does not tell its "
        assert await client.get("sciworld/goals?id=0") == (200, {"error": f"{why}goals"})
        assert await client.get("webshop/state?env_idx=1") == (500, f"Internal Server Error: {why}url")
        _, reply = await client.get("webarena/observation_metadata?env_idx=2")
        assert reply == {
            "observation": f"{why}observation_metadata",
            "error": f"{why}observation_metadata",
        }
        assert await client.post("sciworld/step_visual", {"id": 0}) == (
            200,
            {"error": "this environment draws no images"},
        )


class Shop(Echo):
    """Lists what can be done as the real shop might."""

    def reset(self, task: Task, seed: int) -> Observation:
        actions = ("click[back to search]", "click[red]", "search[...]")
        return super().reset(task, seed).model_copy(update={"actions": actions})


async def test_buttons_and_words_are_found_in_admissible_actions():
    async with serving({"webshop": Shop, "wordle": Echo}) as client:
        await client.post("webshop/create")
        await client.post("wordle/create")
        assert await client.get("webshop/available_actions?env_idx=0") == (
            200,
            {"has_search_bar": True, "clickables": ["back to search", "red"]},
        )
        assert await client.get("webshop/instruction_text?env_idx=0") == (
            200,
            f"Instruction: {INSTRUCTION}",
        )
        assert await client.get("wordle/filtered_vocab?id=1") == (200, ["say", "stop"])


class Verbose(Echo):
    def step(self, action: str) -> StepResult:
        return StepResult(observation=Observation(text=action))


async def test_long_results_of_a_query_are_cut():
    async with serving({"sqlgym": Verbose}) as client:
        await client.post("sqlgym/create")
        assert (await client.post("sqlgym/step", {"env_idx": 0, "action": "x" * 100}))[1][
            "state"
        ] == "x" * 100
        cut = (await client.post("sqlgym/step", {"env_idx": 0, "action": "x" * 101}))[1]["state"]
        assert cut == "x" * 100 + "..."
        assert await client.get("sqlgym/observation?env_idx=0") == (200, "x" * 101)


async def test_no_marks_mean_an_invalid_word():
    async with serving({"wordle": Verbose}) as client:
        await client.post("wordle/create")
        assert (await client.post("wordle/step", {"id": 0, "action": " \n"}))[1][
            "observation"
        ] == "invalid word"


class Craft(Echo):
    def reset(self, task: Task, seed: int) -> Observation:
        super().reset(task, seed)
        return Observation(text="Crafting commands:\ncraft 4 planks using 1 log\n\nGoal: craft planks.")


async def test_commands_and_goal_of_textcraft():
    async with serving({"textcraft": Craft}) as client:
        await client.post("textcraft/create", {})
        await client.post("textcraft/step", {"id": 0, "action": "get 1 log"})
        commands = "Crafting commands:\ncraft 4 planks using 1 log"
        assert await client.get("textcraft/commands?id=0") == (200, commands)
        assert await client.get("textcraft/goal?id=0") == (200, "craft planks.")


async def test_textcraft_needs_a_body_and_plays_no_goals_of_ones_own():
    async with serving({"textcraft": Echo}) as client:
        assert (await client.post("textcraft/create"))[0] == 422
        nothing_own = {"minecraft_dir": "agentenv_textcraft/", "commands": None, "goal": None}
        assert (await client.post("textcraft/create", nothing_own))[1]["id"] == 0
        _, reply = await client.post("textcraft/create", {"goal": "planks"})
        assert reply == {"error": "goal of one's own cannot be played here: reset to a task's index"}
        assert (await client.post("textcraft/create", {"goal": 5}))[0] == 422


async def test_a_tool_server_begins_where_create_says():
    async with serving({"weather": Echo}) as client:
        await client.post("weather/create", {"id": 4})
        assert await client.get("weather/observation?env_idx=0") == (
            200,
            "Say stop. This is episode 1. Seed 0.",
        )
        assert await client.post("weather/create", {"id": 6}) == (
            500,
            "Internal Server Error: id must be from 0 to 5",
        )
        assert (await client.post("weather/create"))[0] == 422
        # `id` is the index here: it is no other name of the id
        assert (await client.post("weather/step", {"id": 0, "action": "say"}))[0] == 422
        assert await client.post("weather/reset", {"env_idx": 0}) == (200, FIRST)


@pytest.mark.parametrize("session_id", [{}, {"session_id": None}])
async def test_a_goal_of_webshop_that_is_not_named_is_drawn(session_id: dict[str, None]):
    async with serving({"webshop": Echo}) as client:
        await client.post("webshop/create")
        told = [await client.post("webshop/reset", {"env_idx": 0, **session_id}) for _ in range(40)]
    assert {status for status, _ in told} == {200}
    assert len({first for _, (first, _) in told}) > 1


async def test_an_index_of_textcraft_that_may_be_left_out_is_0():
    async with serving({"textcraft": Echo}) as client:
        await client.post("textcraft/create", {})
        first = await client.post("textcraft/reset", {"id": 0})
        assert await client.post("textcraft/reset", {"id": 0, "data_idx": 0}) == first


class ThreeSplits(Echo):
    @property
    def splits(self) -> tuple[str, ...]:
        return ("train", "valid", "test")


async def test_questions_are_counted_from_the_test_split_on():
    async with serving({"searchqa": ThreeSplits, "weather": ThreeSplits}) as client:
        await client.post("searchqa/create", {"id": 0})
        await client.post("weather/create", {"id": 0})
        find = client.service.registry.living
        assert [session.origin.task_id for session in find()] == ["test/0", "train/0"]
        await client.post("searchqa/reset", {"env_idx": 0, "id": 3})
        await client.post("weather/reset", {"env_idx": 1, "id": 3})
        assert {session.origin.task_id for session in find()} == {"train/0", "valid/0"}


@pytest.mark.parametrize(
    ("env", "id_name", "other"), [("maze", "id", "env_idx"), ("webshop", "env_idx", "id")]
)
async def test_both_names_of_the_id_are_understood(env: str, id_name: str, other: str):
    async with serving({env: Echo}) as client:
        await client.post(f"{env}/create")
        for name in (id_name, other):
            assert (await client.post(f"{env}/step", {name: 0, "action": "say"}))[0] == 200
            assert (await client.get(f"{env}/observation?{name}=0"))[0] == 200
        assert await client.post(f"{env}/close", {other: 0}) == (200, True)


@pytest.mark.parametrize(
    "path", ["/agentgym/maze//create", "//agentgym//maze/create", "/agentgym/maze/create/"]
)
async def test_repeated_slashes_count_as_one(path: str):
    async with serving({"maze": Echo}) as client:
        assert (await client.raw("POST", path)).json() == {"id": 0}


async def test_the_mazes_of_lmrl_gym_have_two_addresses():
    async with serving({"maze": Echo, "wordle": Echo}) as client:
        assert await client.post("lmrlgym/maze/create") == (200, {"id": 0})
        assert (await client.post("maze/step", {"id": 0, "action": "say"}))[0] == 200
        assert await client.post("lmrlgym/wordle//create") == (200, {"id": 1})


async def test_greetings():
    worlds = dict.fromkeys(("babyai", "webshop", "webarena"), Echo)
    async with serving(worlds) as client:
        assert await client.get("babyai") == (200, "This is environment BabyAI.")
        assert await client.get("webshop/") == (200, "ok")
        greeting = await client.raw("GET", "/agentgym/webarena/")
        assert (greeting.text, greeting.headers["content-type"]) == ("ok", "text/plain; charset=utf-8")
        assert "POST /close everywhere" in greeting.headers["x-agentevol-deviations"]


async def test_an_environment_that_agentgym_does_not_have_speaks_dialect_a():
    async with serving({"echo": Echo}) as client:
        await client.post("echo/create")
        begun = {"id": 0, **BEGUN, "score": 0.0, "available_actions": ["say", "stop"], "deleted": False}
        for name in ("data_idx", "game", "idx"):
            assert await client.post("echo/reset", {"id": 0, name: 0}) == (200, begun)
        stepped = {**SAID, "score": 0.125, "available_actions": ["say", "stop"]}
        assert await client.post("echo/step", {"id": 0, "action": "say"}) == (200, stepped)


async def test_unknown_paths_and_methods():
    async with serving({"maze": Echo}) as client:
        assert await client.post("nope/create") == (
            404,
            {"detail": "no environment 'nope/create'; there are: maze, lmrlgym/maze"},
        )
        for path in ("maze/nope", "maze/create/more", "maze/list_envs", "maze/state?id=0"):
            assert await client.get(path) == (404, {"detail": "Not Found"})
        wrong = await client.raw("GET", "/agentgym/maze/create")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert (await client.raw("HEAD", "/agentgym/maze/observation?id=0")).status_code == 200
        assert (await client.raw("POST", "/agentgymnasium/maze/create")).status_code == 404


async def test_an_action_of_any_characters_reaches_the_environment():
    async with serving({"maze": Verbose}) as client:
        await client.post("maze/create")
        for action in ("", "\x00\n\t", "\U0001f600 ü", "x" * 65536, "</s>", "../../etc/passwd"):
            assert (await client.post("maze/step", {"id": 0, "action": action}))[1]["observation"] == action


@pytest.mark.parametrize("env", ["textcraft", "webshop", "webarena", "weather"])
async def test_a_step_after_the_end_shows_the_end_again_and_earns_nothing(env: str):
    create, _, id_name, *_ = CASES[env]
    async with serving({env: Echo}) as client:
        await client.post(f"{env}/create", create)
        stop = {id_name: 0, "action": "stop"}
        _, last = await client.post(f"{env}/step", stop)
        assert last["reward"] == 1.0
        assert await client.post(f"{env}/step", stop) == (200, {**last, "reward": 0.0})


@pytest.mark.parametrize("env", ["babyai", "sciworld", "maze", "wordle"])
async def test_a_step_after_the_end_is_an_error_in_most_of_dialect_a(env: str):
    async with serving({env: Echo}) as client:
        await client.post(f"{env}/create")
        assert (await client.post(f"{env}/step", {"id": 0, "action": "stop"}))[1]["done"] is True
        finished = {"error": "The task with environment 0 has finished."}
        assert await client.post(f"{env}/step", {"id": 0, "action": "stop"}) == (200, finished)
        assert (await client.get(f"{env}/observation?id=0"))[0] == 200


async def test_an_episode_cut_by_its_limit_is_done():
    async with serving({"maze": Echo, "webarena": Echo}) as client:
        await client.post("maze/create")
        await client.post("webarena/create")
        mazes = [(await client.post("maze/step", {"id": 0, "action": "say"}))[1]["done"] for _ in range(8)]
        assert mazes == [False] * 7 + [True]
        webs = [(await client.post("webarena/step", {"env_idx": 1, "action": "say"}))[1] for _ in range(9)]
        assert [(web["terminated"], web["truncated"]) for web in webs[6:]] == [
            (False, False),
            (False, True),
            (True, True),  # its client knows no other end, and would go on for ever
        ]

"""Environments as Gymnasium has them: the same in process and on a server."""

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium
import httpx
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from support.server.environments import CheapCostly, CheapMischief, Echo

import agentgym_client.gymnasium
from agentgym_client.gymnasium import EnvInfrastructureError, environment_ids, register_environments
from agentgym_client.gymnasium.environment import AgentGymEnv
from agentgym_client.gymnasium.spaces import action_space, observation_space
from agentgym_client.retries import RetryRules
from agentgym_envs import registry
from agentgym_envs.core import Observation, StepResult, Task, TaskNotFound
from agentgym_envs.guess import Guess
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of

Make = Callable[..., AgentGymEnv]


class Endless(Echo):
    """A thousand million tasks: whoever lists them is never done."""

    name = "endless"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[Task]:
        super().tasks(split, difficulty)
        return LazySequence(10**9, lambda index: self.task(f"{split}/{index}"))

    def task(self, task_id: str) -> Task:
        split, _, index = task_id.partition("/")
        return Task(env=self.name, id=task_id, split=split, instruction=f"Task {index}.")


class Tooled(Echo):
    """Has a tool, until it is told to drop it."""

    name = "tooled"

    def reset(self, task: Task, seed: int) -> Observation:
        return super().reset(task, seed).model_copy(update={"tools": ({"name": "a"},)})

    def step(self, action: str) -> StepResult:
        tools = None if action == "drop" else ({"name": "a"},)
        info = {"list": (1, 2), "invalid_action": True}
        return StepResult(observation=Observation(text="ok", tools=tools), info=info)


class Unforkable(Echo):
    """Neither snapshots nor the same episode twice."""

    name = "unforkable"
    forkable = False
    deterministic = False


class Replayed(Echo):
    """No snapshots, but the same episode twice."""

    name = "replayed"
    forkable = False


WORLDS = {
    kind.name: kind
    for kind in (CheapCostly, Echo, CheapMischief, Endless, Guess, Replayed, Tooled, Unforkable)
}


class Shared(httpx.ASGITransport):
    """Gymnasium copies an environment's settings, but this server must stay one."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Shared":
        return self


@pytest.fixture(autouse=True)
def worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-ins are registered environments."""
    found = registry.environment_class
    monkeypatch.setattr(
        "agentgym_client.gymnasium.local.environment_class", lambda name: WORLDS.get(name) or found(name)
    )


@pytest.fixture(params=["local", "served"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes environments: in process, or all on one server."""
    app = create_app(WORLDS)
    where = {} if request.param == "local" else {"base_url": "http://localhost", "transport": Shared(app)}
    made: list[AgentGymEnv] = []

    def build(name: str, **settings: Any) -> AgentGymEnv:
        made.append(AgentGymEnv(name, **where, **settings))
        return made[-1]

    yield build
    for env in made:
        env.close()
    assert service_of(app).registry.active == 0  # nobody left a session behind


def test_an_episode_is_told_as_gymnasium_has_it(make: Make):
    env = make("guess")
    observation, info = env.reset(seed=7, options={"task_id": "guess-5"})
    assert observation == "Make a guess."
    assert info.pop("session_id") == env.session_id
    assert info == {"turn": 0, "total_reward": 0.0, "task_id": "guess-5"}
    accounts = {"task_id": "guess-5", "total_reward": 0.0}
    assert env.step("4") == ("Go higher than 4.", 0.0, False, False, {"turn": 1, **accounts})
    assert env.step("?") == (
        "That is not a number.",
        0.0,
        False,
        False,
        {"invalid_action": True, "turn": 2, **accounts},
    )
    won = {"turn": 3, **accounts, "total_reward": 1.0}
    assert env.step("5") == ("Right.", 1.0, True, False, won)


def test_admissible_actions_are_told_while_there_are_some(make: Make):
    env = make("echo")
    observation, info = env.reset(seed=7, options={"task_id": "test/1"})
    assert observation == "Say stop. This is episode 1. Seed 7."
    assert info["available_actions"] == ["say", "stop"]
    assert env.step("say")[4]["available_actions"] == ["say", "stop"]
    assert "available_actions" not in env.step("stop")[4]


def test_tools_are_told_where_they_change_and_info_is_json(make: Make):
    env = make("tooled")
    assert env.reset(options={"task_id": "train/0"})[1]["tools"] == [{"name": "a"}]
    infos = [env.step(action)[4] for action in ("a", "drop", "drop", "a")]
    assert [info.get("tools", "same") for info in infos] == ["same", None, "same", [{"name": "a"}]]
    assert infos[0]["list"] == [1, 2]


def test_costs_are_told_where_there_are_any(make: Make):
    env = make("cheap-costly")
    env.reset(options={"task_id": "train/0"})
    assert env.step("look")[4]["costs"] == {"harm": 0.25, "noise": None}
    assert "costs" not in env.step("stop")[4]


def test_a_bad_cost_is_a_failure_of_the_world(make: Make):
    env = make("cheap-costly")
    env.reset(options={"task_id": "train/0"})
    with pytest.raises(EnvInfrastructureError) as error:
        env.step("negative")
    assert "\n" not in str(error.value)


def test_a_turn_limit_truncates(make: Make):
    env = make("echo", max_turns=2)
    env.reset(options={"task_id": "train/0"})
    assert env.step("a")[2:4] == (False, False)
    _, _, terminated, truncated, info = env.step("b")
    assert (terminated, truncated, info["truncation_reason"]) == (False, True, "max_turns")
    env.reset(options={"task_id": "train/0"})
    env.step("a")
    _, reward, terminated, truncated, info = env.step("stop")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["total_reward"] == 1.125


def test_the_default_turn_limit_is_the_environments(make: Make):
    env = make("guess")
    env.reset(options={"task_id": "guess-5"})
    assert [env.step("1")[3] for _ in range(4)] == [False, False, False, True]


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_turn_limit_out_of_range_is_refused(make: Make, limit: int):
    env = make("echo", max_turns=limit)
    with pytest.raises(ValueError, match="max_turns"):
        env.reset()


def drawn(env: AgentGymEnv) -> list[tuple[str, str]]:
    """Task and opening of some resets after a seed; the opening tells the episode's seed."""
    seen = [env.reset(seed=11), *(env.reset() for _ in range(3)), env.reset(options={"split": "test"})]
    return [(info["task_id"], observation) for observation, info in seen]


def test_a_seed_draws_the_same_tasks_and_episodes_everywhere(make: Make):
    episodes = drawn(make("endless"))
    assert drawn(make("endless")) == episodes
    here = AgentGymEnv("endless")
    assert drawn(here) == episodes
    assert episodes[0][1].endswith(" Seed 11.")
    assert len({task for task, _ in episodes}) == 5
    assert [task.partition("/")[0] for task, _ in episodes] == ["train"] * 4 + ["test"]
    here.close()


def test_a_split_may_be_chosen_once_for_all(make: Make):
    env = make("echo", split="test")
    assert {env.reset(seed=seed)[1]["task_id"].partition("/")[0] for seed in range(5)} == {"test"}


def test_a_seed_beyond_those_of_episodes_seeds_the_draw(make: Make):
    env = make("endless")
    first = env.reset(seed=2**60)
    assert (first[0], first[1]["task_id"]) == (env.reset(seed=2**60)[0], env.reset(seed=2**60)[1]["task_id"])


@pytest.mark.parametrize("options", [{"task_id": "train/9"}, {"task_id": ""}, {"split": "nope"}])
def test_an_unknown_task_or_split_is_not_found(make: Make, options: dict[str, Any]):
    env = make("echo")
    with pytest.raises(TaskNotFound):
        env.reset(options=options)
    assert env.reset(seed=1)[1]["turn"] == 0


@pytest.mark.parametrize("options", [{"task": "train/0"}, {"task_id": 5}, {"split": ["train"]}])
def test_a_wrong_option_is_named(make: Make, options: dict[str, Any]):
    with pytest.raises(ValueError, match=next(iter(options))):
        make("echo").reset(options=options)


def test_what_is_no_action_takes_no_turn(make: Make):
    env = make("echo")
    env.reset(options={"task_id": "train/0"})
    for wrong in (None, 5, b"say", ["say"]):
        with pytest.raises(TypeError, match="an action is text"):
            env.step(wrong)  # type: ignore[arg-type] - that is the test
    with pytest.raises(ValueError, match="65536"):
        env.step("a" * 65_537)
    assert env.step("a" * 65_536)[4]["turn"] == 1


def test_an_action_of_any_characters_is_played(make: Make):
    env = make("echo")
    env.reset(options={"task_id": "train/0"})
    assert env.step("a\ud800b")[0] == "1: a?b"
    assert env.step("\0\x1b\u2028\U0001f600")[0] == "2: a?b \0\x1b\u2028\U0001f600"


def test_a_step_without_an_episode_wants_a_reset(make: Make):
    env = make("echo")
    assert env.session_id is None
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step("a")
    env.reset(options={"task_id": "train/0"})
    env.step("stop")
    with pytest.raises(ResetNeeded, match="ended with turn 1"):
        env.step("a")


def test_closing_twice_is_fine_and_using_it_afterwards_is_not(make: Make):
    env = make("echo")
    env.reset()
    env.close()
    env.close()
    for use in (env.reset, lambda: env.step("a"), env.spawn):
        with pytest.raises(ClosedEnvironmentError):
            use()


@pytest.mark.parametrize("world", ["echo", "replayed"])
def test_a_spawned_environment_stands_where_its_parent_stood(make: Make, world: str):
    env = make(world)
    env.reset(seed=3, options={"task_id": "train/0"})
    env.step("one")
    child = env.spawn(same_state=True)
    assert child.step("two")[0] == "2: one two"
    observation, _, _, _, info = env.step("three")
    assert (observation, info["turn"], info["total_reward"]) == ("2: one three", 2, 0.25)
    env.close()
    observation, _, _, _, info = child.step("four")
    assert (observation, info["turn"], info["total_reward"]) == ("3: one two four", 3, 0.375)
    assert child.session_id != env.session_id
    child.close()


def test_a_spawned_environment_draws_the_same_tasks_next(make: Make):
    env = make("endless")
    env.reset(seed=3)
    child = env.spawn(same_state=True)
    assert [child.reset()[0] for _ in range(3)] == [env.reset()[0] for _ in range(3)]
    child.close()


def test_a_fresh_environment_is_spawned_without_an_episode(make: Make):
    env = make("echo", split="test", max_turns=1)
    child = env.spawn()
    with pytest.raises(ResetNeeded):
        child.step("a")
    assert child.reset()[1]["task_id"].startswith("test/")
    assert child.step("a")[3] is True
    with pytest.raises(ResetNeeded):
        env.spawn(same_state=True)
    child.close()


def test_what_cannot_be_forked_says_so(make: Make):
    env = make("unforkable")
    env.reset()
    with pytest.raises(NotImplementedError, match="cannot be forked"):
        env.spawn(same_state=True)


@pytest.mark.parametrize("mischief", ["raise", "nan", "lie"])
def test_a_broken_environment_is_neither_a_reward_nor_an_end(make: Make, mischief: str):
    env = make("cheap-mischief")
    env.reset(options={"task_id": "train/0"})
    for action in (mischief, "hello"):
        with pytest.raises(EnvInfrastructureError) as broken:
            env.step(action)
        assert (broken.value.kind, broken.value.retryable) == ("internal", False)
    env.reset(options={"task_id": "train/0"})
    assert env.step("hello")[0] == "1: hello"


def test_an_infrastructure_error_can_be_sent_to_another_process():
    error = EnvInfrastructureError("worker-lost", True, "gone")
    sent = pickle.loads(pickle.dumps(error))  # our own bytes
    assert (sent.kind, sent.retryable, str(sent)) == ("worker-lost", True, "worker-lost: gone")
    assert str(EnvInfrastructureError("worker-lost", False)) == "worker-lost"


class Lossy(Shared):
    """Loses replies while it is told to: the server has done the work."""

    losses = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if self.losses:
            self.losses -= 1
            raise httpx.ReadError("the reply was lost")
        return response


@pytest.fixture
def lossy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Lossy, AgentGymEnv]]:
    """A transport that loses replies, and an environment behind it."""
    monkeypatch.setattr(RetryRules, "pause_s", lambda self, attempt: 0.0)
    transport = Lossy(create_app(WORLDS))
    env = AgentGymEnv("echo", "http://localhost", transport=transport)
    env.reset(options={"task_id": "train/0"})
    yield transport, env
    env.close()


def test_a_lost_reply_is_asked_for_again_and_no_action_played_twice(lossy: tuple[Lossy, AgentGymEnv]):
    transport, env = lossy
    transport.losses = 3
    assert env.step("a")[0] == "1: a"
    assert env.step("b")[0] == "2: a b"


def test_a_step_that_never_came_back_may_be_called_again(lossy: tuple[Lossy, AgentGymEnv]):
    transport, env = lossy
    transport.losses = 9  # one try, eight repeats
    with pytest.raises(EnvInfrastructureError) as lost:
        env.step("a")
    assert (lost.value.kind, lost.value.retryable) == ("transport", True)
    observation, _, _, _, info = env.step("a")
    assert (observation, info["turn"]) == ("1: a", 1)


def test_a_token_is_sent():
    transport = Shared(create_app(WORLDS, settings=ServerSettings(host="0.0.0.0", token="top")))
    env = AgentGymEnv("echo", "http://localhost", token="top", transport=transport)
    assert env.reset()[1]["turn"] == 0
    env.close()
    stranger = AgentGymEnv("echo", "http://localhost", transport=transport)
    with pytest.raises(EnvInfrastructureError, match="unauthorized"):
        stranger.reset()
    stranger.close()


@pytest.mark.parametrize("world", ["agentgym/Guess-v0", "agentgym/ALFWorld-v0"])
def test_gymnasiums_checker_is_content(world: str):
    name = environment_ids()[world]
    served = {
        "base_url": "http://localhost",
        "transport": Shared(create_app({name: lambda: registry.make(name)})),
    }
    for where in ({}, served):
        env = gymnasium.make(world, **where)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env.unwrapped, skip_render_check=True)
        env.close()


def test_an_episode_through_gymnasiums_own_wrappers_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("agentgym/Guess-v0", max_turns=2)
        env.reset(options={"task_id": "guess-5"})
        assert env.step("5")[:4] == ("Right.", 1.0, True, False)
        env.close()


def test_every_registered_environment_has_an_id():
    assert {"agentgym/ALFWorld-v0", "agentgym/Guess-v0"} <= set(environment_ids())
    assert sorted(environment_ids().values()) == registry.names()
    for gymnasium_id, name in environment_ids().items():
        spec = gymnasium.spec(gymnasium_id)
        assert (spec.kwargs, spec.namespace, spec.version) == ({"env_name": name}, "agentgym", 0)


def test_a_class_of_another_distribution_does_not_take_our_id(monkeypatch: pytest.MonkeyPatch):
    entries = [
        registry.EnvironmentEntry(name="a-guess", target="other.guess:Guess", distribution="o", summary=""),
        registry.EnvironmentEntry(
            name="guess", target="agentgym_envs.guess:Guess", distribution="agentevol", summary=""
        ),
    ]
    monkeypatch.setattr(agentgym_client.gymnasium, "describe", lambda: entries)
    assert environment_ids() == {"agentgym/Guess-v0": "guess", "agentgym/a-guess-v0": "a-guess"}


def test_registering_again_changes_nothing():
    before = dict(gymnasium.registry)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_environments()
    assert gymnasium.registry == before


def test_an_unknown_environment_is_told_at_once():
    with pytest.raises(registry.UnknownEnvironment, match="there are: academia, alfworld"):
        AgentGymEnv("nope")


def test_spaces_hold_any_printable_text():
    space = action_space()
    assert (space.min_length, space.max_length, observation_space().max_length) == (0, 65_536, 1_048_576)
    for text in ("", "go to desk 1", "a\nb\tc\r\n", "\u00fc\u4e2d\U0001f600"):
        assert text in space
    for text in ("\0", "\ud800", "a" * 65_537, 5, None):
        assert text not in space
    assert repr(space) == "PrintableText(65536)"


def test_spaces_sample_by_their_seed_and_what_they_sample_is_in_them():
    one, other = action_space(), action_space()
    one.seed(5), other.seed(5)
    samples = [one.sample() for _ in range(3)]
    assert samples == [other.sample() for _ in range(3)]
    assert all(sample in one for sample in samples)
    assert one.sample(mask=(4, None)) != one.sample(mask=(4, None))


def test_copies_of_a_space_share_its_characters():
    space = action_space()
    twin = copy.deepcopy(space)
    assert twin == space
    assert twin.character_set is space.character_set
    assert len(pickle.dumps(space)) < 1000
    assert space.character_list[space.character_index("x")] == "x"
    assert space != observation_space()

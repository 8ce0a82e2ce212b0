"""Action formats of one's own in episodes and demonstrations: by name, by class and by entry point."""

import json
from pathlib import Path

import httpx
import pytest
from support.runs import episode_request

from agentevol.config.run import TrainConfig, load
from agentevol.core.action_formats.registry import ACTION_FORMATS, action_format, opening_messages
from agentevol.core.errors import ConfigError, FormatFault
from agentevol.core.protocols import Conversation, Message
from agentevol.engines.scripted import ExpertPolicy, RenderedPolicy, said
from agentevol.learn.batches.packing import demonstration
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.environments import as_messages
from agentevol.rollout.episode import EpisodeRequest, play
from agentgym_client import EnvClient
from agentgym_envs.formats import FORMATS, Plain
from agentgym_envs.guess import Guess
from agentgym_server.app import create_app
from agentgym_store.records import Failed, Sample, Terminated

HERE = __name__


class Angle(Plain):
    """`<4>`; raises for a message without the opening bracket."""

    def instruction(self, environment_name: str) -> str | None:
        return f"Play {environment_name} in angle brackets."

    def parse(self, text: str) -> str:
        return json.loads(text.replace("<", '"').replace(">", '"'))

    def render(self, action: str) -> str:
        if not action.isdigit():
            raise ValueError("digits only")
        return f"<{action}>"


ANGLE = Angle()


class Greedy(Plain):
    def __init__(self, size: int) -> None:
        self.size = size


class Speechless:
    name = "speechless"

    def instruction(self, environment_name: str) -> str | None:
        return None

    def parse(self, text: str) -> str:
        return text


class Nameless(Plain):
    name = None  # type: ignore[assignment]


class Busy(Plain):
    def parse(self, text: str, tools: list[str]) -> str:  # type: ignore[override]
        return text + tools[0]


class Talker:
    """Says these texts, one a turn; each has a made-up token."""

    name, version = "talker", 1

    def __init__(self, *texts: str) -> None:
        self.texts, self.heard = texts, list[list[Message]]()

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        self.heard.append(list(conversation.messages))
        text = self.texts[len(conversation.samples)]
        return Sample(text=text, prompt_ids=(1,), token_ids=(2,), logprobs=(-0.5,), policy_version=1)

    def release(self, conversation_id: str) -> None:
        pass


def request(number: int, **changes: object) -> EpisodeRequest:
    plain = {"id": f"e{number}", "task_id": f"guess-{number}", "seed": number}
    return episode_request(**plain | changes)


def client() -> EnvClient:
    return EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(create_app({"guess": Guess})))


@pytest.mark.parametrize("name", ["Angle", "ANGLE"])
async def test_an_episode_is_played_in_a_format_of_ones_own(name: str):
    policy = Talker("<1>", "<2>")
    async with client() as world:
        played = await play(world, policy, request(2), action_format(f"{HERE}:{name}"))
    assert [(turn.action, turn.observation) for turn in played.turns] == [
        ("1", "Go higher than 1."),
        ("2", "Right."),
    ]
    assert played.ending == Terminated()
    opening = policy.heard[0]
    assert [(one.role, one.content) for one in opening] == [
        ("system", "Play guess in angle brackets."),
        ("user", played.initial_observation),
    ]


async def test_a_format_that_raises_fails_the_episode_without_a_reward_and_no_other():
    form = action_format(f"{HERE}:Angle")
    async with client() as world:
        broken = await play(world, Talker("<1>", "two"), request(3), form)
        both = [
            one
            async for one in play_all(
                world, Talker("<1>", "two"), [request(1), request(3)], form, concurrency=1
            )
        ]
    assert isinstance(broken.ending, Failed)
    assert broken.ending.failure == "action-format"
    assert broken.ending.detail.startswith(
        f"action format '{HERE}:Angle': parse raised JSONDecodeError: Expecting value"
    )
    assert (broken.total_reward, len(broken.turns)) == (None, 1)
    assert [one.ending.kind for one in both] == ["terminated", "failed"]


async def test_the_same_message_in_plain_is_the_agents_mistake():
    # counter-test: a message that a format reads as a bad action ends nothing
    async with client() as world:
        played = await play(world, Talker("<1>", "two", "3"), request(3), FORMATS["plain"])
    assert [turn.action for turn in played.turns] == ["<1>", "two", "3"]
    assert played.total_reward == 1.0


@pytest.mark.parametrize("name", ["plain", "react", f"{HERE}:Angle"])
async def test_an_expert_wins_in_every_format(name: str):
    form = action_format(name)
    async with client() as world:
        policy = RenderedPolicy(ExpertPolicy(lambda _: [" 4 "]), form)
        played = await play(world, policy, request(4), form)
    assert (policy.name, played.turns[0].action, played.total_reward) == ("expert", "4", 1.0)


async def test_an_action_that_the_format_cannot_write_is_a_fault_of_the_format():
    form = action_format(f"{HERE}:Angle")
    async with client() as world:
        played = await play(world, RenderedPolicy(ExpertPolicy(lambda _: ["four"]), form), request(4), form)
    assert isinstance(played.ending, Failed)
    assert played.ending.failure == "action-format"
    assert played.ending.detail.endswith("render raised ValueError: digits only")


async def test_replayed_actions_of_a_script_are_messages_of_the_format():
    form = action_format("react")
    async with client() as world:
        first = await play(
            world, RenderedPolicy(ExpertPolicy(lambda _: ["1", "3", "2"]), form), request(2), form
        )
        policy = Talker("", "Action: 2")
        rest = await play(world, policy, request(2, prefix=first.turns[:1]), form)
    said_before = [one.content for one in policy.heard[0] if one.role == "assistant"]
    assert said_before == ["Thought:\n\n\nAction:\n1"]
    assert [turn.action for turn in rest.turns] == ["1", "2"]


class Letters:
    """One token per letter; 1 ends a message, 2 begins one."""

    def prompt(self, messages: list[Message]) -> list[int]:
        return [ord(letter) for message in messages for letter in message.content] + [2]

    def extend(self, previous_ids: list[int], observation: str) -> list[int]:
        return [*map(ord, observation), 2]

    def action_ids(self, text: str) -> list[int]:
        return [*map(ord, text), 1]


async def test_demonstrations_teach_messages_of_the_format():
    form = action_format(f"{HERE}:Angle")
    async with client() as world:
        shown = await play(world, RenderedPolicy(ExpertPolicy(lambda _: ["4"]), form), request(4), form)
    row = demonstration(shown, Letters(), 1.0, form)
    texts = "".join(map(chr, row.token_ids[row.token_ids > 2]))
    assert texts == f"Play guess in angle brackets.{shown.initial_observation}<4>"
    assert "".join(map(chr, row.token_ids[row.mask])) == "<4>\x01"
    plain = demonstration(shown, Letters(), 1.0)
    assert "".join(map(chr, plain.token_ids[plain.token_ids > 2])) == f"{shown.initial_observation}4"


def test_a_players_reasoning_stays_before_the_message():
    assert as_messages(["look", "<think>a mug</think>take mug"], FORMATS["react"]) == [
        "Thought:\n\n\nAction:\nlook",
        "<think>a mug</think>Thought:\n\n\nAction:\ntake mug",
    ]
    assert as_messages(["<think>a mug</think>take mug"], FORMATS["plain"]) == ["<think>a mug</think>take mug"]


def test_a_surrogate_that_json_escapes_can_be_sent():
    assert action_format(f"{HERE}:Angle").parse("<\\ud800>") == "?"


def test_an_opening_without_an_instruction_is_the_observation():
    assert opening_messages(FORMATS["plain"], "guess", "Make a guess.") == [Message("user", "Make a guess.")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("xml", "no action format named 'xml'; there are: modes, modes-1, modes-2, modes-3,"),
        (f"{HERE}:Absent", "cannot be imported"),
        (f"{HERE}:Greedy", "cannot be created"),
        (f"{HERE}:Speechless", "has no method 'render'"),
        (f"{HERE}:Nameless", "has no name"),
        (f"{HERE}:Busy", "parse takes one text: missing a required argument: 'tools'"),
    ],
)
def test_what_is_no_action_format_is_refused(name: str, message: str):
    with pytest.raises(ConfigError) as refused:
        action_format(name)
    assert message in str(refused.value)


def test_a_configuration_names_a_format():
    assert load(None, [f"environment.format={HERE}:Angle"]).action_format == f"{HERE}:Angle"
    assert load(None, ["action_format=react"], TrainConfig).action_format == "react"
    for key, kind in (("environment.format", None), ("action_format", TrainConfig)):
        with pytest.raises(ConfigError, match=f"{key}.*named 'xml'; there are: modes, modes-1, "):
            load(None, [f"{key}=xml"], *([kind] if kind else []))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with two entry points, as pip leaves it: metadata and a module."""
    about = tmp_path / "brackets-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brackets\nVersion: 1.0\n")
    lines = ["square = brackets:Square", "react = brackets:Square"]
    (about / "entry_points.txt").write_text("\n".join([f"[{ACTION_FORMATS.group}]", *lines]) + "\n")
    (tmp_path / "brackets.py").write_text(
        "class Square:\n"
        "    name = 'square'\n"
        "    def instruction(self, environment_name):\n        return None\n"
        "    def parse(self, text):\n        return text.strip('[]')\n"
        "    def render(self, action):\n        return f'[{action}]'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
async def test_an_entry_point_adds_a_format_and_replaces_none():
    assert ACTION_FORMATS.names() == [
        *("modes", "modes-1", "modes-2", "modes-3", "modes-4"),
        *("plain", "react", "square"),
    ]
    assert load(None, ["environment.format=square"]).environment.format == "square"
    assert action_format("square").render("4") == "[4]"
    assert action_format("react").parse("Action: look") == "look"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["square", f"{HERE}:Angle", "os:system"])
async def test_a_server_parses_its_own_formats_only(name: str):
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(create_app({"guess": Guess})), base_url="http://127.0.0.1:1"
    ) as http:
        body = {"task_id": "guess-4", "format": name}
        reply = await http.post("/envs/guess/sessions", json=body)
        known = await http.post("/envs/guess/sessions", json=body | {"format": "react"})
    assert (reply.status_code, known.status_code) == (422, 201)
    assert "must be one of: plain, react, modes" in reply.text


def test_a_fault_names_the_format_and_the_cause():
    with pytest.raises(FormatFault) as fault:
        action_format(f"{HERE}:Angle").parse("4>")
    assert str(fault.value).startswith(f"action format '{HERE}:Angle': parse raised JSONDecodeError")
    assert fault.value.kind == "action-format"
    with pytest.raises(FormatFault, match="parse gave int, not text"):
        action_format(f"{HERE}:Angle").parse("4")


def test_a_script_in_a_format_keeps_nothing_of_its_own():
    released: list[str] = []
    script = ExpertPolicy(lambda _: ["4"])
    script.release = released.append  # type: ignore[method-assign]
    RenderedPolicy(script, FORMATS["plain"]).release("e1")
    assert released == ["e1"]
    assert said("4").token_ids == ()

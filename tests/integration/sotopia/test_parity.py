"""The package `sotopia` 0.1.5 beside the served environment: equal prompts, transcripts and rewards."""

import asyncio
import json
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from support.sotopia import Endpoint, as_json, judge_reply, package_engine, request, say, scene, served

from agentgym_client import EnvClient, Session
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.sotopia.environment import Sotopia
from agentgym_envs.sotopia.package.client import PackageEngine
from agentgym_envs.sotopia.package.records import LEAVE
from agentgym_envs.sotopia.package.request import EpisodeRequest
from agentgym_envs.sotopia.play.records import episode_log_of
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.judgement import Judgement
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_server import create_app

EPISODES = 40
Reply = Callable[[int, str], str]
"""The message of a seat after a prompt."""


@pytest.fixture(scope="module")
def engine() -> Generator[PackageEngine]:
    with package_engine() as engine:
        yield engine


def imported(folder: Path, found: Scene) -> Path:
    """A home whose task `sotopia/0` is this scene."""
    first, second = found.agents
    combo = {"pk": "combo", "env_id": found.environment.pk, "agent_ids": [first.pk, second.pk]}
    parts = {
        "environments": [found.environment.model_dump(mode="json", exclude_unset=True)],
        "agents": [agent.model_dump(mode="json", exclude_unset=True) for agent in found.agents],
        "combos": [combo],
    }
    source = folder / "source"
    source.mkdir(parents=True)
    for name, rows in parts.items():
        (source / f"{name}.json").write_text(json.dumps(rows))
    import_official(source, folder / "home")
    return folder / "home"


async def seat(session: Session, number: int, reply: Reply, prompts: list[tuple[int, str]]) -> dict[str, Any]:
    """Play a seat to its end; the last info."""
    text = (await session.await_turn()).text
    while not session.done:
        prompts.append((number, text))
        text = (await session.step(reply(number, text))).observation.text
    return session.info


async def both(
    home: Path, judge_url: str, wanted: EpisodeRequest, reply: Reply
) -> tuple[list[tuple[int, str]], list[dict[str, Any]]]:
    """Prompts of both seats in the order in which they were read, and both last infos, over REST."""
    app = create_app(
        {
            "sotopia": lambda: Sotopia(
                home=home,
                view=wanted.view,
                order=wanted.order,
                max_turns=wanted.max_turns,
                max_stale=wanted.max_stale,
                observation="prompt",
                judge_model="judge",
                judge_url=judge_url,
                judge_cache=False,
            )
        }
    )
    prompts: list[tuple[int, str]] = []
    transport = httpx.ASGITransport(app)
    async with EnvClient("http://localhost", transport=transport, lane="rest") as client:
        sessions = await client.open_seats("sotopia", "sotopia/0", seed=wanted.seed)
        infos = await asyncio.gather(
            *(seat(session, number, reply, prompts) for number, session in enumerate(sessions))
        )
    return prompts, list(infos)


def log_of(info: dict[str, Any], wanted: EpisodeRequest, models: list[str]) -> dict[str, Any]:
    samples = [Judgement.model_validate(one) for one in info["judgements"]]
    judge, first, second = models
    return episode_log_of(
        info["conversation"], samples, pk=wanted.id, models=(judge, first, second), tag=wanted.tag
    )


def test_a_two_agent_episode_with_an_endpoint_is_that_of_the_package(
    engine: PackageEngine, tmp_path: Path
) -> None:
    words = (
        say(*(f"I offer {n}, the {n}th." for n in range(9, -1, -1))),
        say(*(f'"No", {n}.' for n in range(10))),
    )
    replies = {"agent0": [*map(as_json, words[0])], "agent1": [*map(as_json, words[1])]}
    wanted = EpisodeRequest(scene=scene(relationship=2))
    with served(Endpoint({**replies, "judge": [judge_reply(Random(1))]})) as theirs:
        found = engine.episode(wanted.model_copy(update={"endpoint": theirs.url})).record

    with served(Endpoint({**replies, "judge": [judge_reply(Random(1))]})) as ours, httpx.Client() as models:

        def reply(number: int, prompt: str) -> str:
            """What a model behind the endpoint answers to the whole prompt."""
            body = {"model": f"agent{number}", "messages": [{"role": "user", "content": prompt}]}
            answer = models.post(f"{ours.url}/chat/completions", json=body).json()
            return answer["choices"][0]["message"]["content"]

        _, infos = asyncio.run(both(imported(tmp_path, wanted.scene), ours.url, wanted, reply))

    assert len(ours.bodies) == len(theirs.bodies) == 21
    for own, other in zip(ours.bodies, theirs.bodies, strict=True):
        assert (own["model"], own["messages"]) == (other["model"], other["messages"])
    log = found["episode_log"]
    assert [log_of(info, wanted, log["models"]) for info in infos] == [log, log]
    names = wanted.scene.names
    assert {name: info["overall_score"] for name, info in zip(names, infos, strict=True)} == found["rewards"]
    for name, info in zip(names, infos, strict=True):
        assert info["dimensions"] | {"overall_score": info["overall_score"]} == found["dimensions"][name]
    assert infos[0]["end_reasons"] == ["too_long"]


@pytest.mark.slow
def test_random_scripts_through_the_server_have_the_records_of_the_package(
    engine: PackageEngine, tmp_path: Path
) -> None:
    rng, seen = Random(23), set[str]()
    scenes = [scene(relationship=number) for number in range(6)]
    for number in range(EPISODES):
        wanted = request(rng, scenes, number)
        found = engine.episode(wanted).record
        scripts: list[Iterator[Action]] = [iter(script) for script in wanted.script]
        home = imported(tmp_path / str(number), wanted.scene)
        with served(Endpoint({"judge": list(wanted.judge_replies)})) as judge:
            prompts, infos = asyncio.run(
                both(home, judge.url, wanted, lambda of, _, s=scripts: as_json(next(s[of], LEAVE)))
            )
        assert len(prompts) == len(found["prompts"])
        assert dict(prompts) == {int(of): text for of, text in found["last_prompt"].items()}
        assert judge.bodies[0]["messages"][0]["content"] == found["judge_prompt"]
        log = found["episode_log"]
        assert log_of(infos[0], wanted, log["models"]) == log
        assert [info["overall_score"] for info in infos] == list(found["rewards"].values())
        seen |= {wanted.order, wanted.view, *infos[0]["end_reasons"]}
    assert seen >= {"round-robin", "simultaneous", "random", "package", "omniscient", "lite", "left", "stale"}

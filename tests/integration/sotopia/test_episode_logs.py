"""Export of played conversations as Sotopia's `EpisodeLog`, and back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.sotopia_models import JUDGE, PARTNER, SCORES, Models, act, judgement, say
from support.sotopia_profiles import write_profiles
from support.trajectories import trajectory
from typer.testing import CliRunner

from agentevol.cli import app as command_line
from agentevol.core.protocols import Conversation
from agentevol.data.episode_logs import episode_logs, left_out_text, seats_of
from agentevol.engines.scripted import said
from agentevol.loop.report.evaluations.records import Agent, Setting, append_to, record_of, seat_of
from agentevol.rollout.concurrent_episodes import play_episode
from agentevol.rollout.episode import EpisodeRequest
from agentgym_client import EnvClient
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.formats import FORMATS
from agentgym_envs.sotopia.data.episodes import read_episodes
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.sotopia.data.library import Catalogue
from agentgym_envs.sotopia.data.replay import replay
from agentgym_envs.sotopia.environment import Sotopia
from agentgym_envs.sotopia.protocol.conversation import Rules
from agentgym_server.app import create_app
from agentgym_store.records import Sample, Trajectory
from agentgym_store.store import Store

TASK = "sotopia/1"
GOALS = (8, 3)


class Talker:
    """Says one thing and leaves with the next message."""

    version = 0

    def __init__(self, name: str) -> None:
        self.name = name

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        return said(act("leave") if conversation.samples else say(f"I am {self.name}."))

    def release(self, conversation_id: str) -> None:
        pass


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import_official(write_profiles(tmp_path / "source"), tmp_path / "home")
    monkeypatch.setattr("agentgym_envs.sotopia.environment.SHARED", AnswerCache())
    Models(judge=[judgement(goals=GOALS)], talker=[say("Hm.")]).wired(monkeypatch)
    return tmp_path / "home"


async def played(home: Path, seats: int, task_id: str = TASK, **options: Any) -> tuple[Trajectory, ...]:
    app = create_app({"sotopia": lambda: Sotopia(home=home, **options)})
    request = EpisodeRequest(
        id="e", run="r", iteration=0, purpose="evaluate", env="sotopia", task_id=task_id, split="judged",
        kind="", difficulty="", instruction="", seed=3, attempt=0, seats=seats,
        policy_seat=0 if seats > 1 else None,
    )  # fmt: skip
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as client:
        return await play_episode(client, Talker("A"), request, FORMATS["plain"], partner=Talker("B"))


def logs(found: Sequence[Trajectory], **options: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
    written, left_out = episode_logs(seats_of(found), **options)
    return written, dict(left_out)


async def test_both_seats_are_one_log_that_is_read_and_replayed(home: Path, tmp_path: Path) -> None:
    found = await played(home, 2, **JUDGE)
    ((log,), left_out) = logs(found)
    assert (log["pk"], log["tag"], log["models"], left_out) == ("e", "r", ["judge", "A", "B"], {})
    assert log["rewards"][0][1]["goal"] == 8.0
    assert log["rewards"][1][1]["goal"] == 3.0
    file = tmp_path / "logs.jsonl"
    file.write_text(json.dumps(log) + "\n")
    (episode,) = read_episodes(file)
    assert episode.scores is not None
    told = [one.turns[-1].info["dimensions"] for one in found]
    assert [seat.by_dimension for seat in episode.scores] == told == [SCORES, {**SCORES, "goal": 3}]
    catalogue = Catalogue.open(home)
    assert catalogue is not None
    again = replay(episode, catalogue.scene(catalogue.find(TASK)), rules=Rules())
    assert (again.differences, again.conversation.ended) == ((), True)
    assert [action.text for action in again.conversation.log[0]] == ['said: "I am A."', "did nothing"]


async def test_beside_a_partner_at_an_endpoint_the_log_names_its_model(home: Path) -> None:
    ((log,), _) = logs(await played(home, 1, **JUDGE, **PARTNER))
    assert log["models"] == ["judge", "A", "talker"]
    ((log,), _) = logs(await played(home, 1, seat=1, **JUDGE, **PARTNER))
    assert log["models"] == ["judge", "talker", "A"]


async def test_what_nobody_judged_is_left_out_or_has_null_and_never_0(home: Path) -> None:
    found = await played(home, 2, judge="none")
    assert logs(found) == ([], {"without a judgement": 1})
    ((log,), left_out) = logs(found, allow_unjudged=True)
    assert (log["rewards"], log["status"], log["models"][0], left_out) == (None, "unjudged", "none", {})


async def test_other_episodes_are_left_out_with_their_number(home: Path) -> None:
    verified = await played(home, 2, "sotopia/0")
    assert verified[0].turns[-1].info["judge"] == {"kind": "verify"}
    other = trajectory(id="x")
    found, left_out = logs([*verified, other], allow_unjudged=True)
    assert found == []
    assert left_out_text(left_out) == (
        "; left out: 1 without backgrounds, as a program was the judge, 1 without a conversation"
    )
    assert left_out_text({}) == ""


async def test_records_of_an_evaluation_give_the_same_logs(home: Path, tmp_path: Path) -> None:
    found = await played(home, 2, **JUDGE)
    records = [
        record_of(one, Agent(one.policy, "plain", None, None), Setting(1, "B", {}, None)) for one in found
    ]
    ((ours,), _) = episode_logs(map(seat_of, records))
    ((theirs,), _) = logs(found)
    assert ours == {**theirs, "tag": "eval"}
    file, out = tmp_path / "records.jsonl", tmp_path / "logs.jsonl"
    with file.open("x", encoding="utf-8") as lines:
        for record in records:
            append_to(lines, record)
    done = CliRunner().invoke(
        command_line, ["trajectories", "export", str(file), str(out), "--format", "sotopia"]
    )
    assert done.output == f"1 episodes in {out}\n"
    assert json.loads(out.read_text()) == ours


async def test_a_table_is_exported(home: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "table", tmp_path / "logs.jsonl"
    Store.open(str(table)).append(await played(home, 2, judge="none"), commit={"run": "r", "iteration": "0"})
    command = ["trajectories", "export", str(table), str(out), "--format", "sotopia"]
    refused = CliRunner().invoke(command_line, command)
    assert str(refused.exception) == f"no rows to write to {out}: 1 without a judgement"
    again = CliRunner().invoke(command_line, [*command, "--allow-unjudged"])
    assert again.output.splitlines() == [
        "rows: train 1; of 2 episodes of version 1 of the table",
        f"{out}: 1 file; {out}.README.md",
    ]
    assert read_episodes(out)[0].scores is None

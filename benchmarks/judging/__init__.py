"""Judgements a second by a model whose endpoint answers at once: client, panel, service.

    python -m benchmarks judging [--items N] [--json]

The endpoint is a process of its own, and replies with the same bytes to every request. `client`: calls of
`ChatClient` with the prompt of a conversation of 20 utterances, replies read; `panel`: the same with the
item, its scores and a record of the judgement; `rules`: a panel of the rule judge, without an endpoint;
`service`: batches of 64 items to `agentevol judge`, which is a third process. Nothing is cached. On a busy
machine the figures by processor time, of the process that judges, say more than those by the clock.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx

from agentevol.cli.benchmarks.figures import Figure, report
from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.items import Conversation
from agentevol.data.judgements.judges.endpoint import EndpointJudge
from agentevol.data.judgements.judges.rules import RuleJudge
from agentevol.data.judgements.panel import Asked, Panel
from agentgym_envs.endpoints.client import ChatClient
from agentgym_envs.sotopia.models.judge import JudgeFault, JudgeModel, judgement
from agentgym_envs.sotopia.protocol.actions import NOTHING, Action
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.protocol.prompts import judge_prompt
from agentgym_envs.sotopia.protocol.views import judge_background
from agentgym_server.serve import run
from benchmarks.sotopia import WORDS, request

REPEATS = 5
CONCURRENCY = 64
BATCH = 64
BATCHES_AT_ONCE = 4
UNITS = {"client": "calls", "panel": "items", "rules": "items", "service": "items"}
PRICE = "Two neighbours bargain. The oven is listed for $400."
GOALS = (
    "You are the seller of this oven, with a target price of $380.",
    "You are the buyer of this oven, with a target price of $300.",
)


def scene() -> Scene:
    """A scene whose goals the rules can check."""
    known = request().scene
    changes = {"source": "craigslist_bargains", "scenario": PRICE, "agent_goals": GOALS}
    return known.model_copy(update={"environment": known.environment.model_copy(update=changes)})


def items(count: int) -> list[Conversation]:
    """Different conversations of 20 utterances."""
    known = scene()
    background, names = judge_background(known), known.names

    def talk(number: int) -> tuple[tuple[Action, Action], ...]:
        said = [Action(action_type="speak", argument=WORDS.format(number)) for _ in range(20)]
        return tuple((one, NOTHING) if turn % 2 == 0 else (NOTHING, one) for turn, one in enumerate(said))

    return [
        Conversation(id=str(number), background=background, names=names, log=talk(number), scene=known)
        for number in range(count)
    ]


@contextmanager
def process(*arguments: str) -> Generator[tuple[str, int]]:
    """A child process: the last word of its first line, an address, and its id. It is killed in the end."""
    child = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        yield child.stdout.readline().split()[-1], child.pid
    finally:
        child.kill()
        child.wait()


async def client_calls(url: str, given: Sequence[Conversation]) -> None:
    """One call for each item."""
    model = JudgeModel(base_url=url, model="m", concurrency=CONCURRENCY)
    client = ChatClient(model, role="judge", fault=JudgeFault)

    async def one(item: Conversation) -> None:
        prompt = judge_prompt(item.background, item.names, item.log, SOTOPIA)
        await judgement(prompt, item.names, client, SOTOPIA, structured=False, sample=0)

    await asyncio.gather(*map(one, given))


async def panel_items(panel: Panel, given: Sequence[Conversation]) -> None:
    """One judgement for each item, written as a record."""
    found = await asyncio.gather(*(panel.judge(item, Asked()) for item in given))
    assert all(one.model_dump_json() for one in found)


async def served_items(address: str, given: Sequence[Conversation]) -> None:
    """Batches to the service, some at a time."""
    bodies = [
        json.dumps({"items": [one.model_dump(mode="json") for one in given[start : start + BATCH]]})
        for start in range(0, len(given), BATCH)
    ]
    free, headers = asyncio.Semaphore(BATCHES_AT_ONCE), {"content-type": "application/json"}
    async with httpx.AsyncClient(base_url=address, timeout=None, trust_env=False) as client:

        async def one(body: str) -> int:
            async with free:
                reply = await client.post("/judgements", content=body, headers=headers)
            return reply.json()["summary"]["outcomes"]["ok"]

        judged = sum(await asyncio.gather(*map(one, bodies)))
    if judged != len(given):
        raise SystemExit(f"{judged} of {len(given)} items were judged")


def used_s(process_id: int) -> float:
    """Processor time of a process so far, seconds."""
    fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rates(work: Callable[[], Coroutine[Any, Any, None]], count: int, process_id: int) -> tuple[float, float]:
    """Items a second, and a second of processor time of this process, on the event loop of the servers."""

    async def timed() -> int:
        await work()
        return 0

    used, began = used_s(process_id), perf_counter()
    run(timed())
    return count / (perf_counter() - began), count / (used_s(process_id) - used)


def compare(count: int) -> dict[str, Any]:
    """Measure in turn and print the figures."""
    given = items(count)
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in UNITS}
    with (
        process("benchmarks.judging.endpoint") as (url, _),
        process("agentevol", "judge", "--judge=openai:m", f"--url={url}", "--port=0") as service,
    ):
        for repeat in range(REPEATS):
            for name, found in measured(given, repeat, url, service).items():
                runs[name].append(found)
    figures: dict[str, Figure] = {}
    for name, found in runs.items():
        elapsed, used = zip(*found, strict=True)
        figures[name] = Figure(name, f"{UNITS[name]} a second", elapsed)
        figures[f"{name}_cpu"] = Figure(name, f"{UNITS[name]} a second of its processor time", used)
    for figure in figures.values():
        print(figure)
    return {"items": count, **{name: one.as_json() for name, one in figures.items()}}


def measured(
    given: Sequence[Conversation], repeat: int, url: str, service: tuple[str, int]
) -> dict[str, tuple[float, float]]:
    """Items a second of each way. The service keeps answers, so that it gets new items in each repetition."""
    model = JudgeModel(base_url=url, model="m", concurrency=CONCURRENCY)
    panel, rules = (
        Panel([judge])
        for judge in (EndpointJudge(model, Conversations()), RuleJudge(Conversations(), "moves"))
    )
    fresh = [one.model_copy(update={"background": f"{one.background} {repeat}"}) for one in given]
    address, process_id = service
    count, own = len(given), os.getpid()
    return {
        "client": rates(lambda: client_calls(url, given), count, own),
        "panel": rates(lambda: panel_items(panel, given), count, own),
        "rules": rates(lambda: panel_items(rules, given), count, own),
        "service": rates(lambda: served_items(address, fresh), count, process_id),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the processes, and measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks judging")
    parser.add_argument("--items", type=int, default=1024, help="of each repetition")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args(arguments)
    report("judging", lambda: compare(given.items), json=given.json)

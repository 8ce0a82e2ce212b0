"""Order of the measurements, and their output."""

import asyncio
import json as json_module
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from agentevol.cli.benchmarks.figures import Figure, ratio
from agentevol.cli.benchmarks.progress import say
from agentevol.cli.benchmarks.serve.measure import (
    Measurement,
    Server,
    loaded,
    openenv,
    our_load,
    our_server,
    served,
)
from agentgym_client import EnvClient

SERVER_CORES, LOAD_CORE = {0}, 1
SESSIONS = (1, 64, 256, 1000)
BUDGET_SESSIONS = 64
LANES = ("rest", "websocket", "client", "batch", "httpx")
OPEN = 1000
FIRST_ACTIONS = {"assistant": '{"name": "get_now", "arguments": {}}'}
"""The action that is played in each open session, by environment; `look` in others."""


@dataclass(frozen=True)
class Memory:
    """Memory and threads of open sessions on a server."""

    env: str
    sessions: int
    mib_each: float
    threads: int
    """Additional threads with open sessions."""


def main(
    json: bool = False,
    seconds: float = 3.0,
    repeats: int = 3,
    openenv_python: str | None = None,
    envs: Sequence[str] = (),
) -> None:
    """Measure and print; `openenv_python`: an interpreter that has OpenEnv. `envs`: these alone."""
    if envs:
        rows = (row for env in envs for row in by_experts(env, seconds))
        _print_table(rows, json=json)
        return
    budgets = list(side_by_side(seconds, repeats, openenv_python))
    figures = ratios(budgets)
    memory = [open_sessions(env) for env in ("echo", "alfworld", "assistant")]
    table = [*grid("echo", seconds), *grid("alfworld", seconds), *others(seconds, openenv_python)]
    if json:
        rows = _as_json(table)
        found = {"ratios": [figure.as_json() for figure in figures], "memory": [asdict(m) for m in memory]}
        print(json_module.dumps({"benchmark": "serve", **found, "table": rows}, indent=2))
        return
    for line in lines(table, figures, memory, openenv_python):
        print(line)


def _as_json(table: Sequence[Measurement]) -> list[dict[str, object]]:
    return [{**asdict(row), "steps_per_s": row.rate, "cpu_us_per_step": row.cost_us} for row in table]


def _print_table(table: Iterable[Measurement], *, json: bool) -> None:
    if json:
        print(json_module.dumps({"benchmark": "serve", "table": _as_json(list(table))}, indent=2))
        return
    for line in table_lines(table):
        print(line, flush=True)


def by_experts(env: str, seconds: float) -> Iterator[Measurement]:
    """Steps of an environment's experts through its server."""
    with served("agentevol", server_of(env), SERVER_CORES) as server:
        for count in (1, BUDGET_SESSIONS):
            yield ours(server, "expert", env, count, seconds)


def side_by_side(seconds: float, repeats: int, openenv_python: str | None) -> Iterator[Measurement]:
    """Comparisons of the budgets, at 64 sessions, one after another and all repeated."""
    for _ in range(repeats):
        with served("agentevol", our_server("agentevol"), SERVER_CORES) as server:
            for kind in ("rest", "client", "batch"):
                yield ours(server, kind, "echo", BUDGET_SESSIONS, seconds)
        yield from others(seconds, openenv_python, (BUDGET_SESSIONS,))


def ours(server: Server, kind: str, env: str, sessions: int, seconds: float) -> Measurement:
    """One load on one of our servers."""
    say(f"{server.name} {env} {kind} {sessions}")
    command = our_load(kind, server.url, env, sessions, seconds)
    return loaded(server, command, kind, env, sessions, LOAD_CORE)


def others(
    seconds: float, openenv_python: str | None, sessions: Sequence[int] = SESSIONS
) -> Iterator[Measurement]:
    """Measurements of the servers that ours is compared with."""
    for name, kind in (("fastapi", "bare"), ("reference", "reference")):
        with served(name, our_server(name), SERVER_CORES) as server:
            for count in sessions:
                yield ours(server, kind, "echo", count, seconds)
    if openenv_python is None:
        return
    for count in sessions:
        with served("openenv", openenv(openenv_python, "serve"), SERVER_CORES) as server:
            say(f"openenv echo its own client {count}")
            command = openenv(openenv_python, "load", server.url, str(count), str(seconds))
            yield loaded(server, command, "openenv", "echo", count, LOAD_CORE)


def grid(env: str, seconds: float) -> Iterator[Measurement]:
    """Our server with every lane and number of sessions."""
    for kind in LANES:
        if env != "echo" and kind in ("batch", "websocket"):
            continue  # these two play one action only
        with served("agentevol", server_of(env), SERVER_CORES) as server:  # loads leave sessions behind
            for count in SESSIONS:
                yield ours(server, kind, env, count, seconds)


def server_of(env: str) -> list[str]:
    """The command that serves one environment."""
    if env == "echo":
        return our_server("agentevol")
    words = ("envs", "serve", env, "--port", "0", "--max-sessions", "4096")
    return [sys.executable, "-m", "agentevol", *words]


def open_sessions(env: str) -> Memory:
    """Memory and threads of 1,000 open sessions, one step played in each."""
    with served("agentevol", server_of(env), SERVER_CORES) as server:
        asyncio.run(_opened(server.url, env, 10))  # a first episode loads what is not a session's
        before_mib, threads = server.tree_mib(), server.threads()
        asyncio.run(_opened(server.url, env, OPEN))
        mib_each = (server.tree_mib() - before_mib) / OPEN
        return Memory(env, OPEN, mib_each, server.threads() - threads)


async def _opened(url: str, env: str, count: int) -> None:
    async with EnvClient(url) as client:
        page = await client.tasks(env, "train", limit=count)
        for index in range(count):
            session = await client.open(env, page.tasks[index % len(page.tasks)].task_id, seed=1)
            await session.step(FIRST_ACTIONS.get(env, "look"))


def ratios(measurements: Sequence[Measurement]) -> list[Figure]:
    """Ratios run by run, ours above the other: steps per second, and the other's CPU time above ours."""
    rates = {(m.server, m.load): [n.rate for n in measurements if n.load == m.load] for m in measurements}
    costs = {(m.server, m.load): [n.cost_us for n in measurements if n.load == m.load] for m in measurements}
    pairs = [
        ("REST / FastAPI echo", ("agentevol", "rest"), ("fastapi", "bare")),
        ("client / AgentGym's pattern", ("agentevol", "client"), ("reference", "reference")),
        ("client / OpenEnv's client", ("agentevol", "client"), ("openenv", "openenv")),
        ("batch / OpenEnv's client", ("agentevol", "batch"), ("openenv", "openenv")),
    ]
    found: list[Figure] = []
    for what, one, other in pairs:
        if other in rates:
            found.append(ratio(f"{what}, steps a second", rates[one], rates[other]))
            found.append(ratio(f"{what}, steps a processor second", costs[other], costs[one]))
    return found


def lines(
    table: Sequence[Measurement],
    figures: Sequence[Figure],
    memory: Sequence[Memory],
    openenv_python: str | None,
) -> Iterator[str]:
    """All results as text."""
    yield from table_lines(table)
    yield ""
    for one in memory:
        more = f"{one.mib_each:.3f} MiB each, {one.threads} threads more"
        yield f"{one.env}: {one.sessions:,} open sessions: {more}"
    yield ""
    yield f"ratios at {BUDGET_SESSIONS} sessions, run by run"
    yield from map(str, figures)
    if openenv_python is None:
        yield "OpenEnv took no part: name an interpreter that has openenv==0.10.0 with --openenv"


def table_lines(table: Iterable[Measurement]) -> Iterator[str]:
    """Measurements as text."""
    yield "server on one core, load on another; a session has one step on its way at a time"
    heads = ("server", "env", "load", "sessions", "steps/s", "p50 ms", "p99 ms", "us/step")
    yield "{:<10}{:<10}{:<10}{:>9}{:>10}{:>9}{:>9}{:>9}".format(*heads)
    for row in table:
        yield (
            f"{row.server:<10}{row.env:<10}{row.load:<10}{row.sessions:>9}{row.rate:>10,.0f}"
            f"{row.p50_s * 1e3:>9.2f}{row.p99_s * 1e3:>9.2f}{row.cost_us:>9.1f}"
        )

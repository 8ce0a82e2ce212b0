"""Calibration: costs of a run's parts on this machine, each measured alone in CPU time, in about a minute.

CPU time is used since other work on the machine delays a part but does not add work to it. Where CPU time is
not meaningful (appending to the table waits for the disk), it is wall time.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from agentevol.cli.benchmarks.env.alfworld import scripts
from agentevol.cli.benchmarks.progress import say
from agentevol.cli.benchmarks.rollout.embedded import ACTION_TOKENS, make_checkpoint, play
from agentevol.cli.benchmarks.serve.main import LOAD_CORE, SERVER_CORES, server_of
from agentevol.cli.benchmarks.serve.measure import loaded, our_load, served
from agentevol.cli.benchmarks.store import episode
from agentevol.core.protocols import Checkpoint
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentgym_store.store import Store
from benchmarks.scale.costs import Costs
from benchmarks.scale.driver_costs import driver_costs

BATCHES = (1, 8, 32, 64)
ENGINE_TURNS = 8
WORLD, SESSIONS, LOAD_S = "alfworld", 64, 3.0
COMMIT_EVERY, COMMITS = 64, 20
IN_FLIGHT = (100, 10_000)


def calibrate() -> Costs:
    """Measure all parts."""
    say("the engine")
    step_s = engine_steps()
    say(f"steps of {WORLD}")
    open_s, world_s = world_steps()
    gateway_s, request_s = requests()
    say("the table")
    append_s = appends()
    say("the driver, on Ray")
    hand_out_s, take_in_s, look_s = driver_costs(IN_FLIGHT)
    server_s = max(0.0, request_s - sum(world_s) / len(world_s))
    return Costs(step_s, gateway_s, server_s, open_s, world_s, append_s, hand_out_s, take_in_s, look_s)


def engine_steps() -> list[tuple[int, float]]:
    """Concurrent turns with the seconds for a token of each: the embedded engine on one thread with the model
    of `bench rollout`, prefill and rendering included.
    """
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(make_checkpoint(Path(folder)), 0)
        engine = EmbeddedEngine(checkpoint, slots=max(BATCHES), threads=1)
        asyncio.run(play(engine, max(BATCHES), 1))
        found = [(batch, _step_s(engine, batch)) for batch in BATCHES]
        engine.close()
    return found


def _step_s(engine: EmbeddedEngine, batch: int) -> float:
    repeats = max(1, 8 // batch)
    began = time.process_time()
    for _ in range(repeats):
        asyncio.run(play(engine, batch, ENGINE_TURNS))
    return (time.process_time() - began) / (repeats * ENGINE_TURNS * ACTION_TOKENS)


def world_steps() -> tuple[list[float], list[float]]:
    """Seconds to begin an episode, and of each step with its admissible actions, without a server."""
    from agentgym_envs.alfworld.scene import parse
    from agentgym_envs.alfworld.world import World

    begun, stepped = list[float](), list[float]()
    for script in scripts():
        began = time.perf_counter()
        world = World(parse(script.game))
        world.initial_observation()
        world.admissible()
        begun.append(time.perf_counter() - began)
        for command in script.commands:
            began = time.perf_counter()
            world.step(command)
            world.admissible()
            stepped.append(time.perf_counter() - began)
    return begun, stepped


def requests() -> tuple[float, float]:
    """CPU seconds for one step of a session, of a gateway and of the server behind it."""
    load = ("client", WORLD, SESSIONS)
    with served("server", server_of(WORLD), SERVER_CORES) as server:
        say("requests to the server")
        direct = loaded(server, our_load("client", server.url, *load[1:], LOAD_S), *load, LOAD_CORE)
        words = ("envs", "gateway", "--backend", f"{WORLD}={server.url}", "--port", "0")
        with served("gateway", [sys.executable, "-m", "agentevol", *words], SERVER_CORES) as gateway:
            say("requests through the gateway")
            command = our_load("client", gateway.url, *load[1:], LOAD_S)
            through = loaded(gateway, command, *load, LOAD_CORE)
    return through.cost_us / 1e6, direct.cost_us / 1e6


def appends() -> list[float]:
    """Seconds of commits of `COMMIT_EVERY` typical episodes each, one after another to one table."""
    random = Random(0)
    episodes = [episode(index, random) for index in range(COMMIT_EVERY)]
    with tempfile.TemporaryDirectory() as folder:
        store, found = Store.open(Path(folder) / "table"), list[float]()
        for number in range(COMMITS):
            began = time.perf_counter()
            store.append(episodes, commit={"run": "bench", "first": str(number)})
            found.append(time.perf_counter() - began)
    return found

"""Episodes that people play, each by one person through its page."""

import asyncio
import secrets
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from agentevol.core.errors import one_line
from agentevol.rollout.concurrent_episodes import play_episode
from agentevol.rollout.episode import EpisodeRequest
from agentevol.ui.errors import NotFound
from agentevol.ui.kept import Kept
from agentevol.ui.playground.errors import TooMany
from agentevol.ui.playground.person import Person
from agentevol.ui.playground.search import TaskList, TaskSearch
from agentevol.ui.playground.servers import Servers, State
from agentevol.ui.playground.setups import Setup, Setups
from agentevol.ui.playground.table import keep
from agentevol.ui.playground.tasks import chosen, described, named, purpose_of
from agentgym_client import EnvClient
from agentgym_client.records import EnvironmentInfo, TaskInfo
from agentgym_client.sync import LoopThread
from agentgym_envs.formats import PLAIN
from agentgym_store.errors import StoreError
from agentgym_store.records import Trajectory

PATIENCE_S = 3600.0
"""Seconds after which a person without an action has gone away."""
MOST_PLAYS = 32
"""Episodes that are played at one time."""
MOST_KEPT = 256
"""Episodes whose pages are kept, ended ones included."""
ANSWER_S = 10.0
"""Seconds that a page waits for the environment before it says that it waits."""
CLOSE_S = 5.0
MOST_SEARCHES = 16
"""Searches for tasks that can be gone on with."""
RUN = "human"
"""Name of the run of these episodes, and the first part of their ids."""

ResultT = TypeVar("ResultT")


@dataclass
class Play:
    """One episode, while it is played and after."""

    id: str
    """Secret: who knows it can act."""
    person: Person
    request: EpisodeRequest
    setup: Setup
    index: int | None
    """Place of the task in its split, from 0; None if it is not known."""
    max_turns: int
    seats: tuple[str, ...]
    episode: Trajectory | None = None
    """The record of an episode that has ended."""
    is_kept: bool = False
    """True if the record is in the table."""
    problem: str = ""
    """Reason for which it is not."""
    playing: "asyncio.Task[None] | None" = field(default=None, repr=False)


@dataclass(frozen=True)
class Wish:
    """Choice of an episode that a person wants to play."""

    setup: Setup
    split: str
    index: int | None = None
    """Place of the task in the split, from 0; without it and an id, one is drawn."""
    task_id: str = ""
    """Id of the task, which may be of another split."""
    seed: int | None = None
    max_turns: int | None = None
    """Limit of turns; None is the environment's own."""
    player: str = ""


@dataclass(frozen=True)
class TaskQuery:
    """Choice of the tasks that a page lists."""

    split: str = ""
    """The first one if empty."""
    text: str = ""
    """Text that they contain, or the id of one."""
    start: int = 0
    """Place in the split from which they are listed, from 0."""
    others: bool = False
    """True if a task whose id is the text is not listed alone."""
    index: int | None = None
    """Place of the only task."""


class Playground:
    """Plays, whose episodes go to one table; all of them run in the event loop of one thread.

    Methods are called from other threads.
    """

    def __init__(self, table: Path | str, search_s: float, patience_s: float = PATIENCE_S) -> None:
        self.table = table
        self.setups = Setups()
        self._search_s, self._patience_s = search_s, patience_s
        self._plays: dict[str, Play] = {}
        self._searches: Kept[TaskSearch] = Kept(MOST_SEARCHES)
        self._servers = Servers()
        self._writing = asyncio.Lock()
        self._lock, self._thread = threading.Lock(), list[LoopThread]()

    def state(self, setup: Setup) -> State:
        """State of the environment's server with these options; nothing is started."""
        return self._servers.state(setup)

    def open(self, env: str) -> list[Setup]:
        """Options with which the environment has a server."""
        return self._servers.open(env)

    def problem(self, setup: Setup) -> str:
        """Reason for which the environment could not be played; empty if there is none."""
        return self._servers.problem(setup)

    def start(self, setup: Setup) -> None:
        """Start the environment's server, and do not wait for it. Raises `PageError`."""

        async def start() -> None:
            self._servers.start(setup)

        self._run(start())

    def tasks(self, setup: Setup, query: TaskQuery) -> tuple[EnvironmentInfo, TaskList]:
        """The environment, and a page of its tasks: as far as it was found within the time of a search.

        Raises `PageError`.
        """

        async def tasks() -> tuple[EnvironmentInfo, TaskList]:
            async with self._servers.used(setup) as url, EnvClient(url, lane="rest") as client:
                info = await described(client, setup.env)
                split = query.split or next(iter(info.splits), "")
                if query.index is not None:
                    task = await chosen(client, info, split, query.index)
                    return info, TaskList(split, (task,), info.splits[split], is_exact=True)
                name = (setup, info.data_version, split, query.text, query.start)
                search = self._searches.get(name, lambda: TaskSearch(info, split, query.text, query.start))
                return info, await search.advance(client, self._search_s, others=query.others)

        return self._run(tasks())

    def begin(self, wish: Wish) -> Play:
        """Begin an episode; returns when the person is asked, or the environment takes its time.

        Raises `PageError`.
        """
        return self._run(self._begin(wish))

    def find(self, play_id: str) -> Play:
        """The play with this id. Raises `NotFound`."""
        if play_id not in self._plays:
            raise NotFound(
                "This episode is not played here: it ended some time ago, or agentevol ui was started again.",
                "Begin another one. Episodes that have ended are in the table.",
            )
        return self._plays[play_id]

    def act(self, play: Play, turn: int, action: str | int) -> None:
        """Act in a turn, from 1, and wait for the environment; nothing happens in another turn.

        A number is that of an admissible action, from 1; one that is not there does nothing.
        """

        async def act() -> None:
            said = play.person.admissible(action) if isinstance(action, int) else action
            if said is not None and play.person.answer(turn, said):
                await play.person.news(ANSWER_S)

        self._run(act())

    def give_up(self, play: Play) -> None:
        """End an episode without a return."""

        async def give_up() -> None:
            play.person.give_up()
            if play.episode is None:
                await play.person.news(ANSWER_S)

        self._run(give_up())

    def keep_again(self, play: Play) -> None:
        """Try again to append an episode that the table did not take."""
        self._run(self._keep(play))

    def close(self) -> None:
        """Give all episodes up, keep them, and stop the servers."""
        with self._lock:
            thread = self._thread.pop() if self._thread else None
        if thread is not None:
            thread.run(self._close())
            thread.stop()

    def _run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        with self._lock:
            if not self._thread:
                self._thread.append(LoopThread())
            thread = self._thread[0]
        return thread.run(work)

    async def _begin(self, wish: Wish) -> Play:
        async with AsyncExitStack() as used:
            url = await used.enter_async_context(self._servers.used(wish.setup))
            async with EnvClient(url, lane="rest") as client:
                info = await described(client, wish.setup.env)
                if wish.task_id:
                    task = await named(client, info, wish.task_id)
                else:
                    task = await chosen(client, info, wish.split, wish.index)
            self._make_room()
            play = self._new(wish, info, task)
            self._plays[play.id] = play
            play.playing = asyncio.create_task(self._play(play, url, used.pop_all()))
        await play.person.news(ANSWER_S)
        return play

    def _new(self, wish: Wish, info: EnvironmentInfo, task: TaskInfo) -> Play:
        person = Person(f"human:{wish.player}" if wish.player else "human", self._patience_s)
        request = EpisodeRequest(
            id=f"{RUN}/{datetime.now(UTC):%Y-%m-%d}/{secrets.token_hex(6)}",
            run=RUN,
            iteration=0,
            purpose=purpose_of(info, task),
            env=wish.setup.env,
            task_id=task.task_id,
            split=task.split,
            kind=task.kind,
            difficulty=task.difficulty,
            instruction=task.instruction,
            seed=secrets.randbelow(2**31) if wish.seed is None else wish.seed,
            attempt=0,
            max_turns=wish.max_turns,
            act_timeout_s=self._patience_s + 60,
        )
        secret = secrets.token_urlsafe(18)
        limit = wish.max_turns or info.default_max_turns
        return Play(secret, person, request, wish.setup, task.index, limit, info.seats)

    def _make_room(self) -> None:
        if sum(play.episode is None for play in self._plays.values()) >= MOST_PLAYS:
            raise TooMany(f"{MOST_PLAYS} episodes are played at this moment.", "End one of them first.")
        ended = [play.id for play in self._plays.values() if play.is_kept]
        for play_id in ended[: max(0, len(self._plays) - MOST_KEPT + 1)]:
            del self._plays[play_id]

    async def _play(self, play: Play, url: str, used: AsyncExitStack) -> None:
        async with used, EnvClient(url, lane="rest", patience_s=60.0) as client:
            (play.episode,) = await play_episode(client, play.person, play.request, PLAIN)
        await self._keep(play)

    async def _keep(self, play: Play) -> None:
        async with self._writing:
            if play.episode is not None and not play.is_kept:
                try:
                    play.episode = await asyncio.to_thread(keep, self.table, play.episode)
                    play.is_kept, play.problem = True, ""
                except (StoreError, OSError) as cause:
                    play.problem = one_line(cause)
        play.person.tell()

    async def _close(self) -> None:
        playing = [play.playing for play in self._plays.values() if play.playing and not play.playing.done()]
        for play in self._plays.values():
            play.person.give_up()
        if playing:
            await asyncio.wait(playing, timeout=CLOSE_S)
        await self._servers.close()

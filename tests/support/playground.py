"""The playground over ASGI, with environment servers in threads of this process, and environments for it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from starlette.testclient import TestClient
from support.server.threaded import served

from agentevol.core.errors import RunStopped
from agentevol.ui.app import create_app
from agentevol.ui.settings import UiSettings
from agentgym_envs.core import Environment, Observation, StepResult, TaskNotFound, TaskUnplayable
from agentgym_envs.guess import Guess, GuessTask
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.options import PRIVATE
from agentgym_server import app as server_app
from agentgym_server.settings import ServerSettings
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where

MANY = 1_000_000
"""Tasks of a split of `Doors`."""


class Rooms(Guess):
    """Guess with options, some of which exclude each other; the first observation tells them."""

    name = "rooms"

    def __init__(
        self,
        size: Annotated[int, Field(ge=1, le=9, description="Number of `rooms`.")] = 4,
        *,
        colour: Annotated[Literal["red", "blue"], Field(description="Colour of the doors.")] = "red",
        is_dark: bool = False,
        partner_url: Annotated[str | None, Field(json_schema_extra=PRIVATE)] = None,
    ) -> None:
        if is_dark and colour == "blue":
            raise ValueError(f"is_dark excludes colour='blue', at {partner_url}")
        self.told = f"{size} {colour} {is_dark} {'with' if partner_url else 'without'} a partner"

    @property
    def data_version(self) -> str:
        return f"builtin:{self.told}"

    def reset(self, task: Any, seed: int) -> Observation:
        super().reset(task, seed)
        return Observation(text=self.told)


class Doors(Environment[GuessTask]):
    """Environment whose splits have a million tasks, each made when it is read."""

    name = "doors"
    max_turns = 3
    blocking = False
    names: ClassVar[tuple[str, ...]] = ("train", "valid", "test")

    @property
    def splits(self) -> tuple[str, ...]:
        return self.names

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[GuessTask]:
        if split not in self.names:
            raise TaskNotFound(split)
        return LazySequence(MANY, lambda number: self._task(split, number))

    def task(self, task_id: str) -> GuessTask:
        if task_id == "train/closed":
            raise TaskUnplayable("it is closed")
        split, _, number = task_id.partition("/")
        if split not in self.names or not re.fullmatch(r"0|[1-9]\d{0,5}", number):
            raise TaskNotFound(task_id)
        return self._task(split, int(number))

    def reset(self, task: GuessTask, seed: int) -> Observation:
        return Observation(text=f"Door {task.secret}.")

    def step(self, action: str) -> StepResult:
        return StepResult(observation=Observation(text="Open."), reward=1.0, terminated=True)

    def _task(self, split: str, number: int) -> GuessTask:
        kind = "golden" if number == 21_000 else "plain"
        return GuessTask(
            env=self.name,
            id=f"{split}/{number}",
            split=split,
            instruction="Open it.",
            kind=kind,
            secret=number,
        )


class Served:
    """Environment server in a thread of this process, in the place of a subprocess."""

    environments: ClassVar[dict[str, type[Environment[Any]]]] = {}
    opened: ClassVar[list["Served"]] = []

    def __init__(self, config: Any, log: Path, **_: Any) -> None:
        del log
        self.config, self._open = config, ExitStack()
        self.is_closed = False

    def __enter__(self) -> "Served":
        make = partial(self.environments[self.config.name], **self.config.options)
        try:
            app = server_app.create_app({self.config.name: make}, settings=ServerSettings(drain_s=0))
        except ValueError as cause:
            raise RunStopped(f"the environment server did not start; its last output: {cause}") from cause
        self.url = self._open.enter_context(served(app))
        Served.opened.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.lose()
        self.is_closed = True

    def lose(self) -> None:
        """End as a killed process does."""
        self._open.close()


@contextmanager
def pages(home: Path, **fields: Any) -> Iterator[TestClient]:
    """A client of the pages on a folder."""
    app = create_app(UiSettings((home,), **fields))
    with TestClient(app, base_url="http://127.0.0.1:8600", raise_server_exceptions=False) as client:
        yield client


def started(client: TestClient, env: str = "guess", **options: str) -> str:
    """The page of an environment's tasks, once its server runs with these options."""
    fields = {"env": env, **{f"option.{name}": text for name, text in options.items()}}
    page = client.post("/play/environments", data=fields)
    while f"<h1>{env} starts</h1>" in page.text:
        page = client.get(str(page.url))
    return page.text


def begun(client: TestClient, **fields: str) -> str:
    """Begin an episode, of guess-5 unless told otherwise; its address."""
    chosen = {"env": "guess", "split": "train", "index": "2", **fields}
    if "setup" not in fields:
        started(client, chosen["env"])
    reply = client.post("/play", data=chosen, follow_redirects=False)
    assert reply.status_code == 303, reply.text
    return reply.headers["location"].removesuffix("#end")


def acted(client: TestClient, address: str, turn: int, **fields: str) -> str:
    """The page after an action."""
    return client.post(address, data={"turn": str(turn), **fields}).text


def kept(home: Path, where: Where | None = None) -> list[Trajectory]:
    """Episodes in the table of a folder."""
    return list(Store.open(home / "human").trajectories(where or Where()))

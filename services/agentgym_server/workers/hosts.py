"""Environment instances of one process (`Instances`), and the interface to play episodes in them (`Host`).

`LoopHost` has its room on the event loop, `agentgym_server.workers.pool.WorkerPool` one in each process.
"""

import logging
import math
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from agentgym_envs.assets import mapped
from agentgym_envs.core import Costs, Environment, Observation, StepResult, checked_costs
from agentgym_server.monitoring.histograms import Histograms
from agentgym_server.workers.waiting import PastDeadline, WaitLimit, within

log = logging.getLogger(__name__)

Factory = Callable[[], Environment[Any]]
ValueT = TypeVar("ValueT")
PlayedT = TypeVar("PlayedT", "Outcome", "dict[str, Outcome]")


class Outcome(NamedTuple):
    """Result of a reset or step, as JSON values."""

    text: str
    actions: Sequence[str] | None
    tools: Sequence[dict[str, Any]] | None
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    costs: Costs


Outcomes = dict[str, Outcome]
"""Outcomes by seat."""


class Origin(NamedTuple):
    """Start of an episode: equal origins give equal episodes if the environment is deterministic."""

    env: str
    task_id: str
    seed: int


class HostFault(Exception):
    """Failure of an environment, or of what an episode depends on; `kind` is a problem's slug: `worker-lost`,
    `step-timeout`, `internal`, `partner` or `judge`.

    The message of an `internal` one is the incident under which the log has the details.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def dependency_fault(kind: str, trace: str) -> HostFault:
    """Log the failure of a partner or a judge; callers see its incident, and no address of an endpoint."""
    incident = _logged(f"a {kind} failed", trace)
    return HostFault(kind, f"the {kind} of this episode failed: incident {incident}")


def internal_fault(what: str, trace: str) -> HostFault:
    """Log a failure under a new incident; callers see only the incident."""
    return HostFault("internal", _logged(what, trace))


def _logged(what: str, trace: str) -> str:
    """The new incident under which the log has a failure."""
    incident = secrets.token_hex(8)
    log.error("incident %s: %s\n%s", incident, what, trace)
    return incident


class Overloaded(Exception):
    """The operation was not started: the queue is full, or no worker is running."""


class Host(Protocol):
    """Interface to play episodes; `key` names one.

    Every method that waits raises `HostFault`, and `Overloaded` if it did nothing. `open` and `fork` raise
    `TaskNotFound` and `TaskUnplayable` too.
    """

    async def start(self) -> None:
        """Load the data that the first episode needs; may be called twice."""
        ...

    async def open(self, key: str, origin: Origin, deadline_s: float) -> Outcome:
        """Start an episode."""
        ...

    async def fork(
        self, key: str, parent: str, origin: Origin, actions: Sequence[str] | None, deadline_s: float
    ) -> Outcome | None:
        """Start from the current state of `parent` (`actions` None), or after these actions from its origin.

        The latter returns the outcome of the last action (of the reset if there is none), the former None.
        """
        ...

    def step(self, key: str, action: str, deadline_s: float) -> Outcome | Awaitable[Outcome]:
        """Play one action; the outcome is immediate where that is cheap."""
        ...

    async def open_seats(self, key: str, origin: Origin, deadline_s: float) -> Outcomes:
        """Start an episode with several seats; the outcomes of those that act first."""
        ...

    def step_seats(
        self, key: str, actions: Mapping[str, str], deadline_s: float
    ) -> Outcomes | Awaitable[Outcomes]:
        """Play the actions of all seats whose turn it is; the outcomes of those that act next or ended."""
        ...

    def drop(self, key: str) -> None:
        """Free the resources of the episode; unknown keys are ignored."""
        ...

    async def close(self) -> None:
        """Stop and free all resources."""
        ...


class Instances:
    """Environment instances of one process: one per episode, and an idle one of each environment for
    look-ups.

    The coroutines of an environment share its `max_waiting` with `processes` - 1 other processes.
    """

    def __init__(self, factories: Mapping[str, Factory], processes: int = 1) -> None:
        self._factories = factories
        self._processes = processes
        self._limits: dict[str, WaitLimit] = {}
        self._episodes: dict[str, Environment[Any]] = {}
        self._names: dict[str, str] = {}
        self._environments: dict[str, Environment[Any]] = {}

    def load(self) -> None:
        """Build the idle instance of every environment, and with it the data that instances share: what it
        loads, and its assets.
        """
        for env in self._factories:
            for path in self._world(env).assets:
                mapped(path)

    async def open(self, key: str, origin: Origin, deadline_s: float) -> Outcome:
        """Start an episode; raises `TaskNotFound`, `PastDeadline` and any exception of the environment."""
        task = self._world(origin.env).task(origin.task_id)
        environment = self._of_episode(key, origin.env)
        try:
            observation = environment.reset(task, origin.seed)
            if not isinstance(observation, Observation):
                observation = await self._limit(origin.env).run(observation, deadline_s)
            return opening(observation)
        except BaseException:
            self.drop(key)
            raise

    async def fork(
        self, key: str, parent: str, origin: Origin, actions: Sequence[str] | None, deadline_s: float
    ) -> Outcome | None:
        """See `Host.fork`; raises `PastDeadline`."""
        return await within(deadline_s, self._fork(key, parent, origin, actions, deadline_s))

    async def _fork(
        self, key: str, parent: str, origin: Origin, actions: Sequence[str] | None, deadline_s: float
    ) -> Outcome | None:
        if actions is None:
            snapshot = self._episodes[parent].snapshot()
            self._of_episode(key, origin.env).restore(snapshot)
            return None
        reached = await self.open(key, origin, deadline_s)
        try:
            for action in actions:
                step = self.step(key, action, deadline_s)
                reached = step if isinstance(step, Outcome) else await step
        except BaseException:
            self.drop(key)
            raise
        return reached

    def step(self, key: str, action: str, deadline_s: float) -> Outcome | Awaitable[Outcome]:
        """Play one action; raises any exception of the environment, and a coroutine also `PastDeadline`."""
        result = self._episodes[key].step(action)
        if isinstance(result, StepResult):
            return outcome(result)
        return _awaited(self._limit(self._names[key]).run(result, deadline_s))

    async def open_seats(self, key: str, origin: Origin, deadline_s: float) -> Outcomes:
        """See `Host.open_seats`; raises as `open`."""
        task = self._world(origin.env).task(origin.task_id)
        environment = self._of_episode(key, origin.env)
        try:
            observations = environment.reset_seats(task, origin.seed)
            if not isinstance(observations, Mapping):
                observations = await self._limit(origin.env).run(observations, deadline_s)
            return {seat: opening(observation) for seat, observation in observations.items()}
        except BaseException:
            self.drop(key)
            raise

    def step_seats(
        self, key: str, actions: Mapping[str, str], deadline_s: float
    ) -> Outcomes | Awaitable[Outcomes]:
        """See `Host.step_seats`; raises as `step`."""
        results = self._episodes[key].step_seats(actions)
        if isinstance(results, Mapping):
            return outcomes(results)
        return _awaited_all(self._limit(self._names[key]).run(results, deadline_s))

    def env(self, key: str) -> str:
        """The environment of an episode."""
        return self._names[key]

    def drop(self, key: str) -> None:
        """Free the instance of an episode."""
        self._names.pop(key, None)
        environment = self._episodes.pop(key, None)
        if environment is not None:
            environment.close()

    def close(self) -> None:
        """Free all resources."""
        for key in list(self._episodes):
            self.drop(key)
        for environment in self._environments.values():
            environment.close()
        self._environments.clear()

    def _of_episode(self, key: str, env: str) -> Environment[Any]:
        self.drop(key)
        environment = self._factories[env]()
        self._episodes[key], self._names[key] = environment, env
        return environment

    def _limit(self, env: str) -> WaitLimit:
        limit = self._limits.get(env)
        if limit is None:
            bound = max(1, self._world(env).max_waiting // self._processes)
            limit = self._limits[env] = WaitLimit(bound)
        return limit

    def _world(self, env: str) -> Environment[Any]:
        environment = self._environments.get(env)
        if environment is None:
            environment = self._environments[env] = self._factories[env]()
        return environment


async def _awaited(result: Awaitable[StepResult]) -> Outcome:
    return outcome(await result)


async def _awaited_all(results: Awaitable[Mapping[str, StepResult]]) -> Outcomes:
    return outcomes(await results)


def outcomes(results: Mapping[str, StepResult]) -> Outcomes:
    """The results of several seats as JSON values; raises as `outcome`."""
    return {seat: outcome(result) for seat, result in results.items()}


def opening(observation: Observation) -> Outcome:
    """The outcome of a reset."""
    return Outcome(observation.text, observation.actions, observation.tools, 0.0, False, False, {}, {})


def outcome(result: StepResult) -> Outcome:
    """A step's result as JSON values; raises `ValueError` for a reward or cost that is not finite."""
    if not math.isfinite(result.reward):
        raise ValueError(f"the environment's reward is {result.reward}")
    seen = result.observation
    return Outcome(
        seen.text,
        seen.actions,
        seen.tools,
        result.reward,
        result.terminated,
        result.truncated,
        result.info,
        checked_costs(result.costs) if result.costs else {},
    )


class LoopHost:
    """Host of non-blocking environments on the event loop; at most `max_queue` coroutines of each."""

    def __init__(self, factories: Mapping[str, Factory], times: Histograms, max_queue: int = 1024) -> None:
        self._room = Instances(factories)
        self._times = times
        self._max_queue = max_queue
        self.waiting: Counter[str] = Counter()
        """Coroutines under way, by environment, those that queue included."""

    async def start(self) -> None:
        """Build every environment once."""
        self._room.load()

    async def open(self, key: str, origin: Origin, deadline_s: float) -> Outcome:
        """See `Host.open`."""
        return await self._waited(origin.env, self._room.open(key, origin, deadline_s))

    async def fork(
        self, key: str, parent: str, origin: Origin, actions: Sequence[str] | None, deadline_s: float
    ) -> Outcome | None:
        """See `Host.fork`."""
        return await self._waited(origin.env, self._room.fork(key, parent, origin, actions, deadline_s))

    def step(self, key: str, action: str, deadline_s: float) -> Outcome | Awaitable[Outcome]:
        """See `Host.step`; only a coroutine can be cancelled at its deadline."""
        env = self._room.env(key)
        self._check_queue(env)
        began = time.perf_counter()
        return self._played(env, self._room.step(key, action, deadline_s), began)

    async def open_seats(self, key: str, origin: Origin, deadline_s: float) -> Outcomes:
        """See `Host.open_seats`."""
        return await self._waited(origin.env, self._room.open_seats(key, origin, deadline_s))

    def step_seats(
        self, key: str, actions: Mapping[str, str], deadline_s: float
    ) -> Outcomes | Awaitable[Outcomes]:
        """See `Host.step_seats`."""
        env = self._room.env(key)
        self._check_queue(env)
        began = time.perf_counter()
        return self._played(env, self._room.step_seats(key, actions, deadline_s), began)

    def drop(self, key: str) -> None:
        """See `Host.drop`."""
        self._room.drop(key)

    async def close(self) -> None:
        """Free all resources."""
        self._room.close()

    def _played(
        self, env: str, step: PlayedT | Awaitable[PlayedT], began: float
    ) -> PlayedT | Awaitable[PlayedT]:
        # every step comes here, and to ask for an awaitable takes longer
        if not isinstance(step, (Outcome, dict)):
            return self._timed(env, self._waited(env, step), began)
        self._times[env].observe(time.perf_counter() - began)
        return step

    def _check_queue(self, env: str) -> None:
        if self.waiting.get(env, 0) >= self._max_queue:  # of a Counter, a missing key costs a call
            raise Overloaded(f"{self.waiting[env]} operations of {env} wait")

    async def _timed(self, env: str, step: Awaitable[PlayedT], began: float) -> PlayedT:
        try:
            return await step
        finally:
            self._times[env].observe(time.perf_counter() - began)

    async def _waited(self, env: str, work: Awaitable[ValueT]) -> ValueT:
        self._check_queue(env)
        self.waiting[env] += 1
        try:
            return await work
        except PastDeadline as cause:
            raise HostFault("step-timeout", str(cause)) from None
        finally:
            self.waiting[env] -= 1

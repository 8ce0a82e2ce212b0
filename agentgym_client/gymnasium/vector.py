"""Vectorised environment (`gymnasium.vector.VectorEnv`) that plays all turns concurrently."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from agentgym_client.gymnasium.environment import AgentGymEnv, engine_for
from agentgym_client.gymnasium.episode_sequence import (
    EpisodeSequence,
    Info,
    Opening,
    Transition,
    checked_action,
)
from agentgym_client.gymnasium.spaces import action_space, observation_space

if TYPE_CHECKING:
    import httpx

Texts = tuple[str, ...]
Flags = NDArray[np.bool_]
ResultT = TypeVar("ResultT")


class AgentGymVectorEnv(VectorEnv[Texts, Sequence[str], NDArray[Any]]):
    """`num_envs` environments with the behaviour of `gymnasium.vector.SyncVectorEnv`, over one client.

    Settings are those of `AgentGymEnv`, for all of them. A failure in one ends the round for all, since the
    observations of the others are lost with it: after an `EnvInfrastructureError` only a full reset is
    allowed.
    """

    def __init__(
        self,
        env_name: str,
        num_envs: int = 1,
        base_url: str | None = None,
        token: str | None = None,
        split: str = "train",
        max_turns: int | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**AgentGymEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = observation_space(), action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._engine = engine_for(env_name, base_url, token, transport)
        self._sequences = [EpisodeSequence(self._engine, split, max_turns) for _ in range(num_envs)]
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]
        self._observations = [""] * num_envs
        self._over = np.zeros(num_envs, dtype=np.bool_)
        self._in_step = False
        """True if the environments are in the states of their last observations."""

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Texts, Info]:
        """Start episodes: everywhere, or where `options["reset_mask"]` is True.

        An integer `seed` seeds the environments with `seed`, `seed` + 1, ...; other options apply to each.
        """
        seeds = self._seeds(seed)
        rest = dict(options or {})
        mask = self._mask(rest.pop("reset_mask", None))
        places = [int(place) for place in np.flatnonzero(mask)]
        self._in_step = self._in_step or bool(mask.all())
        openings = self._together(places, [self._begin(place, seeds[place], rest) for place in places])
        self._over[mask] = False
        infos: Info = {}
        for place, (observation, info) in zip(places, openings, strict=True):
            self._observations[place] = observation
            infos = self._add_info(infos, info, place)
        return tuple(self._observations), infos

    def step(self, actions: Sequence[str]) -> tuple[Texts, NDArray[np.float64], Flags, Flags, Info]:
        """Play one turn everywhere; finished episodes are replaced as `autoreset_mode` states."""
        chosen = [checked_action(action) for action in actions]
        if len(chosen) != self.num_envs:
            raise ValueError(f"{len(chosen)} actions for {self.num_envs} environments")
        if not self._in_step:
            raise ResetNeeded("the environments are not in step: call reset")
        if self.autoreset_mode is not AutoresetMode.NEXT_STEP and self._over.any():
            raise ResetNeeded(f"episodes are over in {np.flatnonzero(self._over).tolist()}: call reset")
        turns = [
            self._renewed(place) if self._over[place] else self._sequences[place].act(action)
            for place, action in enumerate(chosen)
        ]
        return self._combined(self._together(range(self.num_envs), turns))

    def close_extras(self, **kwargs: Any) -> None:
        """Close all episodes and free their resources."""
        try:
            self._together(range(self.num_envs), [episodes.leave() for episodes in self._sequences])
        finally:
            self._engine.release()

    def _combined(
        self, transitions: list[Transition]
    ) -> tuple[Texts, NDArray[np.float64], Flags, Flags, Info]:
        terminated = np.array([transition[2] for transition in transitions], dtype=np.bool_)
        truncated = np.array([transition[3] for transition in transitions], dtype=np.bool_)
        rewards = np.array([transition[1] for transition in transitions], dtype=np.float64)
        over = terminated | truncated
        infos: Info = {}
        openings: dict[int, Opening] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            openings = self._reopened([int(place) for place in np.flatnonzero(over)])
        for place, (observation, _, _, _, info) in enumerate(transitions):
            if place in openings:
                infos = self._add_info(infos, {"final_obs": observation, "final_info": info}, place)
                observation, info = openings[place]
            self._observations[place] = observation
            infos = self._add_info(infos, info, place)
        self._over = over & (self.autoreset_mode is not AutoresetMode.SAME_STEP)
        return tuple(self._observations), rewards, terminated, truncated, infos

    def _reopened(self, places: list[int]) -> dict[int, Opening]:
        openings = self._together(places, [self._begin(place, None, {}) for place in places])
        return dict(zip(places, openings, strict=True))

    async def _renewed(self, place: int) -> Transition:
        """The step result that starts another episode."""
        observation, info = await self._begin(place, None, {})
        return observation, 0.0, False, False, info

    async def _begin(self, place: int, seed: int | None, options: dict[str, Any]) -> Opening:
        if seed is not None:
            self._generators[place] = seeding.np_random(seed)[0]
        return await self._sequences[place].begin(self._generators[place], seed, options)

    def _together(self, places: Sequence[int], work: Sequence[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
        """Results of concurrent coroutines; raises the first failure once all are done."""
        results = self._engine.run(_settled(work))
        for place, result in zip(places, results, strict=True):
            if isinstance(result, BaseException):
                self._in_step = False
                result.add_note(f"in environment {place} of {self.num_envs}")
                raise result
        return [result for result in results if not isinstance(result, BaseException)]

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        seeds = list(range(seed, seed + self.num_envs)) if isinstance(seed, int) else list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments")
        return [*seeds]

    def _mask(self, given: Any) -> Flags:
        if given is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        mask: Flags = np.asarray(given)
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"reset_mask must be {self.num_envs} booleans, one of them True at least")
        if not self._in_step and not mask.all():
            raise ResetNeeded("the environments are not in step: reset all of them")
        return mask


async def _settled(work: Sequence[Coroutine[Any, Any, ResultT]]) -> list[ResultT | BaseException]:
    return await asyncio.gather(*work, return_exceptions=True)

"""Single environment as `gymnasium.Env`."""

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import gymnasium

from agentgym_client.gymnasium.backends import Engine, RemoteEngine
from agentgym_client.gymnasium.episode_sequence import EpisodeSequence, Opening, Transition, checked_action
from agentgym_client.gymnasium.local import LocalEngine
from agentgym_client.gymnasium.spaces import action_space, observation_space

if TYPE_CHECKING:
    import httpx


class AgentGymEnv(gymnasium.Env[str, str]):
    """Gymnasium environment over `env_name`: in process, or on the server at `base_url`.

    A reset draws a task of `split` by its seed; its options may name another `split`, or the `task_id`
    itself. Info has the environment's members (`available_actions`, ...) and `turn`, `total_reward` and
    `task_id`; that of a reset has `session_id` too. A step's has not, so that equal steps have equal infos.

    A failure is `EnvInfrastructureError`, never a reward or an end; a failed step may be called again with
    the same action: it is executed once. `max_turns` None: the environment's default. `transport` is that of
    `EnvClient`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's type

    def __init__(
        self,
        env_name: str,
        base_url: str | None = None,
        token: str | None = None,
        split: str = "train",
        max_turns: int | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
        engine: Engine | None = None,
    ) -> None:
        self.observation_space, self.action_space = observation_space(), action_space()
        self._engine = engine or engine_for(env_name, base_url, token, transport)
        self._settings = (env_name, base_url, token, split, max_turns, transport)
        self._episodes = EpisodeSequence(self._engine, split, max_turns)
        self._closed = False

    @property
    def session_id(self) -> str | None:
        """Id of the current session; None without one."""
        return None if self._episodes.episode is None else self._episodes.episode.id

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Opening:
        """Start an episode, dropping the previous one."""
        super().reset(seed=seed)
        self._check_open()
        return self._engine.run(self._episodes.begin(self.np_random, seed, options))

    def step(self, action: str) -> Transition:
        """Play one turn; raises `ResetNeeded` if there is no episode, or it is over."""
        self._check_open()
        return self._engine.run(self._episodes.act(checked_action(action)))

    def spawn(self, same_state: bool = False) -> "AgentGymEnv":
        """A new, independent environment of the same settings; with `same_state` in a fork of the episode.

        Raises `NotImplementedError` where the environment cannot be forked.
        """
        self._check_open()
        episodes = self._engine.run(self._episodes.forked()) if same_state else None
        child = AgentGymEnv(*self._settings, engine=self._engine.share())
        child.spec = self.spec
        if episodes is not None:
            child._episodes = episodes
            child.np_random = deepcopy(self.np_random)
        return child

    def close(self) -> None:
        """Close the episode and free its resources; idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            self._engine.run(self._episodes.leave())
        finally:
            self._engine.release()

    def _check_open(self) -> None:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed")


def engine_for(
    env_name: str,
    base_url: str | None,
    token: str | None,
    transport: "httpx.AsyncBaseTransport | None",
) -> Engine:
    """The engine for this address; in process without one."""
    if base_url is None:
        return LocalEngine(env_name)
    return RemoteEngine(env_name, base_url, token, transport)

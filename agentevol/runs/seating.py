"""Players of the seats of an evaluation's episodes, and the requests of these episodes.

self-play           a policy plays all seats of an episode
environment's own   the policy plays one seat, the environment the others
partner             the policy plays one seat, then another one in a second episode of the same task and
                    seed; the partner plays the others
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Policy
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.tasks import EnvTask
from agentevol.runs.players import EXPERT

SELF, ENVIRONMENT = "self", "environment"
"""Names of the other seats' player: the policy itself, and the environment."""
BESIDE = {SELF: SELF, ENVIRONMENT: ENVIRONMENT, "rule": ENVIRONMENT}
"""Names of partners that are no models."""


@dataclass(frozen=True)
class Seating:
    """Choice of the player of the other seats, and of the policy's own."""

    partner: str | Policy | None = None
    """`self`; `environment` or `rule`; or a model. None is `self`, and `environment` for an expert, whose
    actions are for one agent.
    """
    partner_format: str | None = None
    """Action format of a partner's messages; None is the policy's."""
    policy_seats: tuple[int, ...] | None = None
    """Seats that the policy plays beside a partner, one in each episode of a task; None is all of them."""

    @property
    def model(self) -> str | Policy | None:
        """The model that plays the other seats; None where it is the policy, or the environment."""
        return None if self.partner is None or self.partner in BESIDE else self.partner


@dataclass(frozen=True)
class Seats:
    """Seats of an episode as they are played."""

    count: int
    """Seats that are played; 1 is one agent, beside the environment's own partners, if it has any."""
    policy: tuple[int, ...] | None
    """Seats of the policy, one in each episode of a task; None: it plays all seats of one episode."""
    partner: str
    """Player of the other seats: `self`, `environment`, a model, or "" where there are no others."""

    @property
    def own(self) -> int:
        """Seats of an episode that the policy plays."""
        return self.count if self.policy is None else 1


def seated(seating: Seating, policy: str, environment: EnvironmentConfig, there: int) -> Seats:
    """Seats of the episodes of an environment that has `there` of them. Raises `ConfigError` for a choice
    that it does not have.
    """
    asked = seating.partner or (ENVIRONMENT if policy == EXPERT or environment.seats == 1 else SELF)
    partner = BESIDE.get(asked, asked) if isinstance(asked, str) else asked.name
    count = environment.seats or (1 if partner == ENVIRONMENT else there)
    if count not in (1, there) or (count > 1 and policy == EXPERT):
        raise ConfigError(f"{policy} cannot play {count} seats: {environment.name} has {there}")
    if seating.model is None and (seating.policy_seats is not None or seating.partner_format is not None):
        raise ConfigError(
            f"the policy's seats and a partner's format are chosen beside a model, not beside {partner!r};"
            f" {ENVIRONMENT!r} is one seat beside the environment's own partner"
        )
    if count > 1:
        policy_seats = None if seating.model is None else _policy_seats(seating, partner, environment, there)
        return Seats(count, policy_seats, partner)
    if seating.partner is not None and (there == 1 or partner != ENVIRONMENT):
        raise ConfigError(f"partner {partner} has no effect: one seat of {environment.name} is played")
    return Seats(1, None, ENVIRONMENT if there > 1 else "")


def _policy_seats(
    seating: Seating, partner: str, environment: EnvironmentConfig, there: int
) -> tuple[int, ...]:
    if partner == EXPERT:
        raise ConfigError(
            "expert is no partner: an expert's actions are for one agent beside the environment"
        )
    seats = seating.policy_seats or tuple(range(there))
    if wrong := [seat for seat in seats if not 0 <= seat < there]:
        raise ConfigError(f"no seat {wrong[0]}: {environment.name} has the seats 0 to {there - 1}")
    return seats


def requests(
    environment: EnvironmentConfig,
    tasks: Sequence[EnvTask],
    seats: Seats,
    *,
    seed: int,
    repeats: int,
    run: str = "eval",
) -> Iterator[EpisodeRequest]:
    """Requests in the order of tasks; `repeats` episodes of a task have other seeds, those of the policy's
    seats have the same one. `run` begins their ids, and does not change the seeds.
    """
    for number, task in enumerate(tasks):
        for repeat in range(repeats):
            for seat in seats.policy or (None,):
                yield _request(environment, task, (number, repeat, seat), seats.count, seed, run)


def _request(
    environment: EnvironmentConfig,
    task: EnvTask,
    place: tuple[int, int, int | None],
    count: int,
    seed: int,
    run: str,
) -> EpisodeRequest:
    number, repeat, seat = place
    world = f"{number}/{task.task_id}" + (f"/{repeat}" if repeat else "")
    identity = f"{run}/{world}"
    return EpisodeRequest(
        id=identity if seat is None else f"{identity}/policy-{seat}",
        run=run,
        iteration=0,
        purpose="evaluate",
        env=environment.name,
        task_id=task.task_id,
        split=task.split,
        kind=task.kind,
        difficulty=task.difficulty,
        instruction=task.instruction,
        seed=zlib.crc32(f"{seed}/eval/{world}".encode()) >> 1,
        attempt=repeat,
        max_turns=environment.max_turns,
        seats=count,
        policy_seat=seat,
    )

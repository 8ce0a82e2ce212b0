"""From a session to the `Trajectory` that the trainer learns from.

A reply is a turn: what was read and sampled id by id, the reward that was posted for it, and as observation
what the client said next. Turns whose prompt does not go on from the one before are samples of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agentevol.rows.groups import GROUP
from agentevol.service.records import Record
from agentevol.service.refusals import Refusal, invalid
from agentevol.service.session import Session
from agentgym_store.records import Ending, Trajectory, Turn


@dataclass(frozen=True)
class Outcome:
    """How an episode ended, as its owner says."""

    ending: Ending
    success: bool | None = None
    """In place of rewards: 1 or 0 for the last turn."""


def check(session: Session, outcome: Outcome) -> None:
    """Raise `Refusal` unless the episode can end so: an episode that counts has a return that was said."""
    counts = outcome.ending.kind in ("terminated", "truncated")
    if not counts:
        if outcome.success is not None:
            raise invalid(f"an episode that ended {outcome.ending.kind} has no success", "success")
        return
    if not session.played():
        raise Refusal(409, "no_call", "no call was answered: end it as cancelled or failed")
    total = session.total_reward
    if total is None and outcome.success is None:
        raise Refusal(
            409,
            "no_reward",
            "no reward was posted: post one, or end with success; silence is not a reward of 0",
        )
    if total is not None and outcome.success is not None and outcome.success != succeeds(total):
        raise invalid(f"success says otherwise than the rewards, which add up to {total:g}", "success")


def succeeds(total: float) -> bool:
    """Whether a return is that of a success, as everywhere else."""
    return total >= 0.999


def trajectory(session: Session, outcome: Outcome, run: str, wall_s: float) -> Trajectory:
    """The record of a session that has ended."""
    origin, played = session.origin, session.played()
    return Trajectory(
        id=f"{run}/{session.id}",
        run=run,
        iteration=origin.iteration,
        purpose="explore",
        env=origin.env,
        env_version="",
        data_version="",
        task_id=origin.task_id,
        split="",
        instruction=origin.instruction,
        seed=origin.seed,
        attempt=origin.attempt,
        policy=origin.policy,
        initial_observation=played[0].messages[-1].text if played else "",
        turns=_turns(session, played, outcome),
        ending=outcome.ending,
        started_at=session.started_at,
        wall_s=wall_s,
    )


def samples(played: Sequence[Record]) -> int:
    """How many rows of tokens the turns make: one, and one more wherever a prompt does not go on."""
    breaks = sum(not goes_on(new, old) for old, new in pairwise(played))
    return breaks + 1 if played else 0


def goes_on(new: Record, old: Record) -> bool:
    """Whether the prompt of `new` begins with all that was read and said in `old`."""
    seen_ids = old.seen_ids()
    return new.sample.prompt_ids[: len(seen_ids)] == seen_ids


def _turns(session: Session, played: Sequence[Record], outcome: Outcome) -> tuple[Turn, ...]:
    rewards = [record.reward or 0.0 for record in played]
    if played and session.total_reward is None and outcome.success is not None:
        rewards[-1] = float(outcome.success)
    return tuple(
        Turn(
            action=record.sample.text,
            observation=_answer(record, later),
            reward=reward,
            sample=record.sample,
            info=_info(session, record, first=record is played[0]),
        )
        for record, later, reward in zip(played, [*played, None][1:], rewards, strict=True)
    )


def _answer(record: Record, later: Record | None) -> str:
    """What the client said after a reply, as far as there is a later turn."""
    if later is None:
        return ""
    said = later.messages[len(record.messages) + 1 :] if later.extends is record else later.messages[-1:]
    return "\n".join(message.text for message in said)


def _info(session: Session, record: Record, *, first: bool) -> dict[str, object]:
    info: dict[str, object] = {"call": record.call}
    if record.overrides:
        info["overrides"] = record.overrides
    if first and session.origin.group is not None:
        info[GROUP] = session.origin.group
    if first and session.origin.metadata:
        info["metadata"] = session.origin.metadata
    return info

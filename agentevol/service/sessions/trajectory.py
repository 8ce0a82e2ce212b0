"""Conversion of a session to the `Trajectory` that the trainer learns from.

A reply is a turn: its prompt and sampled ids, the reward that was posted for it, and as observation the next
message of the client. A turn whose prompt does not extend the previous one is a sample of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agentevol.data.groups import GROUP
from agentevol.service.errors import Refusal, invalid
from agentevol.service.sessions.records import Record
from agentevol.service.sessions.session import Session
from agentgym_store.records import Ending, Trajectory, Turn


@dataclass(frozen=True)
class Outcome:
    """Ending of an episode as its owner states it."""

    ending: Ending
    success: bool | None = None
    """Replaces rewards: 1 or 0 for the last turn."""


def check(session: Session, outcome: Outcome) -> None:
    """Raise `Refusal` unless the episode can end so: a counted episode needs a return."""
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
            "no reward was posted: post one, or end with success; a missing reward is not a reward of 0",
        )
    if total is not None and outcome.success is not None and outcome.success != succeeds(total):
        raise invalid(f"success contradicts the rewards, which add up to {total:g}", "success")


def succeeds(total: float) -> bool:
    """True if a return counts as a success, by the same threshold as everywhere."""
    return total >= 0.999


def trajectory(session: Session, outcome: Outcome, run: str, wall_s: float) -> Trajectory:
    """The trajectory of a session that has ended."""
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
    """Number of training sequences of the turns: one, and one more for every prompt that is not an
    extension.
    """
    breaks = sum(not goes_on(new, old) for old, new in pairwise(played))
    return breaks + 1 if played else 0


def goes_on(new: Record, old: Record) -> bool:
    """True if the prompt of `new` begins with the prompt and reply of `old`."""
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
            policy_s=record.latency_s,
        )
        for record, later, reward in zip(played, [*played, None][1:], rewards, strict=True)
    )


def _answer(record: Record, later: Record | None) -> str:
    """The client's messages after a reply, if there is a later turn."""
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

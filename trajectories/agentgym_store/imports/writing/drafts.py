"""Drafts as episodes: what a foreign record does not tell is supplied, and never invented."""

from dataclasses import dataclass
from typing import Literal

from agentgym_envs.formats import FORMATS, ActionFormat
from agentgym_store.imports.contract import Draft, DraftTurn
from agentgym_store.imports.reading import Refusal
from agentgym_store.purposes import Purpose
from agentgym_store.records import LEARNT, MESSAGE, Terminated, Trajectory, Turn

Form = Literal["auto", "plain", "react", "modes"]

NO_ENVIRONMENT = "no environment is named: give one with --env"
NO_REWARD = "no reward is told: give all of these one with --reward"
NO_UNICODE = "text that is not Unicode"
ENDING_UNTOLD = "of which no ending is told: taken as terminated"
IMPORTED_AT = "1970-01-01T00:00:00.000+00:00"
"""Start of an episode of which no time is told."""


@dataclass(frozen=True)
class Supplied:
    """Facts that a user supplies for all records of an import."""

    env: str | None = None
    """Environment, in place of what records tell."""
    split: str = "train"
    run: str = "imported"
    policy: str | None = None
    """Policy that acted; None is what records tell, or the name of the format."""
    purpose: Purpose = "demonstrate"
    iteration: int = 0
    reward: float | None = None
    """Return of the records that tell none."""
    form: Form = "auto"
    """Action format of the messages; `auto` is `react` where every message has an action in its form."""


def episode_of(
    draft: Draft, supplied: Supplied, *, source: str, number: int, attempt: int, policy: str
) -> Trajectory:
    """The episode of a draft. Raises `Refusal`.

    `source` is the hash of the file, and `number` that of the record in it; `attempt` is the number of the
    sample among those of its task, `policy` the name of who acted where nobody is told.
    """
    env = supplied.env or draft.env
    if not env:
        raise Refusal(NO_ENVIRONMENT)
    total = supplied.reward if draft.reward is None else draft.reward
    if total is None and any(turn.reward is None for turn in draft.turns):
        raise Refusal(NO_REWARD)
    _check_texts(draft)
    return Trajectory(
        id=f"{supplied.run}/{source[:12]}/{number}",
        run=supplied.run,
        iteration=supplied.iteration,
        purpose=supplied.purpose,
        env=env,
        env_version=draft.env_version or "",
        data_version=draft.data_version or f"imported:{source[:16]}",
        task_id=task_of(draft, source, number),
        split=draft.split or supplied.split,
        kind=draft.kind or "",
        instruction=draft.instruction,
        seed=draft.seed or 0,
        attempt=attempt,
        policy=supplied.policy or draft.policy or policy,
        initial_observation=draft.opening,
        turns=_turns(draft, total, _form(draft, supplied.form)),
        ending=draft.ending or Terminated(),
        started_at=IMPORTED_AT,
        wall_s=0.0,
        given_turns=min(draft.given_turns, len(draft.turns)),
    )


def task_of(draft: Draft, source: str, number: int) -> str:
    """Name of the task: what the record tells, or else its own name."""
    return draft.task_id or draft.id or f"{source[:12]}/{number}"


def notes_of(draft: Draft) -> tuple[str, ...]:
    """Omissions and assumptions of a record."""
    return draft.notes if draft.ending is not None else (*draft.notes, ENDING_UNTOLD)


def _form(draft: Draft, wanted: Form) -> ActionFormat:
    if wanted != "auto":
        return FORMATS[wanted]
    react = FORMATS["react"]
    in_form = all("Action:" in turn.message and react.parse(turn.message) for turn in draft.turns)
    return react if in_form else FORMATS["plain"]


def _turns(draft: Draft, total: float | None, form: ActionFormat) -> tuple[Turn, ...]:
    known = [turn.reward or 0.0 for turn in draft.turns]
    if total is not None:
        known[-1] += total - sum(known)
    return tuple(_turn(turn, reward, form) for turn, reward in zip(draft.turns, known, strict=True))


def _turn(turn: DraftTurn, reward: float, form: ActionFormat) -> Turn:
    action = form.parse(turn.message)
    info = dict(turn.info)
    if action != turn.message:
        info[MESSAGE] = turn.message
    if not turn.is_learnt:
        info[LEARNT] = False
    return Turn(action=action, observation=turn.observation, reward=reward, info=info)


def _check_texts(draft: Draft) -> None:
    names = (draft.opening, draft.instruction, draft.id, draft.env, draft.task_id, draft.split, draft.kind)
    texts = [*names, *(text for turn in draft.turns for text in (turn.message, turn.observation))]
    try:
        "".join(text or "" for text in texts).encode()
    except UnicodeEncodeError as cause:
        raise Refusal(NO_UNICODE) from cause

"""Records of conversations, for exports and for judging later: `record_of`, `keep`, `episode_log_of`.

{"format": "sotopia-conversation/1", "task_id": "sotopia/290", "seed": 7, "view": "relationship", ...,
 "names": ["Ana Reed", "Bo Lind"], "log": [[["speak", "Hello!"], ["none", ""]], ...],
 "judge_background": "Here is the context of this interaction: ...", "status": "unjudged",
 "failure": {"kind": "judge", "detail": "..."}}

`log` has type and argument of both seats' actions in each step. `judge_background` and `log` are what a judge
reads: see `protocol.prompts.judge_prompt`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

from agentgym_envs.sotopia.play.episode import Episode
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import Conversation, Rules, masks
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.protocol.judgement import Judgement

FORMAT: Final = "sotopia-conversation/1"

Status = Literal["judged", "unjudged", "unfinished"]
"""`unfinished`: a partner failed before the end."""


def record_of(episode: Episode, status: Status, *, backgrounds: bool) -> dict[str, Any]:
    """The record of a conversation; `backgrounds` are what the seats, and a judge, read before it.

    They have the secrets of both characters, so that no agent reads them before the end.
    """
    talk, scene, options = episode.conversation, episode.scene, episode.options
    read = {
        "backgrounds": list(talk.backgrounds),
        "judge_background": episode.judge_background,
    }
    return {
        "format": FORMAT,
        "task_id": episode.task.id,
        "seed": episode.seed,
        "view": options.view,
        "order": options.order,
        "max_turns": talk.rules.max_turns,
        "max_stale": talk.rules.max_stale,
        "stale_rule": talk.rules.stale_rule,
        "scenario": scene.environment.pk,
        "source": scene.environment.source,
        "relationship": scene.environment.relationship,
        "agents": [agent.pk for agent in scene.agents],
        "names": list(scene.names),
        "seat": None if episode.both_seats else episode.seat,
        **(read if backgrounds else {}),
        "log": [[[action.action_type, action.argument] for action in both] for both in talk.log],
        "end_reasons": list(talk.end_reasons),
        "status": status,
    }


def keep(record: Mapping[str, Any], files: Sequence[Path]) -> str:
    """Append a record to the first of some files of JSON lines that can be written; where it is, or why it is
    nowhere, for a log.
    """
    line = (json.dumps(record, ensure_ascii=False) + "\n").encode()
    reasons: list[str] = []
    for file in files:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("ab", buffering=0) as lines:  # one write, so that processes do not mix their lines
                lines.write(line)
        except OSError as cause:
            reasons.append(f"{file}: {cause.strerror or cause}")
        else:
            return f"the conversation is kept in {file}"
    return f"the conversation could not be kept: {'; '.join(reasons)}"


def conversation_of(record: Mapping[str, Any]) -> Conversation:
    """The conversation of a record that has backgrounds."""
    first, second = record["backgrounds"]
    names = cast("tuple[str, str]", tuple(record["names"]))
    rules = Rules(record["order"], record["max_turns"], record["max_stale"], record["stale_rule"])
    talk = Conversation(names, (first, second), rules, masks(record["order"], record["seed"]))
    for both in record["log"]:
        actions = {seat: Action(action_type=both[seat][0], argument=both[seat][1]) for seat in (0, 1)}
        acting = {seat: action for seat, action in actions.items() if talk.acting[seat]}
        is_last = talk.turn_number + 1 == len(record["log"])
        talk.apply(acting, deal=is_last and "deal" in record["end_reasons"])
    return talk


def episode_log_of(
    record: Mapping[str, Any],
    samples: Sequence[Judgement],
    *,
    pk: str,
    models: tuple[str, str, str],
    tag: str = "",
) -> dict[str, Any]:
    """The EpisodeLog of a record that has backgrounds, with the first judgement; `models` are those of the
    judge and both seats.
    """
    first, second = record["agents"]
    return episode_log(
        conversation_of(record),
        samples[0] if samples else None,
        pk=pk,
        environment=record["scenario"],
        agents=(first, second),
        models=models,
        tag=tag,
    )

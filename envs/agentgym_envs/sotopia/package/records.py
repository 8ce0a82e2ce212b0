"""Record of an episode by `protocol`, in the shape of the package's and of the golden files."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any

from agentgym_envs.sotopia.package.request import EpisodeRequest
from agentgym_envs.sotopia.protocol.actions import ACTION_TYPES, Action
from agentgym_envs.sotopia.protocol.conversation import Conversation, Mask, Rules, masks
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.protocol.judgement import Judgement, read_judgement
from agentgym_envs.sotopia.protocol.prompts import agent_prompt, judge_prompt
from agentgym_envs.sotopia.protocol.views import background, judge_background

LEAVE = Action(action_type="leave")
NOWHERE = "http://agent.invalid/v1"
"""Base address in the names of models whose replies come from a script."""


def started(request: EpisodeRequest) -> Conversation:
    """The conversation of a request at its start."""
    scene, view = request.scene, request.view
    return Conversation(
        scene.names,
        (background(scene, 0, view), background(scene, 1, view)),
        Rules(request.order, request.max_turns, request.max_stale),
        masks(request.order, request.seed),
    )


def played(request: EpisodeRequest) -> tuple[Conversation, list[tuple[int, int, str]]]:
    """The conversation of a request at its end; and seat, turn and text of each prompt."""
    conversation = started(request)
    scripts = [iter(script) for script in request.script]
    prompts: list[tuple[int, int, str]] = []
    while not conversation.ended:
        seats = [seat for seat in (0, 1) if conversation.acting[seat]]
        turn = conversation.turn_number
        prompts += [(seat, turn, agent_prompt(conversation, seat)) for seat in seats]
        conversation.apply({seat: next(scripts[seat], LEAVE) for seat in seats})
    return conversation, prompts


def record(request: EpisodeRequest) -> dict[str, Any]:
    """Play a request; gives its record. Raises `JudgementError` where the judge's first reply is none.

    It has the fields of the golden files, without those of the list of combinations (`combo_index`,
    `combo_pk`, `hard`) and the names of the scripts (`policies`).
    """
    scene, (conversation, prompts) = request.scene, played(request)
    reply = request.judge_replies[0]
    asked = judge_prompt(judge_background(scene, request.view), scene.names, conversation.log, SOTOPIA)
    judgement = read_judgement(reply, scene.names, SOTOPIA)
    acting = list(islice(masks(request.order, request.seed), conversation.turn_number + 1))
    log = _log(request, conversation, judgement)
    return {
        "id": request.id,
        "env_id": scene.environment.pk,
        "agent_ids": [agent.pk for agent in scene.agents],
        "codename": scene.environment.codename,
        "source": scene.environment.source,
        "names": list(scene.names),
        "seed": request.seed,
        "action_order": request.order,
        "max_turn_number": request.max_turns,
        "max_stale_turn": request.max_stale,
        "omniscient": request.view == "omniscient",
        "script": request.scripts,
        "reset_obs": list(conversation.backgrounds),
        "reset_acting": list(acting[0]),
        "steps": list(_steps(conversation, acting)),
        "n_steps": conversation.turn_number,
        "terminated": conversation.ended,
        "reasons": f"Environment comments: terminated: {conversation.comments}",
        "prompts": [
            {"agent": seat, "turn_number": turn, "sha256": _digest(text), "chars": len(text)}
            for seat, turn, text in prompts
        ],
        "last_prompt": {str(seat): text for seat, _, text in prompts},
        "judge_prompt": asked,
        "judge_prompt_sha256": _digest(asked),
        "judge_reply": reply,
        "rewards": dict(zip(scene.names, judgement.overall, strict=True)),
        "dimensions": {name: rate[1] for name, rate in zip(scene.names, log["rewards"], strict=True)},
        "episode_log": log,
    }


def _steps(conversation: Conversation, acting: list[Mask]) -> Iterator[dict[str, Any]]:
    for turn, (both, text) in enumerate(zip(conversation.log, conversation.heard, strict=True), start=1):
        ends = turn == conversation.turn_number
        step: dict[str, Any] = {
            "turn": turn,
            "acting": list(acting[turn - 1]),
            "actions": [[action.action_type, action.argument] for action in both],
            "obs": [text, text],
            "may_act_next": list(acting[turn]),
            "terminated": ends,
            "comments": None if ends else "Environment comments: terminated: \n",
        }
        if turn == 1:
            step["available_actions"] = [list(ACTION_TYPES) if acts else ["none"] for acts in acting[1]]
        yield step


def _log(request: EpisodeRequest, conversation: Conversation, judgement: Judgement) -> dict[str, Any]:
    address = request.endpoint or NOWHERE
    first, second = request.scene.agents
    return episode_log(
        conversation,
        judgement,
        pk=request.id,
        environment=request.scene.environment.pk,
        agents=(first.pk, second.pk),
        models=("env-model", f"custom/agent0@{address}", f"custom/agent1@{address}"),
        tag=request.tag,
    )


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()

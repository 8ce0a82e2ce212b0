"""Report of an episode at its end: `report`."""

from typing import Any

from agentgym_envs.social.outcome import LABEL
from agentgym_envs.sotopia.options import RewardMix
from agentgym_envs.sotopia.play.episode import Episode
from agentgym_envs.sotopia.play.judges import Judged
from agentgym_envs.sotopia.play.partners import RulePartner
from agentgym_envs.sotopia.play.records import record_of
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA

VERIFIED = "outcome verifier; not Sotopia's judge; not a measure of social intelligence"
LEAKS = "the agent reads its partner's secret"


def report(episode: Episode, judged: Judged, seat: int) -> dict[str, Any]:
    """The last info of a seat: scores, who gave them, and the conversation."""
    own, scene = judged.seats[seat], episode.scene.environment
    scores = own.dimensions
    is_model = judged.judge["kind"] != "verify"
    return {
        "label": _label(episode, judged),
        "view": episode.options.view,
        "order": episode.options.order,
        "seat": seat,
        "scenario": scene.pk,
        "source": scene.source,
        "relationship": scene.relationship,
        "end_reasons": list(episode.conversation.end_reasons),
        "dimensions": {name: None if one is None else round(one, 3) for name, one in scores.items()},
        "normalised": {
            one.name: None if (score := scores[one.name]) is None else round(one.normalised(score), 4)
            for one in SOTOPIA
        },
        "overall_score": own.overall,
        "spread": None if own.spread is None else dict(own.spread),
        "reward_mix": mix_of(episode) if judged.is_scored else None,
        "facts": dict(own.facts),
        "partner": _partner(episode),
        "judge": dict(judged.judge),
        "judgements": [one.model_dump(mode="json") for one in judged.samples],
        "conversation": record_of(
            episode, "judged" if judged.is_scored else "unjudged", backgrounds=is_model
        ),
        **({} if judged.is_scored else {"trainable": False}),
    }


def mix_of(episode: Episode) -> RewardMix:
    """Mix of the scores that is the reward."""
    return episode.options.reward or ("goal" if episode.task.generated is None else "product")


def _partner(episode: Episode) -> dict[str, Any]:
    if episode.partner is not None:
        return episode.partner.told()
    verifier = episode.verifier
    has_hidden = verifier is not None and verifier.has_hidden_roles
    kind = "human" if episode.options.partner_kind == "human" else "agent"
    return {"kind": kind, **({"hidden": verifier.hidden} if verifier is not None and has_hidden else {})}


def _label(episode: Episode, judged: Judged) -> str:
    kind = judged.judge["kind"]
    is_rule = isinstance(episode.partner, RulePartner)
    if kind == "verify":
        told = LABEL if is_rule else VERIFIED
    else:
        told = ("rule-based partner; " if is_rule else "") + judged.label
    return f"{told}; {LEAKS}" if episode.options.view in ("ampo", "omniscient") else told

"""Scores by which a run selects: checks before it begins, the copy of a judge, and lines of its plan."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from agentevol.config.rewards.reward import ConsistencyReward
from agentevol.config.run import RunConfig
from agentevol.config.sections.selection import RETURN
from agentevol.config.self_evolution.self_evaluation import SAMPLES
from agentevol.core.errors import ConfigError
from agentevol.data.final_answers import answer_in
from agentevol.data.rewards.run_reward_model import check_tokenizer, take_in
from agentevol.data.self_evaluation.digits import digit_tokens
from agentevol.loop.state.run_folder import RunFolder
from agentevol.models.hub import hub_name
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.resolution import check_folder, resolve


def check_self_judge(config: RunConfig, base: Path, *, weights: bool) -> None:
    """Raise `ConfigError` where the judge of self-evaluation is not there, has another tokenizer than the
    base, or cannot write a digit as one token.
    """
    if config.select.score != "self" or config.self.endpoint is not None:
        return
    judge = base
    if config.self.checkpoint is not None:
        judge = resolve(config.self.checkpoint, weights=weights).path
        if weights or hub_name(config.self.checkpoint) is None:
            check_folder(judge)
        check_tokenizer("self.judge", judge, base)
    digit_tokens(ChatRenderer(load_tokenizer(judge), config.chat_template_kwargs))


def check_answers(config: RunConfig, played: Iterable[Sequence[str]], max_turns: int) -> None:
    """Raise `ConfigError` where `reward.consistency` has nothing to compare: episodes have several turns, and
    those that the environment's player `played`, as their actions, end without an answer.
    """
    endings = [actions[-1] for actions in played if actions]
    if not isinstance(config.reward, ConsistencyReward) or not endings:
        return
    if (config.environment.max_turns or max_turns) > 1 and not any(map(answer_in, endings)):
        raise ConfigError(
            f"reward.consistency compares final answers, and episodes of {config.environment.name} have none"
        )


def take_in_self_judge(folder: RunFolder) -> None:
    """Copy the judge of self-evaluation into the run, where it is a model besides those of the run."""
    config = folder.config
    if config.select.score == "self" and config.self.checkpoint is not None:
        take_in(resolve(config.self.checkpoint).path, folder.checkpoints.self_judge().path)


def selecting_scores(config: RunConfig) -> list[str]:
    """Plan of scores in place of returns."""
    score, own = config.select.score, config.self
    if score == RETURN:
        return []
    if score != "self":
        return [f"score: {score}, in place of the return"]
    how = f"the mean of {own.samples or SAMPLES} samples" if own.endpoint else "exact probabilities"
    otherwise = "the run stops" if own.distrust == "stop" else "the returns are used"
    return [
        f"score: the policy's own opinion, a digit of {own.judge} by {how}, in place of the return; where the"
        f" lower bound of its AUC is not above {own.min_auc:g}, {otherwise}"
    ]

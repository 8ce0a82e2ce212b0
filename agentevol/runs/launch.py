"""Launch of a run: start the processes, run the loop, end the processes."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.cluster.cluster import Cluster
from agentevol.config.rewards.process import (
    ContinuationProcess,
    ModelProcess,
    OpinionProcess,
    PooledProcess,
    TrainedProcess,
)
from agentevol.config.rewards.reward import (
    ConsistencyReward,
    FunctionReward,
    JudgeReward,
    LearntModelReward,
    ModelReward,
    PreferenceModelReward,
    RewardConfig,
    ScoredReward,
)
from agentevol.config.rewards.shaping import potential_discount
from agentevol.config.run import RunConfig
from agentevol.config.sections.engine import (
    ENGINES,
    CustomEngineConfig,
    EngineConfig,
    VllmConfig,
    VllmServersConfig,
)
from agentevol.config.sections.environment import SCRIPTED_PARTNERS, SELF_PLAY, EnvironmentConfig
from agentevol.config.sections.exploration import ExploreConfig
from agentevol.config.sections.rollout import AsynchronousConfig, RolloutConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.errors import ConfigError
from agentevol.core.files import write_atomically
from agentevol.core.summaries import RunSummary, best
from agentevol.data.judges.judging import judge_of
from agentevol.data.rewards.potentials import potential_of
from agentevol.data.rewards.reward_functions import OF_RETURNS, reward_function
from agentevol.data.rewards.run_reward_model import (
    check_process_model,
    check_reward_model,
    take_in,
)
from agentevol.data.rewards.turn_rewards import turn_reward
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.loop.evolve import evolve
from agentevol.loop.report.page import write_report
from agentevol.loop.stages.acceptance import served_environments
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.loop.tracking.recorder import check_sinks
from agentevol.models.hub import hub_name
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.resolution import check_folder, resolve
from agentevol.models.tokenizer_checks import check_vocabulary
from agentevol.rollout.environments import opened, reward_columns
from agentevol.rollout.faults import FaultLog
from agentevol.runs.population_plan import population_plan
from agentevol.runs.seat_plan import seat_plan
from agentevol.runs.selecting_scores import check_self_judge, selecting_scores, take_in_self_judge
from agentevol.runs.shared_judges import shared_judges
from agentgym_envs.registry import names


def check_name(environment: EnvironmentConfig) -> None:
    """Raise `ConfigError` for an environment that no distribution registers here."""
    if environment.url is None and environment.name not in names():
        raise ConfigError(
            f"environment.name: no environment named {environment.name!r}; there are: {', '.join(names())}"
        )


def check_scored(config: RunConfig, scored: bool) -> None:
    """Raise `ConfigError` for an environment without rewards where nothing else gives any."""
    reward = config.reward
    if not (scored or reward.on):
        raise ConfigError(
            f"{config.environment.name} gives no rewards with these options: name a source of them:"
            " reward.model, reward.refresh, reward.judge or reward.function"
        )
    if not scored and isinstance(reward, PreferenceModelReward) and reward.preference_rounds:
        raise ConfigError(
            f"{config.environment.name} gives no rewards with these options, and reward.preference_rounds"
            " pairs episodes by them: give reward.preference_rounds=0 and reward.model, which"
            " `agentevol train RUN algorithm=bradley_terry feedback=human` makes of opinions"
        )
    if not scored and isinstance(reward, FunctionReward) and reward.function in OF_RETURNS:
        raise ConfigError(
            f"{config.environment.name} gives no rewards with these options, and the function"
            f" {reward.function} reads them: name another source"
        )


def check(config: RunConfig, *, here: bool = True) -> None:
    """Raise `ConfigError` for an environment, a base or a reward model that no run can begin with, before a
    folder is created. Where the run is not to begin `here`, as for a plan, weights are not downloaded for it,
    and vLLM and its servers may be elsewhere.
    """
    for own in config.by_environment.values():
        check_name(own.environment)
    base = resolve(config.base, weights=here).path
    if here or hub_name(config.base) is None:
        check_folder(base)
    check_vocabulary(base, ChatRenderer(load_tokenizer(base), config.chat_template_kwargs).tokenizer)
    check_reward_model(config)
    check_functions(config)
    check_sinks(config.metrics if here else ())
    engine = config.engine
    if here and isinstance(engine, VllmServersConfig):
        from agentevol.engines.vllm.servers.protocol import check_servers  # brings torch

        check_servers(engine)
    elif here and isinstance(engine, VllmConfig):
        check_installed()
    elif here and isinstance(engine, CustomEngineConfig):
        ENGINES.load(engine.name)
    check_process_model(config)
    check_self_judge(config, base, weights=here)
    check_partner_model(config.environment, weights=here)
    if isinstance(engine, VllmConfig) and engine.tensor_parallel > 1:
        from agentevol.engines.vllm.arguments import check_heads  # brings torch

        check_heads(base, engine.tensor_parallel)
    if config.learn.ewc is not None and config.learn.lora is not None:
        from agentevol.learn.continual.consolidation import check_kept  # brings peft

        check_kept(config.learn, base)


def check_partner_model(environment: EnvironmentConfig, *, weights: bool) -> None:
    """Raise `ConfigError` where the partner is a model that is not there."""
    partner = environment.partner
    if partner == SELF_PLAY or partner in SCRIPTED_PARTNERS:
        return
    found = resolve(environment.partner_model, weights=weights).path
    if weights or hub_name(partner) is None:
        check_folder(found)


def check_functions(config: RunConfig) -> None:
    """Raise `ConfigError` where an action format, a reward function, a judge, a potential or a turn reward is
    not one, or takes other options.
    """
    action_format(config.environment.format)
    if isinstance(config.reward, FunctionReward):
        columns = reward_columns([one.environment for one in config.by_environment.values()])
        reward_function(config.reward.function, config.reward.options, columns)
    if isinstance(config.reward, JudgeReward):
        judge_of(config.reward.judge, config.reward.options)
    if config.shaping.potential is not None:
        potential_of(config.shaping.potential)
    if config.shaping.reward is not None:
        turn_reward(config.shaping.reward)


def launch(folder: RunFolder, progress: Progress) -> RunSummary:
    """Run, or finish, the run in `folder`."""
    with running(folder, progress) as context, Stages(context) as stages:
        context.recorder.resume(folder.summaries.run().iterations)
        summary = evolve(stages)
        conclude(folder.path, summary)
        return summary


@contextmanager
def running(folder: RunFolder, progress: Progress) -> Iterator[RunContext]:
    """Context of the run in `folder`, with its processes, which end with the block."""
    config = folder.config
    folder.clear_partial()
    base = folder.checkpoints.base()
    if not base.path.is_dir():  # killed before it was copied
        folder.checkpoints.repeat(resolve(config.base), base)
    _take_in_models(folder)
    with ExitStack() as stack:
        faults = FaultLog(progress.say)
        store = CheckpointStore(config.checkpoints, folder.path) if config.checkpoints else None
        cluster = Cluster(config, faults, store=store)
        if config.ray.address is not None:  # Ray knows the address at which others reach this machine
            stack.enter_context(cluster)
        server = None
        if config.environment.url is None:
            log, served = folder.path / "environment-server.log", served_environments(config)
            server = stack.enter_context(cluster.environment(log, served))
        if config.ray.address is None:
            stack.enter_context(cluster)  # while the server starts
        url = str(config.environment.url) if server is None else server.url
        cluster.check_nodes(folder.path, url)
        cluster.start_rollouts(base, url)
        context = RunContext.of(folder, cluster, url, base, progress, faults)
        stack.callback(context.recorder.close)
        yield context


def _take_in_models(folder: RunFolder) -> None:
    """Copy reward models and judges into the run."""
    config = folder.config
    if config.reward.initial_model is not None:
        take_in(Path(config.reward.initial_model), folder.checkpoints.reward_model(0).path)
    if config.process.initial_model is not None:
        take_in(Path(config.process.initial_model), folder.checkpoints.process_model(0).path)
    take_in_self_judge(folder)


def conclude(folder: Path, summary: RunSummary) -> None:
    """Record the best checkpoint of a run and write its report."""
    leader = best(summary)
    if leader is not None:
        told = {"iteration": leader.iteration, "path": str(Path("checkpoints") / leader.checkpoint)}
        write_atomically(folder / "best.json", json.dumps(told))
    write_report(folder, summary)


def plan(config: RunConfig) -> list[str]:
    """Plan of a run, line by line, with the memory that its processes need."""
    from agentevol.runs import placement  # brings peft

    engine = config.engine
    return [
        f"base: {config.base}",
        *_cloning(config),
        *_iterations(config),
        *(line for own in config.by_environment.values() for line in _explored(own)),
        *seat_plan(config.environment, config.selfplay),
        *population_plan(config),
        *_beside(config.rollout),
        f"select: {config.select.rule}, merge {config.select.merge}",
        *selecting_scores(config),
        *_feedback(config),
        f"learn: {_algorithm(config)}, {config.learn.epochs} epochs,"
        f" learning rate {config.learn.learning_rate:g}",
        *_rewards(config),
        *shared_judges(config),
        *_shaping(config),
        *_controllers(config),
        *(_evaluated(own) for own in config.by_environment.values()),
        f"actions: {config.environment.format}, at most {config.explore_sampling.max_new_tokens} tokens,"
        f" {_turns(config)}",
        f"engine: {engine.name}, {engine.dtype}{_at(engine)}",
        f"processes: {engine.workers} rollout workers with {config.episodes_per_worker} episodes each,"
        f" {_learners(config.learn.shards)}, 1 environment server"
        + (f" on a node with {_labels(config)}" if config.ray.environment_labels else "")
        + (f", on the Ray cluster at {config.ray.address}" if config.ray.address else ""),
        f"metrics: {', '.join(config.metrics) or 'none are recorded'}",
        *([] if config.table is None else [f"table: {config.table}"]),
        *([] if config.checkpoints is None else [f"checkpoints: {config.checkpoints}"]),
        *placement.lines(config, resolve(config.base, weights=False).path),
    ]


def _explored(config: RunConfig) -> list[str]:
    """Plan of exploration in one environment."""
    explore, held_out = config.explore, config.held_out_parts
    share = f"{config.evaluate.held_out:.0%} of {config.explore_split}"
    return [
        f"explore: {explore.tasks} tasks of {config.environment.name}/{config.explore_split}"
        f" ({explore.difficulty or 'all levels'}), {explore.samples} samples each:"
        f" {explore.tasks * explore.samples} episodes",
        *([f"held out: {share} for each of {', '.join(held_out)}"] if held_out else []),
    ]


def _evaluated(config: RunConfig) -> str:
    """Plan of the evaluation in one environment."""
    evaluate, name = config.evaluate, config.environment.name
    return (
        f"evaluate: {evaluate.episodes or 'all'} tasks of {name}/{config.evaluate_split},"
        f" {evaluate.validation_episodes or 'all'} of {config.validate_split} to choose the best checkpoint"
    )


def _iterations(config: RunConfig) -> list[str]:
    """Plan of the iterations of a single run."""
    if config.population is not None:
        return []
    return [f"{config.iterations} iterations, each trained from the {config.start} checkpoint"]


def _at(engine: EngineConfig) -> str:
    """Place of the engine's servers, if any."""
    return f", at {', '.join(engine.urls)}" if isinstance(engine, VllmServersConfig) else ""


def _turns(config: RunConfig) -> str:
    """Turn limit of an episode, in a mixed run of each environment; a running server may have its own."""
    found = {name: _turns_in(own.environment) for name, own in config.by_environment.items()}
    return ", ".join(f"{name}: {told}" if len(found) > 1 else told for name, told in found.items())


def _turns_in(environment: EnvironmentConfig) -> str:
    if environment.max_turns is None and environment.url is not None:
        return "as many turns as the server allows"
    with opened(environment) as instance:  # some limits depend on the options
        return f"at most {environment.max_turns or instance.max_turns} turns"


def _cloning(config: RunConfig) -> list[str]:
    """Plan of behavioural cloning before the first round."""
    shown, how = config.demonstrations, config.clone_learn
    if not shown.tasks:
        return []
    if not shown.clone:
        return ["clone: no, the base is an agent already"]
    return [
        f"clone: the base trains on {shown.tasks} episodes of the expert, {how.epochs} epochs, learning rate"
        f" {how.learning_rate:g}"
    ]


def _feedback(config: RunConfig) -> list[str]:
    """Plan of learning from opinions."""
    feedback = config.feedback
    if not feedback.sources:
        return []
    about = "explored episodes" if config.retained is None else "explored and retained episodes"
    place = "in place of the selected episodes" if feedback.only else "beside the selected episodes"
    told = [f"feedback: opinions of {', '.join(feedback.sources)} about {about}, {place}"]
    told += ["several as one by " + repr(feedback.aggregate)] if feedback.aggregate != "mean" else []
    told += ["without those against the outcome"] if feedback.conflict == "drop" else []
    return ["; ".join(told)]


def _labels(config: RunConfig) -> str:
    return ", ".join(f"{name}={value}" for name, value in config.ray.environment_labels.items())


def _beside(rollout: RolloutConfig) -> list[str]:
    """Plan of exploration during training."""
    if not rollout.rounds_ahead:
        return []
    rounds = "1 round" if rollout.rounds_ahead == 1 else f"up to {rollout.rounds_ahead} rounds"
    rule = f", episodes under way {rollout.in_flight}" if isinstance(rollout, AsynchronousConfig) else ""
    return [f"rollout: {rollout.mode}, {rounds} explored during training on another{rule}"]


def _rewards(config: RunConfig) -> list[str]:
    """Plan of rewards besides the environment's."""
    process, reward = config.process, config.reward
    if isinstance(reward, ScoredReward):
        after = reward.exploited_after
        stop = "no stop" if after is None else f"stop when exploited {after} times in a row"
        return [
            *_preferences(config),
            f"reward: {reward.alpha:g} * return + {reward.beta:g} * {_score(reward)}, {stop}",
        ]
    return _process_rewards(config, process) if isinstance(process, ModelProcess) else []


def _process_rewards(config: RunConfig, process: ModelProcess) -> list[str]:
    """Plan of rewards of single turns by a process reward model."""
    source = f"values by {process.initial_model} alone"
    if isinstance(process, OpinionProcess):
        source = "opinions of turns alone"
    elif isinstance(process, PooledProcess):
        source = "values pooled over explored episodes"
    elif isinstance(process, ContinuationProcess):
        most = _continuations(config.explore, process)
        source = (
            f"values {process.continuations} continuations of up to {process.states} states in"
            f" {process.share:.0%} of the episodes: at most {most:,} episodes"
        )
    trained = isinstance(process, TrainedProcess) and process.model is not None
    begin = f", starting from {process.initial_model}" if trained else ""
    parts = {
        "value differences": process.value_heads,
        "qualities": process.opinion_heads,
        "rules": {name: -weight for name, weight in process.rules.items()},
    }
    turns = " + ".join(f"{name} ({_weighted(weights)})" for name, weights in parts.items() if weights)
    return [
        f"process rewards: {source}{begin}",
        f"turns earn {process.alpha:g} * return + {process.beta:g} * ({turns})",
    ]


def _weighted(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {weight:g}" for name, weight in weights.items())


def _score(reward: RewardConfig) -> str:
    """Source of the scores in a plan."""
    if isinstance(reward, LearntModelReward):
        model = reward.model or "a reward model"
        return f"{reward.caution.combination} of {model}{_trained(reward)}"
    if isinstance(reward, ModelReward):
        return f"{reward.caution.combination} of {reward.model}"
    if isinstance(reward, ConsistencyReward):
        return f"agreement with the majority of answers, where {reward.least:g} to {reward.most:g} agree"
    if isinstance(reward, JudgeReward):
        return (
            f"verdict of {reward.judge}, asked for {reward.concurrency} episodes at a time, at most"
            f" {reward.timeout_s:g} s each"
        )
    return reward.function if isinstance(reward, FunctionReward) else "the return"


def _preferences(config: RunConfig) -> list[str]:
    """Plan of the iterations that train a reward model before the policy."""
    reward = config.reward
    rounds = reward.preference_rounds if isinstance(reward, PreferenceModelReward) else 0
    if not rounds:
        return []
    how, iterations = config.reward_learn, "iteration 1" if rounds == 1 else f"iterations 1 to {rounds}"
    return [
        f"rewards: {how.algorithm} on pairs of {iterations}, {how.epochs} epochs, learning rate"
        f" {how.learning_rate:g}; the policy learns in iterations {rounds + 1} to {config.iterations}"
    ]


def _trained(reward: LearntModelReward) -> str:
    """Iterations in which the reward model is trained, in a plan."""
    if not isinstance(reward, PreferenceModelReward):
        return ", trained on pairs in every iteration"
    return ", which stays as it is" if reward.preference_rounds else ""


def _shaping(config: RunConfig) -> list[str]:
    """Plan of shaped rewards, and whether they keep the optimal policy."""
    shaping, found = config.shaping, list[str]()
    if shaping.reward is not None:
        found.append(f"shaping: turns earn {shaping.reward}, which may change the optimal policy")
    if shaping.potential is not None:
        discount = potential_discount(config.learn)
        found.append(
            f"shaping: turns earn {discount:g} * P(s') - P(s) of the potential {shaping.potential} in"
            " addition; the optimal policy stays"
        )
    return found


def _continuations(explore: ExploreConfig, process: ContinuationProcess) -> int:
    """Maximum number of continuations that estimate values of states in an iteration."""
    episodes = explore.tasks * explore.samples * (1 + explore.resample)
    return math.ceil(process.share * episodes) * process.states * process.continuations


def _controllers(config: RunConfig) -> list[str]:
    """Plan of the adaptive settings."""
    found: list[str] = []
    if config.explore.resample:
        found.append(
            f"resample: up to {config.explore.resample} rounds of tasks in place of those with equal returns"
        )
    for name, limit in config.constraints.items():
        found.append(f"constraint: mean {name} at most {limit.limit:g}, its price follows")
    if config.kl is not None:
        found.append(f"kl: the coefficient follows a target of {config.kl.target:g} nats")
    if config.guards.collapse == "stop":
        found.append("guards: the run stops where the variety of explored episodes collapses")
    horizon = config.horizon
    if horizon is not None:
        rounds = ", ".join(str(turns) for turns in horizon.rounds)
        pace = f"{horizon.every} iterations each"
        if horizon.success is not None:
            pace = f"the next at {horizon.success:.0%} success in validation"
        found.append(f"horizon: {rounds} turns of an explored episode, {pace}")
    return found


def _learners(shards: int) -> str:
    return "1 learner" if shards == 1 else f"{shards} learners that share the weights"


def _algorithm(config: RunConfig) -> str:
    """The algorithm with the options that are not its defaults."""
    options = ", ".join(f"{name} {value}" for name, value in config.learn.options.items())
    return config.learn.algorithm + (f" ({options})" if options else "")

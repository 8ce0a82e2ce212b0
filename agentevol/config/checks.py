"""Checks across sections of a configuration: each raises `ValueError`, with the remedy, for settings of one
section that have no effect, or cannot be, beside those of another.
"""

from collections.abc import Mapping, Sequence

from agentevol.config.rewards.process import ProcessSection
from agentevol.config.rewards.reward import (
    ConsistencyReward,
    JudgeReward,
    PreferenceModelReward,
    RewardSection,
)
from agentevol.config.sections.cluster import RayConfig
from agentevol.config.sections.constraints import Constraint
from agentevol.config.sections.engine import EmbeddedConfig, EngineSection, VllmConfig, VllmServersConfig
from agentevol.config.sections.environment import SCRIPTED_PARTNERS, SELF_PLAY, EnvironmentConfig
from agentevol.config.sections.exploration import DemonstrationConfig, ExploreConfig, HorizonConfig
from agentevol.config.sections.forgetting import InterpolateConfig, ReplayConfig, RetainedConfig
from agentevol.config.sections.learner import KLTarget, LearnConfig
from agentevol.config.sections.rollout import AsynchronousConfig, RolloutSection, SynchronousConfig
from agentevol.config.sections.selection import RETURN, PairsConfig, SelectConfig
from agentevol.config.self_evolution.population import PopulationConfig
from agentevol.core.algorithms.registry import algorithm, objective
from agentevol.models.limits import adapter_rank


def check_algorithm(learn: LearnConfig, select: SelectConfig) -> None:
    """Raise `ValueError` where the algorithm is incompatible with the selection of its data."""
    name, chosen = learn.algorithm, objective(learn.algorithm, learn.options)
    data = chosen.algorithm.data
    if data != "episodes" and (select.merge != "none" or select.turns != "all"):
        raise ValueError(
            f"learn.algorithm {name!r} compares whole episodes of one round: it needs select.merge = 'none'"
            " and select.turns = 'all'"
        )
    check_sequences(learn, select)
    if learn.reference != "start" and "ref_logp" not in chosen.needs:
        raise ValueError(
            f"learn.reference has no effect: learn.algorithm {name!r} with these options has none"
        )


def check_pairs(pairs: PairsConfig, learn: LearnConfig) -> None:
    """Raise `ValueError` where nothing learns from preference pairs."""
    data = algorithm(learn.algorithm).data
    if data not in ("pairs", "labels") and pairs != PairsConfig():
        raise ValueError(f"pairs.* has no effect: learn.algorithm {learn.algorithm!r} learns from {data}")


def check_pairs_of_one_set(pairs: PairsConfig) -> None:
    """Raise `ValueError` for sources of pairs that only the iterations of a run have."""
    for name in ("demonstrations", "memory"):
        if getattr(pairs, name):
            raise ValueError(f"pairs.{name} has no effect here: it is for the iterations of a run")


def check_pair_sources(
    pairs: PairsConfig, learn: LearnConfig, shown: DemonstrationConfig, start: str, iterations: int
) -> None:
    """Raise `ValueError` where a run has no demonstrations or earlier episodes to make pairs of, or learns
    from them with another reference than such pairs are for.
    """
    chosen = objective(learn.algorithm, learn.options)
    for name in ("demonstrations", "memory"):
        if getattr(pairs, name) and chosen.algorithm.data != "pairs":
            raise ValueError(
                f"pairs.{name} has no effect: learn.algorithm {learn.algorithm!r} learns from"
                f" {chosen.algorithm.data}, not pairs"
            )
    if pairs.demonstrations and not shown.tasks:
        raise ValueError("pairs.demonstrations has no effect without demonstrations.tasks")
    if pairs.demonstrations == "any" and "ref_logp" not in chosen.needs:
        raise ValueError(
            f"pairs.demonstrations = 'any' needs a reference model: learn.algorithm {learn.algorithm!r} has"
            " none; take 'dpo', or 'lost'"
        )
    if pairs.demonstrations == "any" and (start, learn.reference) != ("latest", "start"):
        raise ValueError(
            "pairs.demonstrations = 'any' has the latest policy as reference model: set start = 'latest' and"
            " learn.reference = 'start'"
        )
    if pairs.memory and iterations == 1:
        raise ValueError("pairs.memory has no effect in one iteration: there is no earlier one")


def check_sequences(learn: LearnConfig, select: SelectConfig) -> None:
    """Raise `ValueError` where the algorithm or another setting does not support a training sequence per
    turn.
    """
    chosen = objective(learn.algorithm, learn.options)
    if select.sequences != "per_step":
        return
    if learn.overflow == "cut_left_turns":
        raise ValueError(
            "learn.overflow = 'cut_left_turns' has no effect with select.sequences = 'per_step':"
            " a sequence has one turn"
        )
    for option, value in (("nll_scope", "all"), ("kto_reference", "mismatched")):
        if chosen.options.get(option) == value:
            raise ValueError(
                f"learn.options.{option} = {value!r} reads whole episodes: select.sequences"
                " = 'per_step' rules it out"
            )
    if chosen.algorithm.model == "reward" and chosen.algorithm.data == "pairs":
        raise ValueError(
            f"select.sequences = 'per_step' has no effect: {chosen.name} reads the end of episodes only"
        )


def check_thresholds(
    learn: LearnConfig,
    select: SelectConfig,
    environments: Sequence[str] | None,
    retained: RetainedConfig | None,
) -> None:
    """Raise `ValueError` for a threshold that nothing is compared with, or that everything has passed.

    `environments` are those of a run, in which only retained episodes are of other ones; None for a data set.
    """
    options = objective(learn.algorithm, learn.options).options
    weighed = "threshold" in options and options.get("weighting", "binary") == "binary"
    if select.thresholds and select.rule != "threshold" and not weighed:
        raise ValueError("select.thresholds has no effect without select.rule = 'threshold'")
    others = [] if environments is None else sorted(select.thresholds.keys() - set(environments))
    if others and retained is None:
        raise ValueError(
            f"select.thresholds.{others[0]} has no effect: the run's environment is"
            f" {', '.join(environments or ())}"
        )
    passed = {"succeeded": 0.999, "threshold": select.threshold}.get(select.rule)
    own = learn.options.get("threshold")
    if weighed and isinstance(own, int | float) and passed is not None and own <= passed and own != 0.999:
        raise ValueError(
            f"learn.options.threshold = {own} has no effect: select.rule = {select.rule!r} keeps only returns"
            f" of at least {passed}; set select.rule = 'all'"
        )


def check_demonstrations(
    shown: DemonstrationConfig, start: str, select: SelectConfig, learn: LearnConfig, pairs: PairsConfig
) -> None:
    """Raise `ValueError` where demonstrations are not learnt from, or the cloned policy would be
    discarded.
    """
    read = learn.ewc is not None or shown.clone is not False or pairs.demonstrations
    if shown.tasks and select.merge == "none" and not read:
        raise ValueError(
            "demonstrations.tasks has no effect with select.merge = 'none' and demonstrations.clone = false:"
            " set another of them"
        )
    if shown.clone and start == "base" and select.merge == "none":
        raise ValueError(
            "start = 'base' with select.merge = 'none' discards the clone in each update: set start ="
            " 'latest', or select.merge = 'expert'"
        )


def check_overflow(engine: EngineSection, select: SelectConfig) -> None:
    """Raise `ValueError` where turns of a shortened prompt cannot be training sequences."""
    if engine.overflow == "drop_oldest" and select.sequences == "append_only":
        raise ValueError(
            "engine.overflow = 'drop_oldest' begins sequences that do not extend what came before, which"
            " select.sequences = 'append_only' rules out: take 'fork' or 'per_step'"
        )


def check_adapters(learn: LearnConfig) -> None:
    """Raise `ValueError` where an engine cannot serve the adapters of a run separately from its base weights
    (`engine.lora`).
    """
    if learn.lora is None or not learn.lora.keep:
        raise ValueError(
            "engine.lora needs adapters that updates continue to train: set learn.lora.keep = true"
        )
    adapter_rank(learn.lora.rank)
    embeddings = sorted({"lm_head", "embed_tokens"}.intersection(learn.lora.targets))
    if embeddings:
        raise ValueError(
            f"engine.lora serves no adapters of embeddings: leave {embeddings[0]} out of learn.lora.targets"
        )
    if learn.save_dtype != "float32":
        raise ValueError(
            f"engine.lora: learn.save_dtype = {learn.save_dtype!r} rounds the weights under the adapters anew"
            " in every update, and vLLM keeps those of the start: set learn.save_dtype = 'float32'"
        )


def check_vllm(engine: VllmConfig, learn: LearnConfig, rollout: RolloutSection) -> None:
    """Raise `ValueError` where learners cannot take turns with rollout workers on their GPUs, or the weight
    transfer between them is not possible.
    """
    gpus = engine.workers * engine.tensor_parallel
    if engine.lora:
        check_adapters(learn)
    if engine.colocated and learn.device == "cpu":
        raise ValueError("engine.colocated has no effect with learn.device = 'cpu': learners need no GPU")
    if engine.colocated and not isinstance(rollout, SynchronousConfig):
        raise ValueError(
            "engine.colocated takes turns: it needs rollout.mode = 'synchronous', or GPUs for both"
        )
    if engine.colocated and learn.shards > gpus:
        raise ValueError(
            f"engine.colocated: learn.shards = {learn.shards} needs a GPU of a rollout worker for each, and"
            f" engine.workers * engine.tensor_parallel are {gpus}"
        )
    if engine.transfer in ("nccl", "ipc") and learn.device == "cpu":
        raise ValueError(f"engine.transfer = {engine.transfer!r} begins on a learner's GPU: not with 'cpu'")
    if engine.transfer == "ipc" and not (engine.colocated and learn.shards == gpus):
        raise ValueError(
            "engine.transfer = 'ipc' is between processes on one GPU: set engine.colocated, and learn.shards"
            f" = {gpus}, a learner for each of the rollout workers' GPUs"
        )


def check_cluster(ray: RayConfig, environment: EnvironmentConfig) -> None:
    """Raise `ValueError` where no environment server is placed."""
    if ray.environment_labels and environment.url is not None:
        raise ValueError(
            "ray.environment_labels has no effect with environment.url: that server runs already"
        )


def check_partner(environment: EnvironmentConfig, engine: EngineSection) -> None:
    """Raise `ValueError` for a partner that cannot play, or that has no seat."""
    partner = environment.partner
    if partner == SELF_PLAY:
        return
    if environment.seats == 1:
        raise ValueError("environment.partner has no effect with environment.seats = 1")
    if partner == "expert":
        raise ValueError(
            "environment.partner = 'expert' is no partner: an expert's actions are for one agent that begins"
        )
    if partner not in SCRIPTED_PARTNERS and not isinstance(engine, EmbeddedConfig):
        raise ValueError(
            f"environment.partner = {partner!r}: a partner with weights needs engine = 'embedded'; with other"
            f" engines it is one of {', '.join((SELF_PLAY, *SCRIPTED_PARTNERS))}"
        )


def check_checkpoints(checkpoints: str, table: str | None, ray: RayConfig, engine: EngineSection) -> None:
    """Raise `ValueError` where no process would read checkpoints from an object store, or their URL overlaps
    with that of the table.
    """
    if ray.address is None:
        raise ValueError("checkpoints has no effect without ray.address: one machine sees the run's folder")
    if isinstance(engine, VllmServersConfig):
        raise ValueError("checkpoints: servers of engine.url read the run's folder, not an object store")
    own, other = f"{checkpoints}/", f"{table}/"
    if other.startswith(own) or own.startswith(other):
        raise ValueError("checkpoints and table lie in one another: give each a place of its own")


def check_policy(learn: LearnConfig) -> None:
    """Raise `ValueError` for an algorithm that makes a reward model, which cannot explore."""
    name, chosen = learn.algorithm, algorithm(learn.algorithm)
    if chosen.model == "reward":
        raise ValueError(
            f"learn.algorithm {name!r} makes a reward model, not a policy: algorithm={name} alone sets up a"
            " run in which a policy learns from one"
        )


def check_memory(
    learn: LearnConfig,
    select: SelectConfig,
    replay: ReplayConfig,
    retained: RetainedConfig | None,
    shown: int,
) -> None:
    """Raise `ValueError` where a setting against forgetting has nothing to act on; `shown` is the number of
    demonstrations.
    """
    replays = select.merge == "replay"
    if not replays and replay != ReplayConfig():
        raise ValueError("replay.* has no effect without select.merge = 'replay'")
    if learn.distillation and not replays:
        raise ValueError(
            "learn.distillation has no effect without replayed sequences: select.merge = 'replay'"
        )
    if learn.ewc is not None and retained is None and not shown:
        raise ValueError(
            "learn.ewc needs training sequences to keep: retained.data, or in a run demonstrations.tasks"
        )
    if retained is not None and not replays and learn.ewc is None:
        raise ValueError("retained.data has no effect without select.merge = 'replay' or learn.ewc")


def check_interpolate(interpolate: InterpolateConfig, learn: LearnConfig) -> None:
    """Raise `ValueError` where a share that validation chooses is set already."""
    if interpolate.shares and learn.interpolation is not None:
        raise ValueError("interpolate.shares chooses what learn.interpolation sets: leave out one")
    if interpolate.shares and learn.lora is not None and learn.lora.keep:
        raise ValueError(
            "interpolate.shares mixes whole weights, learn.lora.keep continues to train adapters"
        )


def check_updates(iterations: int, start: str, learn: LearnConfig, rollout: RolloutSection) -> None:
    """Raise `ValueError` for settings about successive updates where there are none."""
    online = learn.ewc is not None and learn.ewc.online
    if online and start != "latest":
        raise ValueError("learn.ewc.online follows the latest policy: set start = 'latest'")
    if online and iterations == 1:
        raise ValueError("learn.ewc.online has no effect in one iteration: there is one stage")
    if rollout.rounds_ahead and iterations == 1:
        raise ValueError("rollout.mode explores ahead of a training, which has no effect in one iteration")


def check_controllers(constraints: Mapping[str, Constraint], kl: KLTarget | None, learn: LearnConfig) -> None:
    """Raise `ValueError` where a controller has nothing to act on."""
    name = learn.algorithm
    if bool(constraints) != (name == "lagrangian"):
        raise ValueError(
            "constraints.NAME.limit has no effect without learn.algorithm 'lagrangian', nor that without any"
        )
    if kl is not None and not objective(name, learn.options).options.get("kl_coef"):
        raise ValueError(f"kl.* has no effect: learn.algorithm {name!r} has no kl_coef above 0 to begin with")


def check_temperature(explore: ExploreConfig, learn: LearnConfig) -> None:
    """Raise `ValueError` where one temperature is to stand for episodes that have each their own."""
    if isinstance(explore.temperature, tuple) and learn.rollout_temperature is not None:
        raise ValueError(
            "learn.rollout_temperature has no effect with a range of explore.temperature: each episode is"
            " learnt at its own; leave it out"
        )


def check_population(
    population: PopulationConfig, url: str | None, shown: DemonstrationConfig, learn: LearnConfig
) -> None:
    """Raise `ValueError` for members without one start, or whose weights or places a population cannot
    have.
    """
    if url is not None:
        raise ValueError(f"population: its members are folders beside each other: leave out {url}")
    if shown.clone:
        raise ValueError(
            "population: its members have one start, and each would clone its own: set demonstrations.clone ="
            " false, with a base that is an agent"
        )
    if population.merge != "none" and learn.lora is not None and learn.lora.keep:
        raise ValueError(
            "population.merge averages whole weights, learn.lora.keep continues to train adapters"
        )


def check_groups(explore: ExploreConfig, learn: LearnConfig) -> None:
    """Raise `ValueError` where groups of samples have no effect, or are larger than the algorithm
    supports.
    """
    chosen = objective(learn.algorithm, learn.options)
    if explore.resample and chosen.algorithm.data != "groups":
        raise ValueError(
            f"explore.resample has no effect: learn.algorithm {learn.algorithm!r} compares no samples"
        )
    if chosen.options.get("ties") != "average":
        return
    from agentevol.core.algorithms.contract import MOST_TIED  # brings torch, as its objective does

    if explore.samples > MOST_TIED:
        raise ValueError(
            f"learn.options.ties = 'average' takes {MOST_TIED} samples of a task at most, explore.samples is"
            f" {explore.samples}: set learn.options.ties = 'drop'"
        )


def check_rollout(rollout: RolloutSection, horizon: HorizonConfig | None, rejects: bool) -> None:
    """Raise `ValueError` where exploration ahead would precede its inputs, or updates that may be rejected
    (`rejects`).
    """
    if rollout.rounds_ahead and horizon is not None and horizon.success is not None:
        raise ValueError(
            "horizon.success waits for evaluations that rollout.mode explores ahead of: leave out one of them"
        )
    if isinstance(rollout, AsynchronousConfig) and rejects:
        raise ValueError(
            "rollout.mode = 'asynchronous' explores with every update, also one that protect.* or"
            " interpolate.shares would reject: take 'one_step_off'"
        )


def check_process(process: ProcessSection, learn: LearnConfig) -> None:
    """Raise `ValueError` where no algorithm reads the rewards of turns."""
    data = algorithm(learn.algorithm).data
    if process.on and data != "groups":
        raise ValueError(
            f"process.* has no effect: learn.algorithm {learn.algorithm!r} learns from {data}, not rewards"
        )


def check_reward(
    reward: RewardSection,
    process: ProcessSection,
    learn: LearnConfig,
    explore: ExploreConfig,
    select: SelectConfig,
    iterations: int,
) -> None:
    """Raise `ValueError` where nothing reads the scores, or another setting determines rewards too."""
    if not reward.on:
        return
    data = algorithm(learn.algorithm).data
    if data != "groups" and select.score == RETURN:
        name = "judge" if isinstance(reward, JudgeReward) else "reward"
        raise ValueError(
            f"reward.* has no effect: learn.algorithm {learn.algorithm!r} learns from {data}, not rewards;"
            f" select.score = {name!r} selects by it"
        )
    if isinstance(reward, ConsistencyReward) and explore.samples < 3:
        raise ValueError(
            f"reward.consistency needs a majority: explore.samples is {explore.samples}, set 3 or more"
        )
    if isinstance(reward, PreferenceModelReward) and reward.preference_rounds >= iterations:
        raise ValueError(
            f"reward.preference_rounds = {reward.preference_rounds} leaves the policy none of {iterations}"
            " iterations: set more iterations"
        )
    if process.on:
        raise ValueError("reward.* and process.* both set the rewards of turns: leave out one of them")
    if explore.resample:
        raise ValueError("explore.resample uses the environment's returns, not reward.*: leave it at 0")

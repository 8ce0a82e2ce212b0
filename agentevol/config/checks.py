"""Checks that every setting has an effect: each raises `ValueError`, with the remedy, for one that has
none.
"""

from typing import TYPE_CHECKING

from agentevol.config.forgetting import ProbeConfig, ReplayConfig, RetainedConfig
from agentevol.config.sections import (
    EngineConfig,
    HorizonConfig,
    PairsConfig,
    ProcessConfig,
    RewardConfig,
    RolloutConfig,
)
from agentevol.core.algorithms.registry import algorithm, objective
from agentevol.models.limits import adapter_rank

if TYPE_CHECKING:
    from agentevol.config.run import RunConfig, TrainConfig


def check_algorithm(config: "RunConfig | TrainConfig", refreshed: bool = False) -> None:
    """Raise `ValueError` where the algorithm is incompatible with the rest of the configuration.

    `refreshed` says that a reward model trains on pairs, whatever the policy trains on.
    """
    name, chosen = config.learn.algorithm, objective(config.learn.algorithm, config.learn.options)
    data = chosen.algorithm.data
    if data != "episodes" and (config.select.merge != "none" or config.select.turns != "all"):
        raise ValueError(
            f"learn.algorithm {name!r} compares whole episodes of one round: it needs select.merge = 'none'"
            " and select.turns = 'all'"
        )
    check_rows(config)
    check_thresholds(config)
    if data not in ("pairs", "labels") and not refreshed and config.pairs != PairsConfig():
        raise ValueError(f"pairs.* has no effect: learn.algorithm {name!r} learns from {data}")
    if config.learn.reference != "start" and "ref_logp" not in chosen.needs:
        raise ValueError(
            f"learn.reference has no effect: learn.algorithm {name!r} with these options has none"
        )


def check_rows(config: "RunConfig | TrainConfig") -> None:
    """Raise `ValueError` where the algorithm or another setting does not support a training sequence per
    turn.
    """
    chosen = objective(config.learn.algorithm, config.learn.options)
    if config.select.rows != "per_step":
        return
    if config.learn.overflow == "cut_left_turns":
        raise ValueError(
            "learn.overflow = 'cut_left_turns' has no effect with select.rows = 'per_step', rows of one turn"
        )
    for option, value in (("nll_scope", "all"), ("kto_reference", "mismatched")):
        if chosen.options.get(option) == value:
            raise ValueError(
                f"learn.options.{option} = {value!r} reads whole episodes: it needs another select.rows than"
                " 'per_step'"
            )
    if chosen.algorithm.model == "reward" and chosen.algorithm.data == "pairs":
        raise ValueError(
            f"select.rows = 'per_step' has no effect: {chosen.name} reads the end of episodes only"
        )


def check_thresholds(config: "RunConfig | TrainConfig") -> None:
    """Raise `ValueError` for a threshold that nothing is compared with, or that everything has passed."""
    select, chosen = config.select, objective(config.learn.algorithm, config.learn.options)
    options = chosen.options
    weighed = "threshold" in options and options.get("weighting", "binary") == "binary"
    if select.thresholds and select.rule != "threshold" and not weighed:
        raise ValueError("select.thresholds has no effect without select.rule = 'threshold'")
    world = getattr(config, "environment", None)  # of a run: only retained episodes are of other environments
    others = [] if world is None else sorted(select.thresholds.keys() - {world.name})
    if world is not None and others and config.retained.data is None:
        raise ValueError(
            f"select.thresholds.{others[0]} has no effect: the run's environment is {world.name}"
        )
    passed = {"succeeded": 0.999, "threshold": select.threshold}.get(select.rule)
    own = config.learn.options.get("threshold")
    if weighed and isinstance(own, int | float) and passed is not None and own <= passed and own != 0.999:
        raise ValueError(
            f"learn.options.threshold = {own} has no effect: select.rule = {select.rule!r} keeps only returns"
            f" of at least {passed}; set select.rule = 'all'"
        )


def check_demonstrations(config: "RunConfig") -> None:
    """Raise `ValueError` where demonstrations.* has no effect, or where the cloned policy would be
    discarded.
    """
    shown, merge = config.demonstrations, config.select.merge
    if shown.tasks and merge == "none" and config.learn.ewc is None and not shown.clone:
        raise ValueError(
            "demonstrations.tasks has no effect with select.merge = 'none': set demonstrations.clone = true,"
            " or another select.merge"
        )
    if shown.clone and not shown.tasks:
        raise ValueError("demonstrations.clone has no effect without demonstrations.tasks")
    if shown.clone and config.start == "base" and merge == "none":
        raise ValueError(
            "start = 'base' with select.merge = 'none' loses in each update what was cloned: set start ="
            " 'latest', or select.merge = 'expert'"
        )
    for name in ("epochs", "learning_rate"):
        if getattr(shown, name) is not None and (shown.clone is False or not shown.tasks):
            raise ValueError(f"demonstrations.{name} has no effect without demonstrations.clone")


def check_engine(config: "RunConfig") -> None:
    """Raise `ValueError` where engine.* has no effect."""
    engine, default = config.engine, EngineConfig()
    theirs = {"cache_gib": "memory", "tensor_parallel": "GPUs", "colocated": "GPUs", "transfer": "ways"}
    """Settings that running servers have already."""
    for name in ("url", *theirs):
        if getattr(engine, name) == getattr(default, name):
            continue
        if engine.name != "vllm":
            raise ValueError(f"engine.{name} has no effect without engine.name = 'vllm'")
        if name in theirs and engine.url is not None:
            raise ValueError(
                f"engine.{name} has no effect with engine.url: servers have {theirs[name]} of their own"
            )
    if engine.api_key_env is not None and engine.url is None:
        raise ValueError("engine.api_key_env has no effect without engine.url")
    if config.engine.overflow == "drop_oldest" and config.select.rows == "append_only":
        raise ValueError(
            "engine.overflow = 'drop_oldest' begins rows that do not extend what came before, which"
            " select.rows = 'append_only' rules out: take 'fork' or 'per_step'"
        )
    if engine.lora:
        check_adapters(config)
    check_episodes(engine.name, engine.episodes, engine.slots)


def check_adapters(config: "RunConfig") -> None:
    """Raise `ValueError` where an engine cannot serve the adapters of a run separately from its base
    weights.
    """
    engine, learn = config.engine, config.learn
    if engine.name != "vllm":
        raise ValueError("engine.lora has no effect without engine.name = 'vllm'")
    if engine.url is not None:
        raise ValueError("engine.lora has no effect with engine.url: servers read whole checkpoints")
    if engine.transfer != "disk":
        raise ValueError(
            f"engine.transfer = {engine.transfer!r} has no effect with engine.lora: adapters are read"
        )
    if learn.lora is None or not learn.lora.keep:
        raise ValueError("engine.lora serves adapters that updates go on with: set learn.lora.keep = true")
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


def check_episodes(engine: str, episodes: int | None, slots: int) -> None:
    """Raise `ValueError` for `episodes` in flight where an episode keeps its slot, or fewer than slots."""
    if episodes is not None and engine != "vllm":
        raise ValueError(
            "engine.episodes has no effect without engine.name = 'vllm': elsewhere an episode keeps its slot"
            " while its world takes its time; set engine.slots higher"
        )
    if episodes is not None and episodes < slots:
        raise ValueError(
            f"engine.slots = {slots} has no effect above engine.episodes = {episodes}: set engine.slots lower"
        )


def check_colocated(config: "RunConfig") -> None:
    """Raise `ValueError` where learners cannot take turns with rollout workers on their GPUs."""
    engine, learn = config.engine, config.learn
    if not engine.colocated:
        return
    if learn.device == "cpu":
        raise ValueError("engine.colocated has no effect with learn.device = 'cpu': learners need no GPU")
    if config.rollout.mode != "synchronous":
        raise ValueError(
            f"engine.colocated takes turns, which rollout.mode = {config.rollout.mode!r} does not: take"
            " 'synchronous', or GPUs for both"
        )
    if learn.shards > engine.gpus:
        raise ValueError(
            f"engine.colocated: learn.shards = {learn.shards} needs a GPU of a rollout worker for each, and"
            f" engine.workers * engine.tensor_parallel are {engine.gpus}"
        )


def check_transfer(config: "RunConfig") -> None:
    """Raise `ValueError` where the chosen weight transfer is not possible."""
    engine, learn = config.engine, config.learn
    if engine.transfer == "nccl" and engine.colocated:
        raise ValueError("engine.transfer = 'nccl' is between GPUs: with engine.colocated take 'ipc'")
    if engine.transfer in ("nccl", "ipc") and learn.device == "cpu":
        raise ValueError(f"engine.transfer = {engine.transfer!r} begins on a learner's GPU: not with 'cpu'")
    if engine.transfer == "ipc" and not (engine.colocated and learn.shards == engine.gpus):
        raise ValueError(
            "engine.transfer = 'ipc' is between processes on one GPU: set engine.colocated, and learn.shards"
            f" = {engine.gpus}, a learner for each of the rollout workers' GPUs"
        )


def check_cluster(config: "RunConfig") -> None:
    """Raise `ValueError` where a setting about processes has no effect."""
    ray = config.ray
    if ray.address is not None and ray.cpus is not None:
        raise ValueError("ray.cpus has no effect with ray.address: a cluster knows its processors")
    if ray.environment_labels and ray.address is None:
        raise ValueError("ray.environment_labels has no effect without ray.address: there is one machine")
    if ray.environment_labels and config.environment.url is not None:
        raise ValueError(
            "ray.environment_labels has no effect with environment.url: that server runs already"
        )
    if ray.address is not None and ray.address.startswith("ray://"):
        raise ValueError("ray.address: begin the run on a node of the cluster, with ray.address = 'auto'")
    if config.engine.workers == 1 and config.engine.stall_s != EngineConfig().stall_s:
        raise ValueError("engine.stall_s has no effect with one worker: there is none to compare it with")


def check_checkpoints(config: "RunConfig") -> None:
    """Raise `ValueError` where no process would read checkpoints from an object store, or their URL overlaps
    with that of the table.
    """
    if config.checkpoints is None:
        return
    if config.ray.address is None:
        raise ValueError("checkpoints has no effect without ray.address: one machine sees the run's folder")
    if config.engine.urls:
        raise ValueError("checkpoints: servers of engine.url read the run's folder, not an object store")
    own, table = f"{config.checkpoints}/", f"{config.table}/"
    if table.startswith(own) or own.startswith(table):
        raise ValueError("checkpoints and table lie in one another: give each a place of its own")


def check_policy(config: "RunConfig") -> None:
    """Raise `ValueError` for an algorithm that makes a reward model, which cannot explore."""
    name, chosen = config.learn.algorithm, algorithm(config.learn.algorithm)
    if chosen.model == "reward":
        raise ValueError(
            f"learn.algorithm {name!r} makes a reward model, not a policy: algorithm={name} alone sets up a"
            " run in which a policy learns from one"
        )


def check_memory(config: "RunConfig | TrainConfig", remembers: bool) -> None:
    """Raise `ValueError` where a setting against forgetting has nothing to act on."""
    replay, learn, retained = config.select.merge == "replay", config.learn, config.retained
    if not replay and config.replay != ReplayConfig():
        raise ValueError("replay.* has no effect without select.merge = 'replay'")
    if learn.distillation and not replay:
        raise ValueError("learn.distillation has no effect without replayed rows: select.merge = 'replay'")
    if learn.ewc is not None and not remembers:
        raise ValueError(
            "learn.ewc needs rows of what is to be kept: retained.data, or in a run demonstrations.tasks"
        )
    if retained.data is None and retained != RetainedConfig():
        raise ValueError("retained.* has no effect without retained.data")
    if retained.data is not None and not replay and learn.ewc is None:
        raise ValueError("retained.data has no effect without select.merge = 'replay' or learn.ewc")


def check_online(config: "RunConfig") -> None:
    """Raise `ValueError` where online EWC has no successive stages."""
    ewc = config.learn.ewc
    if ewc is None or not ewc.online:
        return
    if config.start != "latest":
        raise ValueError("learn.ewc.online follows the latest policy: set start = 'latest'")
    if config.iterations == 1:
        raise ValueError("learn.ewc.online has no effect in one iteration: there is one stage")


def check_interpolate(config: "RunConfig") -> None:
    """Raise `ValueError` where a share that validation chooses is set already, and for an empty probe."""
    if config.interpolate.shares:
        if config.learn.interpolation is not None:
            raise ValueError("interpolate.shares chooses what learn.interpolation sets: leave out one")
        if config.learn.lora is not None and config.learn.lora.keep:
            raise ValueError("interpolate.shares mixes whole weights, learn.lora.keep goes on with adapters")
    if config.probe.data is None and config.probe != ProbeConfig():
        raise ValueError("probe.* has no effect without probe.data")


def check_groups(config: "RunConfig") -> None:
    """Raise `ValueError` where a group would be larger than its algorithm supports."""
    options = objective(config.learn.algorithm, config.learn.options).options
    if options.get("ties") != "average":
        return
    from agentevol.core.algorithms.contract import MOST_TIED  # brings torch, as its objective does

    if config.explore.samples > MOST_TIED:
        raise ValueError(
            f"learn.options.ties = 'average' takes {MOST_TIED} samples of a task at most, explore.samples is"
            f" {config.explore.samples}: set learn.options.ties = 'drop'"
        )


def check_controllers(config: "RunConfig") -> None:
    """Raise `ValueError` where a controller has nothing to act on."""
    name = config.learn.algorithm
    if bool(config.constraints) != (name == "lagrangian"):
        raise ValueError(
            "constraints.NAME.limit has no effect without learn.algorithm 'lagrangian', nor that without any"
        )
    chosen = objective(name, config.learn.options)
    if config.explore.resample and chosen.algorithm.data != "groups":
        raise ValueError(f"explore.resample has no effect: learn.algorithm {name!r} compares no samples")
    options = chosen.options
    if config.kl is not None and not options.get("kl_coef"):
        raise ValueError(f"kl.* has no effect: learn.algorithm {name!r} has no kl_coef above 0 to begin with")
    rounds = config.horizon.rounds
    if not rounds and config.horizon != HorizonConfig():
        raise ValueError("horizon.* has no effect without horizon.rounds")
    if list(rounds) != sorted(rounds) or min(rounds, default=1) < 1:
        raise ValueError(f"horizon.rounds are turns of at least 1 and never fewer: {list(rounds)}")


def check_rollout(config: "RunConfig") -> None:
    """Raise `ValueError` where rollout.* has no effect, or asynchronous exploration would precede its
    inputs.
    """
    rollout, default = config.rollout, RolloutConfig()
    if rollout.mode != "asynchronous":
        for name in ("max_staleness", "in_flight"):
            if getattr(rollout, name) != getattr(default, name):
                raise ValueError(f"rollout.{name} has no effect without rollout.mode = 'asynchronous'")
    if rollout.mode == "synchronous":
        return
    if config.iterations == 1:
        raise ValueError(f"rollout.mode = {rollout.mode!r} has no effect in one iteration")
    if config.horizon.success is not None:
        raise ValueError(
            "horizon.success waits for evaluations that rollout.mode explores ahead of: leave out one of them"
        )
    if rollout.mode == "asynchronous" and (config.protect or config.interpolate.shares):
        raise ValueError(
            "rollout.mode = 'asynchronous' explores with every update, also one that protect.* or"
            " interpolate.shares would reject: take 'one_step_off'"
        )


def check_process(config: "RunConfig") -> None:
    """Raise `ValueError` where process.* has no effect."""
    process, name = config.process, config.learn.algorithm
    if not process.on and process != ProcessConfig():
        raise ValueError("process.* has no effect without process.continuations, .pooled or .model")
    check_process_source(process)
    data = algorithm(name).data
    if process.on and data != "groups":
        raise ValueError(f"process.* has no effect: learn.algorithm {name!r} learns from {data}, not rewards")
    if process.options:
        objective("process_reward", process.options)


def check_reward(config: "RunConfig") -> None:
    """Raise `ValueError` where reward.* has no effect, or would act on something that another setting
    determines.
    """
    reward, default = config.reward, RewardConfig()
    if not reward.on:
        if reward != default:
            raise ValueError("reward.* has no effect without reward.model or reward.refresh")
        return
    name = config.learn.algorithm
    data = algorithm(name).data
    if data != "groups":
        raise ValueError(f"reward.* has no effect: learn.algorithm {name!r} learns from {data}, not rewards")
    learnt = (reward.learning_rate, reward.epochs, reward.options)
    if not reward.refresh and learnt != (default.learning_rate, default.epochs, default.options):
        raise ValueError("reward.learning_rate, .epochs and .options have no effect without reward.refresh")
    if reward.refresh and reward.patience is not None:
        raise ValueError(
            "reward.patience compares scores of one model, and reward.refresh changes it: set"
            " reward.patience=null"
        )
    objective("bradley_terry", reward.options)
    if config.process.on:
        raise ValueError("reward.* and process.* both set the rewards of turns: leave out one of them")
    if config.explore.resample:
        raise ValueError("explore.resample looks at the world's returns, not at reward.*: leave it at 0")


def check_process_source(process: ProcessConfig) -> None:
    """Raise `ValueError` where values of states have two sources, or a head has none."""
    default = ProcessConfig()
    if process.pooled and process.continuations:
        raise ValueError("process.pooled stands in for process.continuations: leave out one of them")
    if process.pooled and (process.share, process.states) != (default.share, default.states):
        raise ValueError(
            "process.share and process.states have no effect with process.pooled: it plays nothing"
        )
    learning = ("share", "states", "learning_rate", "epochs", "options")
    for name in () if process.learns or process.model is None else learning:
        if getattr(process, name) != getattr(default, name):
            raise ValueError(
                f"process.{name} has no effect: without process.continuations or process.pooled,"
                " process.model stays as it is"
            )
    costs = sorted(process.model_heads.keys() & {"turns", "tokens", "invalid_actions"})
    if costs:
        raise ValueError(
            f"process.heads lie in [0, 1], unlike {costs[0]}: take efficiency, safety or process.rules"
        )
    if not process.model_heads:
        raise ValueError("process.heads needs one with a weight above 0")

"""Allocation of GPUs to learners and rollout workers."""

from agentevol.config.run import RunConfig
from agentevol.core.errors import ConfigError


def gpus_of_learners(config: RunConfig, there: int) -> int:
    """GPUs of each learner; raises `ConfigError` where there are some but too few."""
    wanted = _learners(config)
    if 0 < there < wanted:
        raise ConfigError(f"learn.shards = {wanted} needs a GPU for each: there are {there}")
    return int(there > 0 and wanted > 0)


def gpus_of_rollouts(config: RunConfig, there: int) -> int:
    """GPUs of each rollout worker; raises `ConfigError` where there are some but too few."""
    workers, each = config.engine.workers, config.engine.worker_gpus
    if not each:
        return 0
    learners = _learners(config)
    if 0 < there < workers * each + learners:
        raise ConfigError(
            f"engine {config.engine.name!r} needs {workers * each + learners} GPUs, {each} for each of"
            f" {workers} rollout workers and 1 for each of {learners} learners: there are {there};"
            " set engine.workers lower, learn.device=cpu or engine.colocated=true"
        )
    return each if there > 0 else 0


def _learners(config: RunConfig) -> int:
    """Number of learners that claim a GPU where there are any."""
    on_gpus = config.learn.device in ("auto", "cuda") and not config.engine.shares_gpus
    return config.learn.shards if on_gpus else 0

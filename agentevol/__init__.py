"""Training of language-model agents: explore with the current policy, select, learn, evaluate, again.

    config = load_config("run.toml", ["iterations=2"])
    summary = run(config, out="runs/first")
    figures = evaluate("runs/first", "alfworld", episodes=50)

The public names are imported when they are used: `import agentevol` loads no torch, ray or transformers.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentevol.config.run import RunConfig, TrainConfig
    from agentevol.config.run import load as load_config
    from agentevol.core.errors import AgentEvolError, ConfigError
    from agentevol.core.protocols import Conversation, LearnReport, Policy
    from agentevol.core.summaries import EvaluationSummary, RunSummary
    from agentevol.core.version import __version__
    from agentevol.runs.evaluation import evaluate
    from agentevol.runs.lifecycle import resume, run
    from agentevol.runs.training import train
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "AgentEvolError": "agentevol.core.errors:AgentEvolError",
            "ConfigError": "agentevol.core.errors:ConfigError",
            "Conversation": "agentevol.core.protocols:Conversation",
            "EvaluationSummary": "agentevol.core.summaries:EvaluationSummary",
            "LearnReport": "agentevol.core.protocols:LearnReport",
            "Policy": "agentevol.core.protocols:Policy",
            "RunConfig": "agentevol.config.run:RunConfig",
            "RunSummary": "agentevol.core.summaries:RunSummary",
            "TrainConfig": "agentevol.config.run:TrainConfig",
            "__version__": "agentevol.core.version:__version__",
            "evaluate": "agentevol.runs.evaluation:evaluate",
            "load_config": "agentevol.config.run:load",
            "resume": "agentevol.runs.lifecycle:resume",
            "run": "agentevol.runs.lifecycle:run",
            "train": "agentevol.runs.training:train",
        },
        extra="train",
    )

__all__ = [
    "AgentEvolError",
    "ConfigError",
    "Conversation",
    "EvaluationSummary",
    "LearnReport",
    "Policy",
    "RunConfig",
    "RunSummary",
    "TrainConfig",
    "__version__",
    "evaluate",
    "load_config",
    "resume",
    "run",
    "train",
]

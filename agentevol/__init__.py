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
    from agentevol.errors import AgentEvolError, ConfigError
    from agentevol.protocols import Conversation, LearnReport, Policy
    from agentevol.report.summary import EvaluationSummary, RunSummary
    from agentevol.runs import resume, run
    from agentevol.training import train
    from agentevol.trial import evaluate
    from agentevol.version import __version__
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "AgentEvolError": "agentevol.errors:AgentEvolError",
            "ConfigError": "agentevol.errors:ConfigError",
            "Conversation": "agentevol.protocols:Conversation",
            "EvaluationSummary": "agentevol.report.summary:EvaluationSummary",
            "LearnReport": "agentevol.protocols:LearnReport",
            "Policy": "agentevol.protocols:Policy",
            "RunConfig": "agentevol.config.run:RunConfig",
            "RunSummary": "agentevol.report.summary:RunSummary",
            "TrainConfig": "agentevol.config.run:TrainConfig",
            "__version__": "agentevol.version:__version__",
            "evaluate": "agentevol.trial:evaluate",
            "load_config": "agentevol.config.run:load",
            "resume": "agentevol.runs:resume",
            "run": "agentevol.runs:run",
            "train": "agentevol.training:train",
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

"""What a run with an algorithm of this name looks like unless told otherwise.

`agentevol run algorithm=grpo` takes these values for what neither the file nor another override sets. They
are for small policies on two cores; spec of each algorithm: `agentevol.learn.algorithms`.
"""

from collections.abc import Mapping
from typing import Any

Preset = Mapping[str, Mapping[str, Any]]

ONLINE: Preset = {
    "select": {"rule": "all", "turns": "all", "per_task": None, "distinct": False, "merge": "none"},
    "learn": {
        "learning_rate": 3e-4,
        "epochs": 1,
        "batch_tokens": 8192,
        "schedule": "constant",
        "keep_moments": True,
    },
    "explore": {"tasks": 50, "samples": 8},
}
"""Learn from every episode that was scored, once, in few large steps, while it is fresh."""

PREFERENCES: Preset = {
    "select": {"rule": "all", "turns": "all", "per_task": None, "distinct": False, "merge": "none"},
    "learn": {"learning_rate": 1e-4, "epochs": 1, "batch_tokens": 4096, "schedule": "constant"},
    # in worlds with a limit of turns, failing nearly always means to run into it
    "pairs": {"strategy": "all_capped", "truncated_is_loss": True},
}

IMITATION: Preset = {}
"""The defaults of the configuration."""

STEPS: Preset = {
    "select": {"rule": "all", "turns": "all", "per_task": None, "distinct": False, "merge": "none"},
    "learn": {"learning_rate": 3e-4, "epochs": 2},
}
"""Every state that was valued, whatever became of its episode."""

WEIGHTED: Preset = {"select": {"rule": "all", "per_task": None, "distinct": False}}
"""Whole groups: a weight says something beside that of an episode that earned less."""

BY_ENVIRONMENT: Mapping[str, Mapping[str, Any]] = {
    "alfworld": {
        "explore": {"difficulty": "medium"},
        "select": {"per_task": 2},
        "evaluate": {"difficulty": "medium"},
    },
    "webshop": {
        "environment": {"max_turns": 20},
        "explore": {"difficulty": "small", "tasks": 200, "max_new_tokens": 112},
        "evaluate": {"difficulty": "small", "validation_episodes": 250},
    },
}
"""By environment, the settings below those of the algorithm. In rooms two wins of a task teach about what
four do (58.3 points of gain, 59.8 with four, means of three seeds) in two thirds of the time. In a shop a
search or a thought says many words, looking at a few items takes more than the benchmark's 15 turns, and few
episodes are won, so that it takes many to tell one checkpoint from another.
"""

OFFICIAL: Mapping[str, Mapping[str, Any]] = {
    "alfworld": {
        "explore": {"split": "official_train", "difficulty": None},
        "evaluate": {"split": "valid_unseen", "validation_split": "valid_seen", "difficulty": None},
    },
}
"""By environment, the settings of `environment.data = "official"` over `BY_ENVIRONMENT`."""

IMITATION_BY_ENVIRONMENT: Mapping[str, Mapping[str, Any]] = {"webshop": {"start": "base"}}
"""What runs have besides that imitate whole episodes: where wins are few, a policy that reads the same ones
in every iteration soon knows them by heart, and gets worse at all others.
"""

BY_DATA: Mapping[str, Preset] = {
    "episodes": IMITATION,
    "groups": ONLINE,
    "pairs": PREFERENCES,
    "labels": PREFERENCES,
    "steps": STEPS,
}
"""By what an algorithm learns from."""

TRAIN_BY_DATA: Mapping[str, Preset] = {"groups": {"select": {"max_lag": 4}}}
"""What learning once, from a table, has besides. In a run nothing that these algorithms learn is stale: they
learn each round's samples right after it.
"""

STALE: Preset = {"learn": {"options": {"importance": "token"}}}
"""What a policy gradient has besides where rounds are explored ahead: older weights sampled what is learnt,
so that tokens are weighted by how much likelier they have become since (the decoupled objective of
arXiv:2110.00641, as in arXiv:2505.24298).
"""

BY_NAME: Mapping[str, Preset] = {
    # modes are compared where each occurs twice: seldom in eight samples, mostly in the paper's sixteen
    "ampo": {"explore": {"tasks": 25, "samples": 16}},
    # dynamic sampling is a part of it: ten rounds of tasks at most (arXiv:2503.14476, section 3.2)
    "dapo": {"explore": {"resample": 9}},
    # one action in an episode that the world cannot carry out is a slip, more are a habit
    "lagrangian": {"constraints": {"invalid_actions": {"limit": 1.0}}},
    "softmax_bc": WEIGHTED,
    "weighted_bc": WEIGHTED,
}
"""What an algorithm has besides."""

BY_REWARD: Mapping[str, Preset] = {
    "bradley_terry": {
        "learn": {"algorithm": "grpo"},
        # a few hundred pairs a round, which a small model has to read more than once
        "reward": {"refresh": True, "patience": None, "learning_rate": 1e-3, "epochs": 4},
        "pairs": PREFERENCES["pairs"],
    },
    # of those that reward single turns, the one that has no critic to learn besides
    "process_reward": {"learn": {"algorithm": "reinforce_pp"}, "process": {"continuations": 4}},
}
"""What a run is that names an algorithm of reward models: a policy learns from what such a model says."""

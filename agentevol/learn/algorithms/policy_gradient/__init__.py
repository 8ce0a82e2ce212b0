"""Policy-gradient algorithms: PPO, GRPO and their variants."""

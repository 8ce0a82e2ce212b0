"""AgentEvol: explore with the current policy, select, learn, evaluate, again."""

"""Contract, options and registry of learning algorithms, below configuration and learner."""

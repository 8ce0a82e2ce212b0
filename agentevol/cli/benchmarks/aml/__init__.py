"""Benchmark of Adaptive Mode Learning (arXiv:2505.02156): AMPO, its baselines, and single thinking modes."""

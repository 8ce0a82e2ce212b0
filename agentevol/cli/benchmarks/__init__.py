"""Benchmarks: `agentevol bench NAME` runs a module with `main(json: bool)` that prints both sides and a
ratio.
"""

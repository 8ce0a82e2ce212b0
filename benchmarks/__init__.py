"""Experiments: comparisons of methods beside their controls and simulations, whose tables stand in docs/.

python -m benchmarks NAME [OPTIONS]
"""

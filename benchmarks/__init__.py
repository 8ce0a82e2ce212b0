"""Experiments: comparisons of methods beside their controls, whose tables stand in docs/.

python -m benchmarks NAME [OPTIONS]
"""

"""Linear heads of value functions and reward models: weights, names, scales and outputs."""

"""Preference optimisation: losses over pairs, labels and ranked groups."""

"""Scripted policies without skill, each with what it may earn, and the suite that plays them.

Names for other packages: `habits.habit`, `suite.attack`.
"""

"""The training loop: explore, select, learn, evaluate, and repeat.

Names for other packages: `evolve.evolve`.
"""

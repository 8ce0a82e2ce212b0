"""The training loop: explore, select, learn, evaluate, and repeat."""

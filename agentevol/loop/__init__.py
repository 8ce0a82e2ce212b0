"""The loop: explore, select, learn, evaluate, again."""

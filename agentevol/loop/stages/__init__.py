"""Stages of the training loop, one module each."""

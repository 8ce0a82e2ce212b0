"""Distributed training: ranks, sharded weights, and forward passes shared among ranks."""

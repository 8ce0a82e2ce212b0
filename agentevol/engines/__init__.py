"""Inference engines that serve a policy's weights, and policies without weights."""

"""Starter policies: small language models of our own, and the recipes that build them."""

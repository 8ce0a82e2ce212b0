"""Imitation: supervised fine-tuning and weighted behaviour cloning."""

"""Models by name: hub, resolution, checkpoints, LoRA adapters, tokenizers and chat rendering."""

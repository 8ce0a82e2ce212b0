"""Models by name: hub, resolution, checkpoints, LoRA adapters, tokenizers and chat rendering.

Names for other packages: `causal_lm.BUILDING`, `causal_lm.DTYPES`, `causal_lm.load_model`,
`causal_lm.shapes`, `causal_lm.without_bars`, `checkpoints.content_hash`, `checkpoints.disk_is_full`,
`checkpoints.Lineage`, `checkpoints.LINEAGE`, `checkpoints.read_lineage`, `checkpoints.save`,
`checkpoints.sync`, `checkpoints.tokenizer_files`, `hub.hub_name`, `limits.adapter_rank`,
`limits.ADAPTERS_AT_ONCE`, `limits.check_room`, `limits.check_sampling`, `limits.check_split`,
`limits.context_of`, `lora`, `lora.adapted`, `lora.adapted_from`, `lora.FILE`, `lora.read`, `lora.trained`,
`lora_config.LoraConfig`, `rendering.ACTION_MARK`, `rendering.ChatRenderer`, `rendering.load_tokenizer`,
`rendering.renderer_of`, `resolution.built_starter`, `resolution.check_folder`, `resolution.pinned`,
`resolution.resolve`, `resolution.shipped_starters`, `tokenizer_checks.action_tokens`,
`tokenizer_checks.check_tokenizer`, `tokenizer_checks.check_vocabulary`, `tokenizer_checks.check_words`,
`word_tokenizer.END`, `word_tokenizer.frequent_words`, `word_tokenizer.LONGEST_NUMBER`, `word_tokenizer.PAD`,
`word_tokenizer.SPACE`, `word_tokenizer.tokenizer_of`.
"""

"""vLLM engines: in this process's children, with adapters, or on servers.

Names for other packages: `arguments.check_heads`, `arguments.engine_arguments`, `capabilities.capabilities`,
`capabilities.check_installed`, `engine.VllmEngine`, `lora_engine.VllmLoraEngine`, `process.SETTINGS`,
`watchdog.Watchdog`, `watchdog.watching_children`.
"""

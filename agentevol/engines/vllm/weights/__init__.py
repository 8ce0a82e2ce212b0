"""Weight synchronisation with vLLM: formats, transfer and verification.

Names for other packages: `lora_adapters.adapters_of`, `lora_adapters.check_base`, `lora_adapters.kinds`,
`lora_adapters.under`, `lora_adapters.write_peft`, `output_embeddings.is_tied`, `output_embeddings.untied`,
`receiver.Receiver`, `sender.Receivers`, `sender.Sender`, `transfer_modes`, `transfer_modes.Step`,
`verification`.
"""

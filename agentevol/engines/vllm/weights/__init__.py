"""Weight synchronisation with vLLM: formats, transfer and verification."""

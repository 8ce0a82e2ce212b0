"""vLLM engines: in this process's children, with adapters, or on servers."""

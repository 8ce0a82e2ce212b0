"""Engine over vLLM servers of third parties, over HTTP."""

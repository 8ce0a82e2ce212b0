"""Engine over vLLM servers of third parties, over HTTP.

Names for other packages: `engine.VllmServerEngine`, `protocol.check_servers`.
"""

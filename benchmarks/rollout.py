"""`agentevol bench rollout` as a script: the embedded engine against transformers `generate`."""

from agentevol.bench.rollout import main

if __name__ == "__main__":
    main()

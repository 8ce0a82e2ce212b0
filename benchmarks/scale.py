"""`agentevol bench scale` as a script: where a run on many replicas saturates, by simulation."""

from agentevol.bench.scale import main

if __name__ == "__main__":
    main()

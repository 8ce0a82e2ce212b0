"""`agentevol bench store` as a script: the table of trajectories beside plain Parquet."""

from agentevol.bench.store import main

if __name__ == "__main__":
    main()

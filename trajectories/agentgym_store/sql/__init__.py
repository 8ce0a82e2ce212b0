"""SQL over a table of episodes: `query` runs one statement that reads the views `episodes` and `turns`.

    with query(store, "select env, avg(total_reward) as reward from episodes group by env") as result:
        for row in result.rows():
            print(row)                   # -> ("guess", 0.41)

polars executes the statement. It has no switch that keeps a statement from files, so it passes an authorizer,
and it runs in a process of its own with limits of memory and time.
"""

from agentgym_store.sql.query import Limits, Result, query

__all__ = ["Limits", "Result", "query"]

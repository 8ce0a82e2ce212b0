"""Names of the registered environments whose actions are tool calls."""

NAMES = (
    *("academia", "assistant", "bfcl", "movie", "sheet", "sql"),
    *("tau-airline", "tau-mock", "tau-retail", "tau-telecom", "todo", "weather"),
)

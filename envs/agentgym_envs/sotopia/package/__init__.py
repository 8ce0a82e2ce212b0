"""The package `sotopia` 0.1.5 in a process of its own, for comparisons with `protocol` (docs/sotopia.md).

| module | what it holds |
|---|---|
| `request` | an episode to play: profiles, scripts, rules, view, and the judge's replies |
| `client` | the process: start, requests, time limits, errors |
| `engine` | the program in that process, for an interpreter that has the package |
| `records` | the same record of an episode, made by `protocol` |
"""

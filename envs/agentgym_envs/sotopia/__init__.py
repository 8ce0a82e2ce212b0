"""Sotopia: conversations of two characters with private goals, judged in seven dimensions (arXiv:2310.11667).

| package | what it holds |
|---|---|
| `protocol` | profiles, views, actions, the conversation, prompts and judgements of the package `sotopia` |
| `package` | that package in a process of its own, for comparisons |
| `data` | published profiles and recorded episodes, imported from files |
| `moves` | moves in square brackets inside utterances |
| `verification` | goals of published scenarios that a program can check |
"""

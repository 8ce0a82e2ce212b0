"""Sotopia: conversations of two characters with private goals, judged in seven dimensions (arXiv:2310.11667).

| package or module | what it holds |
|---|---|
| `environment` | the environment `sotopia`; `options` and `tasks` are its options and tasks |
| `play` | its episodes: partners, judges, verifiers, records |
| `protocol` | profiles, views, actions, the conversation, prompts and judgements of the package `sotopia` |
| `package` | that package in a process of its own, for comparisons |
| `data` | published profiles and recorded episodes, imported from files |
| `moves` | moves in square brackets inside utterances |
| `models` | a partner and a judge behind endpoints |
| `verification` | goals of published scenarios that a program can check |

Names for other packages: `moves.Utterance`, `moves.number`, `moves.padded`, `moves.spoken`,
`moves.utterance`.
"""

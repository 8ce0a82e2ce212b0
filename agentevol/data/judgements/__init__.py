"""Judgements of conversations and transcripts by rules, models and records.

| module | what it holds |
|---|---|
| `items` | what is judged: `Item` |
| `dimension_sets` | what is scored: `DimensionSet`, `dimensions_of` |
| `outcomes` | scores, or a failure without any: `Judgement`, `Opinion` |
| `judges` | judges by rules, by models, by records |
| `panel` | several judges: `Panel` |
| `aggregation`, `agreement` | means, medians, spreads; how far judges agree |
| `summary` | figures of several judgements |
| `conversations` | profiles of recorded conversations |
| `budget` | limit of dollars or tokens |
| `files`, `batch` | judgements of a file, and their resumption |
"""

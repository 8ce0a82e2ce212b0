"""Judges' opinions of stored episodes, as records of feedback.

| module | what it holds |
|---|---|
| `views` | episodes as a judge reads them |
| `records` | origin of a judge's records, and what it has said already |
| `subjects` | what is to be judged: episodes, turns, pairs |
| `asking` | questions to a judge, a bounded number at a time, and the records that are written |
| `episodes`, `turns`, `comparisons`, `principles` | the kinds of questions |
| `figures` | scores beside lengths and outcomes |

Names for other packages: `asking.Asking`, `asking.Outcome`, `comparisons.Comparisons`,
`episodes.EpisodeScores`, `figures.figures_of`, `models.model_judge`, `plans.Plan`, `plans.carry_out`,
`plans.plan`, `principles.Principles`, `principles.read_principles`, `subjects.Subject`,
`subjects.check_ids`, `subjects.episodes`, `subjects.pairs`, `subjects.turns`, `turns.TurnScores`.
"""

"""Episodes of the environment `sotopia`.

| module | what it holds |
|---|---|
| `episode` | a conversation, its partner, and what each seat observes: `Episode` |
| `partners` | partners of one agent, by rules, behind an endpoint, from a record |
| `published` | verifiers and rule-based partners of published scenarios |
| `judges` | scores of a program or a model, and rewards: `Judged` |
| `report` | what is told at the end: `report` |
| `records` | conversations for exports and for judging later: `record_of`, `keep` |

Names for other packages: `episode.Episode`, `episode.agreed`, `judges.Judged`, `judges.judged_by`,
`judges.unjudged`, `judges.verified`, `partners.Partner`, `partners.check_recorded`, `records.FORMAT`,
`records.episode_log_of`, `records.keep`, `records.record_of`, `report.mix_of`, `report.report`.
"""

"""Episodes of the environment `sotopia`.

| module | what it holds |
|---|---|
| `episode` | a conversation, its partner, and what each seat observes: `Episode` |
| `partners` | partners of one agent, by rules, behind an endpoint, from a record |
| `policies` | partner that is a served policy: `PolicyPartner` |
| `messages` | what agents read, and how their messages are read |
| `published` | verifiers and rule-based partners of published scenarios |
| `judges` | scores of a program, a model or a record, and rewards: `Judged` |
| `report` | what is told at the end: `report` |
| `records` | conversations for exports and for judging later: `record_of`, `keep` |

Names for other packages: `episode.Episode`, `episode.agreed`, `judges.Judged`, `judges.judged_by`,
`judges.recorded`, `judges.unjudged`, `judges.verified`, `messages.action_in`, `messages.refused`,
`partners.Partner`, `partners.check_recorded`, `records.FORMAT`, `records.episode_log_of`, `records.keep`,
`records.record_of`, `report.mix_of`, `report.report`.
"""

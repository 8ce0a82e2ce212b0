"""Judges of items: rules, a model behind an endpoint, recorded judgements.

| module | what it holds |
|---|---|
| `interface` | what a judge does: `ItemJudge` |
| `rules` | the verifier of goals that a program can check: `RuleJudge` |
| `endpoint` | a model behind an OpenAI-compatible endpoint: `EndpointJudge` |
| `replay` | recorded judgements: `ReplayJudge` |
| `names` | judges by name, such as `openai:NAME`: `judge_named` |

Names for other packages: `endpoint.EndpointJudge`, `endpoint.instructions`, `endpoint.listed`,
`endpoint.reasons_in`, `endpoint.scores_form`, `interface.ItemJudge`, `names.ModelSettings`,
`names.judges_named`, `names.read_prices`, `replay.recorded_scores`.
"""

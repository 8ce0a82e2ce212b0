"""Judgements of conversations and transcripts by rules, models and records.

| module | what it holds |
|---|---|
| `items` | what is judged: `Item` |
| `dimension_sets` | what is scored: `DimensionSet`, `dimensions_of` |
| `outcomes` | scores, or a failure without any: `Judgement`, `Opinion` |
| `judges` | judges by rules, by models, by records |
| `panel` | several judges: `Panel` |
| `aggregation`, `agreement` | means, medians, spreads; how far judges agree |
| `kappa` | Cohen's kappa of two raters |
| `summary` | figures of several judgements |
| `conversations` | profiles of recorded conversations |
| `files`, `batch` | judgements of a file, and their resumption |

Names for other packages: `aggregation.Aggregate`, `agreement.alpha`, `batch.judge_entries`,
`conversations.Conversations`, `dimension_sets.DimensionSet`, `dimension_sets.read_dimensions`,
`files.read_entries`, `items.Item`, `items.Transcript`, `kappa.Kappa`, `kappa.cohens_kappa`,
`outcomes.Failed`, `outcomes.Judgement`, `outcomes.Ok`, `outcomes.Scores`, `outcomes.Usage`,
`outcomes.counted`, `panel.Asked`, `panel.Panel`, `panel.described_judges`, `summary.Summary`,
`summary.summary`.
"""

"""Structure of gold queries, from their text: tokens, clauses, aliases.

Only golds are read so: a prediction is executed, and never analysed.

Names for other packages: `clauses.COMPOUNDS`, `clauses.Select`, `clauses.Tokens`, `clauses.Unreadable`,
`clauses.read`, `clauses.split`, `conditions.Binding`, `conditions.COMPARISONS`, `conditions.Join`,
`conditions.aliases`, `conditions.bindings`, `conditions.joins`, `extremes.Name`, `extremes.least`,
`tokens.Token`, `tokens.joined`, `tokens.tokens`.
"""

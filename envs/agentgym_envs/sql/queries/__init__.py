"""Structure of gold queries, from their text: tokens, clauses, aliases.

Only golds are read so: a prediction is executed, and never analysed.

Names for other packages: `clauses.Select`, `clauses.read`, `conditions.bindings`, `tokens.Token`,
`tokens.joined`, `tokens.tokens`.
"""

"""Controllers of settings that adapt during a run, and diagnostics of updates.

Names for other packages: `collapse.WATCHED`, `collapse.collapsed`, `controllers.kl_coefficient`,
`controllers.price_figures`, `controllers.turns_allowed`, `diagnostics.remarks`,
`lagrange_multipliers.Prices`, `seat_means.RunSeatMeans`.
"""

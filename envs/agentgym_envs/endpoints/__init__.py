"""Models behind OpenAI-compatible endpoints, for partners, users and judges of environments. Needs httpx.

A request that fails, or whose answer cannot be used, is repeated a bounded number of times. Then it is an
`EndpointFault`: the episode fails, and is no reward.

Names for other packages: `budget.Budget`, `budget.shared_budget`, `cache.AnswerCache`, `cache.SHARED`,
`cache.StoredCache`, `client.ChatClient`, `client.Message`, `figures.Figures`, `records.Endpoint`,
`records.EndpointFault`, `records.Function`, `records.Said`, `records.SampledToken`.
"""

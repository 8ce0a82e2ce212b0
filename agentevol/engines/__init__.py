"""Inference engines that serve a policy's weights, and policies without weights.

Names for other packages: `check.CONTEXT`, `check.SLOTS`, `check.check_engine`, `endpoint.Endpoint`,
`endpoint.key_from`, `interfaces.EngineFactory`, `interfaces.TokenEngine`, `interfaces.TokenPolicy`,
`openai.MAX_NEW_TOKENS`, `openai.OpenAIPolicy`, `openai.PREFIX`, `openai.Usage`, `openai.openai_policy`,
`scripted.ExpertPolicy`, `scripted.RenderedPolicy`, `scripted.SCRIPTED`, `scripted.said`,
`scripted.scripted_policy`.
"""

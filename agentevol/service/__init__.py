"""Policy service: an OpenAI-compatible endpoint that records its samples as token ids.

app (ASGI: routes, tokens, errors) -> service (one engine) -> sessions -> episodes in a table
body -> chat_request -> template (ids) -> engine -> record -> replies

Names for other packages: `serve.serve`, `settings.BODY_BYTES`, `settings.ServiceSettings`.
"""

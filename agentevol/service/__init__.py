"""The policy service: an OpenAI-compatible endpoint that records what it sampled, token for token.

app (ASGI: routes, tokens, errors) -> service (one engine) -> sessions -> episodes in a table
body -> chat_request -> template (ids) -> engine -> record -> replies
"""

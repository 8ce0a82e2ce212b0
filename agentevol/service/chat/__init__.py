"""Chat completion format: messages, requests, tools and the chat template.

Names for other packages: `messages.ChatMessage`, `request.ChatRequest`, `request.Rules`,
`request.parse_chat`, `template.ChatTemplate`, `tools.parse_reply`.
"""

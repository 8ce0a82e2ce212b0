"""Chat completion format: messages, requests, tools and the chat template."""

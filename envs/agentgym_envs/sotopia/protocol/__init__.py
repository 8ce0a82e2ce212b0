"""Sotopia's protocol without models, Redis or the package `sotopia`: pure functions and one state machine.

Prompts, observations and records are byte for byte those of `sotopia` 0.1.5 (MIT), except where that package
loses or changes text (see `conversation` and `judgement`).

Names for other packages: `actions.Action`, `actions.NOTHING`, `actions.ReplyError`, `actions.from_json`,
`actions.from_text`, `conversation.COMMENTS`, `conversation.Conversation`, `conversation.EndReason`,
`conversation.Rules`, `dimensions.SOTOPIA`, `profiles.AgentProfile`, `profiles.EnvironmentProfile`,
`profiles.Scene`, `views.VIEWS`, `views.View`, `views.background`.
"""

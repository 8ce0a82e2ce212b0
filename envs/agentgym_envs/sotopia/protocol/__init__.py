"""Sotopia's protocol without models, Redis or the package `sotopia`: pure functions and one state machine.

Prompts, observations and records are byte for byte those of `sotopia` 0.1.5 (MIT), except where that package
loses or changes text (see `conversation` and `judgement`).

Names for other packages: `actions.ACTION_TYPES`, `actions.Action`, `actions.ActionType`, `actions.LEFT`,
`actions.NOTHING`, `actions.ReplyError`, `actions.from_json`, `actions.from_text`,
`conversation.Conversation`, `conversation.EndReason`, `conversation.Mask`, `conversation.Order`,
`conversation.Rules`, `conversation.StaleRule`, `conversation.TurnError`, `conversation.masks`,
`conversation.told`, `dimensions.Dimension`, `dimensions.SOTOPIA`, `dimensions.judgement_format`,
`dimensions.judgement_schema`, `dimensions.overall`, `episode_log.episode_log`, `judgement.Judgement`,
`judgement.JudgementError`, `judgement.read_judgement`, `markup.shown_to`, `profiles.AgentProfile`,
`profiles.EnvironmentProfile`, `profiles.Profile`, `profiles.Scene`, `prompts.ACTION_FORMAT`,
`prompts.ACTION_SCHEMA`, `prompts.agent_prompt`, `prompts.judge_prompt`, `views.UNKNOWN`,
`views.View`, `views.background`, `views.judge_background`.
"""

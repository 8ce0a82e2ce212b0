"""Sotopia's protocol without models, Redis or the package `sotopia`: pure functions and one state machine.

Prompts, observations and records are byte for byte those of `sotopia` 0.1.5 (MIT), except where that package
loses or changes text (see `conversation` and `judgement`).
"""

"""Configuration sections of rewards: `reward` (scores of episodes), `process` (values of states) and
`shaping` (additional rewards of turns), with the registries of the objects that they name.
"""

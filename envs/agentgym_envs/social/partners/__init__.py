"""Common parts of the rule-based partners of all families: temperaments, and their words.

Names for other packages: `temperament.Temperament`, `temperament.drawn_temperament`, `temperament.rounded`,
`voice.Voice`.
"""

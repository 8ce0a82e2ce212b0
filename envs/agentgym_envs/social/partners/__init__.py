"""What rule-based partners of all families share: temperaments, and their words.

Names for other packages: `temperament.Temperament`, `temperament.drawn_temperament`, `temperament.rounded`,
`voice.Voice`.
"""

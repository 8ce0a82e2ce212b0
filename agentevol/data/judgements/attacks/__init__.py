"""Attacks on judges: texts in a transcript that ask for a high score, and how far they move scores.

| module | what it holds |
|---|---|
| `texts` | the attack set: `ATTACKS`, `attacked` |
| `measurement` | judgements with and without each attack: `measured` |

Names for other packages: `measurement.Movement`, `measurement.measured`, `texts.ATTACKS`.
"""

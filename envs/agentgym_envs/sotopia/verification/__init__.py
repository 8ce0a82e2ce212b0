"""Verification of the scenarios whose goals a program can check, without a judge.

| module | what it holds |
|---|---|
| `verifier` | the goal of a scene, and the scores of a conversation: `verifiable`, `verify` |
| `verdict` | scores or the reason why there are none: `Verdict`, `Scores`, `GoalKind` |
| `price`, `split`, `friends` | goals of the three sources: `PriceGoal`, `SplitGoal`, `FriendsGoal` |
| `deals` | agreements by moves |
| `speech` | what was said in plain words: sentences, acceptance, numbers |

The scores are those of a program, not of Sotopia's judge, and no measure of social intelligence.

Names for other packages: `friends.FriendsGoal`, `friends.MOST_NAMES`, `price.PriceGoal`, `speech.Log`,
`split.SplitGoal`, `verifier.Reading`, `verifier.verifiable`, `verifier.verify`.
"""

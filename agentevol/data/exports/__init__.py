"""Export formats that need the learners' code: preference pairs, labels, conversations of Sotopia."""

"""What rule-based partners of all families share: temperaments, and their words."""

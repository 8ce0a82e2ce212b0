"""What acts: engines and policies without weights."""

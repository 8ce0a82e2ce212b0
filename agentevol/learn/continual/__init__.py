"""Continual learning: EWC, distillation, replay sampling, interpolation, and measures of forgetting."""

"""Advantage estimators and reward shaping."""

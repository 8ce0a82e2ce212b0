"""Batches: training sequences packed without padding, divided into steps, and assembled for losses."""

"""Pages that compare: two episodes turn by turn, and runs with intervals.

Names for other packages: `routes`.
"""

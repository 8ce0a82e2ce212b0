"""Statements in a process of their own, for whose memory that of other statements does not count.

Names for other packages: `process.executed_alone`.
"""

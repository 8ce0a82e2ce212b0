"""MCP dialect (Model Context Protocol): tool calls of a session over one endpoint.

Names for other packages: `endpoint`.
"""

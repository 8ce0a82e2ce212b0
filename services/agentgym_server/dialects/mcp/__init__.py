"""MCP dialect (Model Context Protocol): tool calls of a session over one endpoint."""

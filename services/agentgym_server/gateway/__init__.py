"""Gateway: one address for many servers, with routing, supervision and the Compose file.

Names for other packages: `compose.text`, `serve.serve_children`, `serve.serve_gateway`, `supervisor.Role`.
"""

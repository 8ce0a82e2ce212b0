"""The native wire format: REST routes, operations by name, and the WebSocket lane over one session table.

Names for other packages: `auth.Guard`, `auth.RANKS`, `auth.Scope`, `auth.unauthorized`, `endpoints.Call`,
`endpoints.ENDPOINTS`, `endpoints.Endpoint`, `endpoints.UNAVAILABLE`, `endpoints.preferred_wait_s`,
`exposition.counter`, `exposition.histogram`, `exposition.traffic`, `gate.Gate`, `gate.MAX_REQUEST_ID`,
`gate.MOUNTS`, `gate.NO_STORE`, `gate.deny`, `gate.is_json`, `gate.need`, `gate.other_method`,
`gate.read_body`, `gate.respond`, `limits.Bucket`, `openapi`, `operations.Item`, `operations.OPERATIONS`,
`operations.batch_items`, `operations.batch_reply`, `operations.is_wait`, `operations.refused`,
`replies.Shown`, `replies.maybe`, `websocket`, `websocket.Lane`, `websocket.SUBPROTOCOL`.
"""

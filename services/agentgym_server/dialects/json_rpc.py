"""Error codes of JSON-RPC 2.0 (https://www.jsonrpc.org/specification, section 5.1)."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

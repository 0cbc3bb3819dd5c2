"""The revisions of MCP, by their names. Nothing of the SDK is imported for them: a client is greeted before that."""

SEED = "2024-11-05"
# The one revision whose receivers must take several messages at once.
BATCHES = "2025-03-26"
LATEST_WITH_HANDSHAKE = "2025-11-25"
WITH_HANDSHAKE = (SEED, BATCHES, "2025-06-18", LATEST_WITH_HANDSHAKE)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
VERSION_HEADER = b"mcp-protocol-version"

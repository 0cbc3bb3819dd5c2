"""The revisions of MCP, by their names. Nothing of the SDK is imported for them: a client is greeted before that."""

SEED = "2024-11-05"
# The one revision whose receivers must take several messages at once.
BATCHES = "2025-03-26"
LATEST_WITH_HANDSHAKE = "2025-11-25"
WITH_HANDSHAKE = (SEED, BATCHES, "2025-06-18", LATEST_WITH_HANDSHAKE)
# Those whose requests say their own revision.
WITHOUT_SESSIONS = ("2026-07-28",)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
VERSION_HEADER = b"mcp-protocol-version"

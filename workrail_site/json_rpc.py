"""The codes of errors in JSON-RPC, and the words that belong to them."""

from collections.abc import Mapping
from enum import IntEnum


class RpcCode(IntEnum):
    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    SERVER = -32000
    HEADER_MISMATCH = -32020


RPC_WORDS: Mapping[int, str] = {
    RpcCode.PARSE_ERROR: "Parse error",
    RpcCode.INVALID_REQUEST: "Invalid Request",
    RpcCode.METHOD_NOT_FOUND: "Method not found",
    RpcCode.INVALID_PARAMS: "Invalid params",
    RpcCode.INTERNAL: "Internal error",
    RpcCode.SERVER: "Server error",
    RpcCode.HEADER_MISMATCH: "Header mismatch",
}

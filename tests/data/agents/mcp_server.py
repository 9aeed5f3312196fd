"""An operator's own MCP server: `python mcp_server.py LOG` notes each method that it is called with.

Its one tool says of itself that it only reads, which some programs take as leave to call it.
"""

from __future__ import annotations

import json
import sys

TOOL = {
    "name": "echo",
    "description": "Echo a text.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
}


def result(message: dict) -> dict:
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            about = {"name": "mine", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "echo"}]}
        case _:
            return {}


if __name__ == "__main__":
    with open(sys.argv[1], "a", encoding="utf-8") as log:
        for line in sys.stdin:
            message = json.loads(line)
            print(message.get("method"), file=log, flush=True)
            if "id" in message:
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message)}
                print(json.dumps(answer), flush=True)

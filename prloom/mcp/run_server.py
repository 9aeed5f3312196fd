"""Serve the tools of one run to its agent: an MCP server on standard input and output."""

from __future__ import annotations

import json
import secrets
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from prloom import __version__
from prloom.agents import mcp_server
from prloom.agents.mcp_server import Access
from prloom.engine.host_socket import published_socket
from prloom.errors import PrloomError
from prloom.mcp import stdio
from prloom.mcp.dispatcher_client import DispatcherClient
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir


class RunServer:
    """Passes an agent's requests on to the dispatcher.

    `failure` says why the agent has no tools: the dispatcher could not be asked for them, or refused.
    """

    def __init__(self, client: DispatcherClient) -> None:
        self.failure: str | None = None
        self._client = client

    async def list_tools(self, ctx: object, params: object) -> types.ListToolsResult:
        """Return the tools of the run."""
        try:
            found = await self._result_of("listTools")
        except MCPError as error:
            self.failure = error.message
            raise
        self.failure = None
        return types.ListToolsResult(tools=[_tool(each) for each in found])

    async def call_tool(self, ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Return what a call comes to; an error of the dispatcher is one of the tool."""
        key = secrets.token_hex(8)
        asked = {"key": key, "name": params.name, "arguments": params.arguments or {}}
        try:
            return called(await self._client.request("callTool", asked))
        except PrloomError as error:
            return called({"success": False, "error": str(error), "output": "", "data": None, "error_type": "other"})
        except anyio.get_cancelled_exc_class():
            self._client.notify("cancelCall", {"key": key})
            raise

    async def list_prompts(self, ctx: object, params: object) -> types.ListPromptsResult:
        """Return the skills of the plugins as prompts."""
        found = await self._result_of("listSkills")
        prompts = [types.Prompt(name=each["name"], description=each["description"] or None) for each in found]
        return types.ListPromptsResult(prompts=prompts)

    async def get_prompt(self, ctx: object, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return the text of a skill."""
        text = await self._result_of("readSkill", params.name)
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def list_resources(self, ctx: object, params: object) -> types.ListResourcesResult:
        """Return the skills of the plugins as resources."""
        found = await self._result_of("listSkills")
        listed = [
            types.Resource(
                uri=each["uri"], name=each["name"], description=each["description"] or None, mime_type="text/markdown"
            )
            for each in found
        ]
        return types.ListResourcesResult(resources=listed)

    async def read_resource(self, ctx: object, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return the text of a skill."""
        text = await self._result_of("readSkill", str(params.uri))
        content = types.TextResourceContents(uri=str(params.uri), mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[content])

    async def _result_of(self, method: str, params: Json = None) -> Json:
        """Return what the dispatcher answers; raises MCPError, with which the client is answered."""
        try:
            return await self._client.request(method, params)
        except PrloomError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error


def called(result: dict[str, Json]) -> types.CallToolResult:
    """Return a result as MCP has it: the text is the output or the error, and the data follow as JSON.

    Some programs show the model the texts only, others the structured content only.
    """
    texts = [str(result["output"] if result["success"] else result["error"])]
    if result["data"] is not None:
        texts.append(json.dumps(result["data"], ensure_ascii=False))
    content: list[Any] = [types.TextContent(type="text", text=text) for text in texts]
    return types.CallToolResult(content=content, structured_content=result, is_error=not result["success"])


def _tool(listed: dict[str, Json]) -> types.Tool:
    description = str(listed["description"]).strip()
    if listed["requiresConfirmation"]:
        if description and description[-1] not in ".!?":
            description += "."
        description = f"{description} A person has to allow each call.".strip()
    return types.Tool(name=listed["name"], description=description, input_schema=listed["schema"])


def serve(run: str, access: Access, root: Path) -> None:
    """Serve the tools of a run until the agent's program closes standard input; raises PrloomError if it got none.

    `root` is the checkout that the run belongs to.
    """
    anyio.run(_serve, run, access, root)


def _find_socket(access: Access, root: Path) -> str:
    """Return the path of the socket of the dispatcher that runs now, which may have another runtime folder.

    That of the dispatcher that began the run is taken where none is published, as on another machine.
    """
    try:
        local = SafeDir.open(root, *paths.LOCAL)
        if local is not None:
            with local:
                return published_socket.find(local)
    except (OSError, PrloomError):
        pass
    return access.socket


async def _serve(run: str, access: Access, root: Path) -> None:
    client = DispatcherClient(partial(_find_socket, access, root), {"run": run, "token": access.token})
    tools = RunServer(client)
    server: Server[Any] = Server(
        mcp_server.NAME,
        version=__version__,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_prompts=tools.list_prompts,
        on_get_prompt=tools.get_prompt,
        on_list_resources=tools.list_resources,
        on_read_resource=tools.read_resource,
    )
    try:
        await stdio.serve(server)
    finally:
        await client.close()
    if tools.failure is not None:
        raise PrloomError(f"run {run} got no tools: {tools.failure}")

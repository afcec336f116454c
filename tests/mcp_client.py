"""Lists and calls every tool of 'git shiftlog mcp' with the protocol's own Python SDK, 1.x or 2.x.

Usage: mcp_client.py <git-shiftlog> <repository with a recorded commit at HEAD>
"""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

ARGUMENTS = {
    "shiftlog_search": {"query": "reconnect"},
    "shiftlog_why": {"path": "reconnect.py", "line": 12},
    "shiftlog_get_conversation": {"commit_sha": "HEAD"},
    "shiftlog_list_keys": {"path": "[conversation][HEAD]"},
    "shiftlog_get_value": {"path": "[conversation][HEAD][messages][0][text]"},
}


def is_error(result):
    return getattr(result, "isError", getattr(result, "is_error", None))


async def main(program, repository):
    server = StdioServerParameters(command=program, args=["mcp"], cwd=repository)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        for tool in tools:
            result = await session.call_tool(tool.name, ARGUMENTS.get(tool.name, {}))
            assert not is_error(result), (tool.name, result)
        refused = await session.call_tool("shiftlog_get_conversation", {"commit_sha": "nope"})
        assert is_error(refused), refused
        resources = (await session.list_resources()).resources
        assert (await session.read_resource(resources[0].uri)).contents[0].text
        prompts = (await session.list_prompts()).prompts
        assert (await session.get_prompt(prompts[0].name, {"commit": "HEAD"})).messages
        print(f"{len(tools)} tools, {len(resources)} resources, {len(prompts)} prompts: all answered")


asyncio.run(main(*sys.argv[1:]))

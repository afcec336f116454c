"""Lists and calls every tool of 'git shiftlog mcp' with the protocol's own Python SDK, 1.x or 2.x.

Usage: mcp_client.py <git-shiftlog> <repository with a recorded commit at HEAD>
"""

import asyncio
import json
import pathlib
import shutil
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


def write_arch(index, name):
    """Replaces arch.json in one step, as 'git shiftlog index scan' does."""
    module = {"name": name, "description": "", "interfaces": ""}
    new = index / "new"
    new.write_text(json.dumps({"modules": [module], "relationships": ""}))
    new.replace(index / "arch.json")


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
        index = pathlib.Path(repository, ".memo/index")
        index.mkdir(parents=True)
        for name in ("before", "after"):
            write_arch(index, name)
            found = await session.call_tool("memo_get_value", {"path": "[arch][modules][0][name]"})
            assert json.loads(json.loads(found.content[0].text)["value"]) == name, found
        # Another run finds the repository as this one did.
        shutil.rmtree(index.parent)
        print(f"{len(tools)} tools, {len(resources)} resources, {len(prompts)} prompts: all answered")


asyncio.run(main(*sys.argv[1:]))

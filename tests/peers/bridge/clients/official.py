# The official Python client: both forms of the result, since a host may hand on either.
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters

bridge, conversation = sys.argv[1:3]

async def main():
    async with Client(StdioServerParameters(command=bridge, env=dict(os.environ))) as client:
        result = await client.call_tool("get_conversation", {"id": conversation})
        print(result.content[0].text)
        print(json.dumps(result.structured_content, ensure_ascii=False))

asyncio.run(main())

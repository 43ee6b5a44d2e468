# The LangChain adapters: the message that goes to the model for the call of a tool.
import asyncio, json, os, sys
from langchain_mcp_adapters.client import MultiServerMCPClient

bridge, conversation = sys.argv[1:3]

async def main():
    server = {"transport": "stdio", "command": bridge, "args": [], "env": dict(os.environ)}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"inbox": server}).get_tools()}
    call = {"type": "tool_call", "id": "1", "name": "get_conversation", "args": {"id": conversation}}
    message = await tools["get_conversation"].ainvoke(call)
    content = message.content
    print(content if isinstance(content, str) else "\n".join(block.get("text", json.dumps(block)) for block in content))

asyncio.run(main())

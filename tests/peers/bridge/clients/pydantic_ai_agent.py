# Pydantic AI: a model that calls the tool once, and gives back what the framework hands it for the answer.
import asyncio, os, sys
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

bridge, conversation = sys.argv[1:3]
seen = []

def model(messages, info):
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            seen.append(part.model_response_str())
            return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("get_conversation", {"id": conversation})])

async def main():
    toolset = MCPToolset(StdioTransport(bridge, [], env=dict(os.environ)))
    async with Agent(FunctionModel(model), toolsets=[toolset]) as agent:
        await agent.run("Read it.")
    print(seen[0])

asyncio.run(main())

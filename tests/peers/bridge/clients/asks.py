# The official Python client in either era: what it lists and reads, and what it makes of the question about an email.
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

bridge, mode, says, conversation = sys.argv[1:5]
asked = []

async def elicit(context, params):
    asked.append(params.message)
    await asyncio.sleep(1.1)  # An answer within a second is nobody's.
    if says == "yes":
        return ElicitResult(action="accept", content={"send": True})
    return ElicitResult(action="decline" if says == "no" else "cancel")

async def main():
    server = StdioServerParameters(command=bridge, env=dict(os.environ))
    callback = None if says == "cannot" else elicit
    async with Client(server, mode=mode, elicitation_callback=callback) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        read = await client.call_tool("get_conversation", {"id": conversation})
        sent = await client.call_tool("reply", {"id": conversation, "body": "From Python", "send": True})
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        resource = await client.read_resource("inbox://mailboxes")
        print(json.dumps({
            "tools": tools, "asked": asked, "prompts": prompts, "resource": resource.contents[0].text,
            "read": read.content[0].text, "subject": read.structured_content["subject"],
            "error": bool(sent.is_error), "said": sent.content[0].text,
            "status": (sent.structured_content or {}).get("status"),
        }))

asyncio.run(main())

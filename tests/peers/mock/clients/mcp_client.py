"""Lists and calls tools with the official client: a job comes in on stdin, what came back goes out on stdout."""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    job = json.load(sys.stdin)
    headers = {"Authorization": f"Bearer {job['key']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        async with Client(streamable_http_client(job["url"], http_client=http), mode=job["mode"]) as client:
            listed = await client.list_tools()
            results = []
            for call in job["calls"]:
                # The client itself holds a structured result against the tool's output schema.
                result = await client.call_tool(call["name"], call["arguments"])
                results.append(result.model_dump(mode="json", by_alias=True))
            json.dump(
                {
                    "protocolVersion": client.protocol_version,
                    "tools": [tool.name for tool in listed.tools],
                    "results": results,
                },
                sys.stdout,
            )


asyncio.run(main())

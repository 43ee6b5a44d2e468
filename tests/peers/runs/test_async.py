"""A webhook receiver in the event loop of the test."""

import asyncio

from shared_inbox_mock import NotMet


def test_a_receiver_in_the_loop_of_the_test_gets_its_event(shared_inbox_async):
    asyncio.run(receive(shared_inbox_async))


async def receive(world):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as receiver:
        port = receiver.sockets[0].getsockname()[1]
        hook = {"url": f"http://127.0.0.1:{port}/", "livemode": True, "scope": "team", "events": ["client.replied"]}
        await world.control.create_webhook(hook)
        mail = {"to": await world.inbox(), "from": "vera@customer.example", "text": "Hello?"}
        first = await world.control.inbound(mail)
        await world.control.inbound({**mail, "conversationId": first["conversationId"]})
        await world.control.expect({"of": "deliveries", "where": {"outcome": "delivered"}, "count": 1, "withinSeconds": 60})
    try:
        await world.control.expect({"of": "outbox", "where": {"text": "never"}})
    except NotMet:
        assert await world.journal() == "The app asked for nothing."
    else:
        raise AssertionError("it was met")

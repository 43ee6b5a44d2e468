"""Calls through the client that openapi-python-client made from the document."""

import sys
from http import HTTPStatus

from inbox import AuthenticatedClient
from inbox.api.conversations import add_note, get_conversation, list_conversations, tag_conversation
from inbox.api.documents import search_documents
from inbox.api.replies import reply
from inbox.api.workspace import me
from inbox.models import ListConversationsView as View
from inbox.models import AddNoteBody, Conversation, Error, Message, Note, ReplyBody, ReplyResult, TagConversationBody, TimelineEvent

base_url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=key)

assert me.sync(client=client).livemode is True
found = list_conversations.sync(client=client)
assert found and all(summary.message_count >= 1 for summary in found)
made = add_note.sync_detailed(found[0].id, client=client, body=AddNoteBody(body="Refund is approved"))
assert made.status_code == HTTPStatus.CREATED and made.parsed.ok
tag_conversation.sync(found[0].id, client=client, body=TagConversationBody(add=["refund"], remove=[]))
drafted = reply.sync(found[0].id, client=client, body=ReplyBody(body="On its way.", summary="Says so"))
assert isinstance(drafted, ReplyResult) and drafted.status == "draft", drafted

kinds = set()
for view in (View.OPEN, View.WAITING, View.CLOSED):
    for summary in list_conversations.sync(client=client, view=view):
        read = get_conversation.sync(summary.id, client=client)
        assert isinstance(read, Conversation), read
        for item in read.timeline:
            assert isinstance(item, (Message, Note, TimelineEvent)), item
            kinds.add(type(item))
            if isinstance(item, TimelineEvent) and item.event == "tags":
                assert item.data["added"] == ["refund"] or item.data["added"] is not None
assert kinds == {Message, Note, TimelineEvent}, kinds
assert isinstance(search_documents.sync(client=client), list)
refused = add_note.sync(found[0].id, client=client, body=AddNoteBody(body=""))
assert isinstance(refused, Error) and refused.error.startswith("body:"), refused
print("all calls went well")

// Calls through the client that openapi-ts made from the document.
import { addNote, getConversation, listConversations, me, reply } from './inbox';
import { client } from './inbox/client.gen';
import type { ClientRepliedEvent, Conversation, TimelineEvent } from './inbox';

function assert(holds: unknown, what: unknown): asserts holds {
  if (!holds) throw new Error(`not so: ${JSON.stringify(what)}`);
}

// Only that it compiles: an event has data of its own kind.
export const referenceOf = (event: ClientRepliedEvent): string | undefined => event.data.reference;

declare const process: { argv: string[]; exit(status: number): void };

async function main() {
  const [baseUrl, key] = process.argv.slice(2);
  client.setConfig({ baseUrl, auth: () => key });
  const self = await me();
  assert(self.data?.livemode === true, self);
  const found = await listConversations({ query: { view: 'open', limit: 5 } });
  assert(found.data && found.data.length > 0, found);
  const id = found.data[0].id;
  const noted = await addNote({ path: { id }, body: { body: 'Refund is approved' } });
  assert(noted.data?.ok, noted);
  const drafted = await reply({ path: { id }, body: { body: 'On its way.', documents: [{ label: 'Passport' }] } });
  assert(drafted.data?.status === 'draft', drafted);
  const read = await getConversation({ path: { id } });
  const conversation: Conversation | undefined = read.data;
  assert(conversation, read);
  for (const item of conversation.timeline) {
    switch (item.type) {
      case 'message': assert(typeof item.text === 'string', item); break;
      case 'note': assert(item.author.length > 0, item); break;
      case 'event': { const event: TimelineEvent = item; assert(event.data, event); }
    }
  }
  assert(conversation.timeline.some((item) => item.type === 'note' && item.body === 'Refund is approved'), conversation);
  const refused = await addNote({ path: { id }, body: { body: '' } });
  assert(refused.error && refused.error.error.startsWith('body:'), refused);
  console.log('all calls went well');
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

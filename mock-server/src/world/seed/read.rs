//! Reading a world from its document, so that a document which is put again and again takes up its room once.

use std::fmt;

use serde::{
    Deserialize, Deserializer as _,
    de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::world::{
    World,
    conversation::ConversationRecord,
    documents::FiledDocument,
    store::{Like, Shared},
};

impl World {
    /// Reads a document. What `like` has in the same place is kept once, from the moment that it is read: it never
    /// takes up twice the room.
    pub(crate) fn read(document: &[u8], like: &World) -> serde_json::Result<World> {
        let mut json = serde_json::Deserializer::from_slice(document);
        let world = json.deserialize_map(Reader(like))?;
        json.end()?;
        Ok(world)
    }
}

struct Reader<'w>(&'w World);

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = World;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<World, A::Error> {
        let (mut conversations, mut documents) = (None, None);
        let fields =
            Fields { map, like: self.0, conversations: &mut conversations, documents: &mut documents };
        let world = World::deserialize(MapAccessDeserializer::new(fields))?;
        let (conversations, documents) = (conversations.unwrap_or_default(), documents.unwrap_or_default());
        Ok(World { conversations, documents, ..world })
    }
}

/// The fields of a document, without the two long lists, which are put aside.
struct Fields<'a, A> {
    map: A,
    like: &'a World,
    conversations: &'a mut Option<Shared<ConversationRecord>>,
    documents: &'a mut Option<Shared<FiledDocument>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.map.next_key::<String>()? {
            match name.as_str() {
                "conversations" => {
                    let read = self.map.next_value_seed(Like(&self.like.conversations))?;
                    once(self.conversations.replace(read), "conversations")?;
                }
                "documents" => {
                    let read = self.map.next_value_seed(Like(&self.like.documents))?;
                    once(self.documents.replace(read), "documents")?;
                }
                _ => return seed.deserialize(name.into_deserializer()).map(Some),
            }
        }
        Ok(None)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

fn once<T, E: Error>(before: Option<T>, name: &'static str) -> Result<(), E> {
    if before.is_some() { Err(E::duplicate_field(name)) } else { Ok(()) }
}

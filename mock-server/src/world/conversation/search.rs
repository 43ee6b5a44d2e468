//! Full-text search for words and prefixes, ignoring case, accents and Unicode normalization.
//!
//! A dictionary finds the few items that may have a rare word; for common words the list is scanned newest
//! first. Either way the item's own words decide whether it matches, so the first page is found soon.
//!
//! The items that a world started with are indexed at the first search, and copies of the world share that
//! index; later items and changes have an index of their own.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Bound,
    sync::{Arc, OnceLock, Weak},
};

use icu_normalizer::DecomposingNormalizerBorrowed;

use crate::world::store::SharedVec;

/// A word in more items than this is too common for the dictionary.
const MAX_POSTINGS: usize = 4_096;
/// Up to this number, items are indexed by the first search itself.
const MAX_READ_INLINE: usize = 1_000;
/// An item with more bytes of different words is long: its further words are not looked up, neither in its
/// own text nor in the dictionary, because an email of some megabytes would hold the world's lock for
/// seconds. Every search looks at it.
const MAX_INDEXED_BYTES: usize = 32 << 10;

/// Returns the words of a text: runs of letters and digits, folded.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && !is_mark(c)).map(fold).filter(|word| !word.is_empty())
}

/// Folds a word for comparison: decomposed, without marks, in lower case, with `ß` and the final sigma as
/// their capitals would be.
fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let apart = DecomposingNormalizerBorrowed::new_nfkd().normalize(word);
    let mut folded = String::with_capacity(apart.len());
    for letter in apart.chars().filter(|c| !is_mark(*c)).flat_map(char::to_lowercase) {
        match letter {
            'ß' => folded.push_str("ss"),
            'ς' => folded.push('σ'),
            _ => folded.push(letter),
        }
    }
    folded
}

/// Returns whether a character is a combining mark of Latin, Greek or Cyrillic script, which people often
/// leave out.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// An item that can be searched.
pub(crate) trait Searchable {
    /// Visits each of its texts.
    fn visit_texts(&self, visit: &mut dyn FnMut(&str));
}

/// The words of one item as one text, each between two line breaks; each once unless the item is long.
#[derive(Debug, Clone)]
struct WordText(String);

impl WordText {
    fn new() -> Self {
        Self("\n".to_owned())
    }

    fn from_item(thing: &impl Searchable) -> Self {
        let mut all = Self::new();
        thing.visit_texts(&mut |text| all.add(text, |_| {}));
        all
    }

    fn is_long(&self) -> bool {
        self.0.len() > MAX_INDEXED_BYTES
    }

    /// Adds the words of a text; visits those that are new, until the item is long.
    fn add(&mut self, text: &str, mut new: impl FnMut(&str)) {
        let mut known: HashSet<Cow<'_, str>> =
            if self.is_long() { HashSet::new() } else { self.words().map(Cow::Borrowed).collect() };
        let mut added = String::new();
        for word in words(text) {
            let is_long = self.0.len() + added.len() > MAX_INDEXED_BYTES;
            if !is_long && known.contains(word.as_str()) {
                continue;
            }
            added.push_str(&word);
            added.push('\n');
            if !is_long {
                new(&word);
                known.insert(Cow::Owned(word));
            }
        }
        self.0.push_str(&added);
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split('\n').filter(|word| !word.is_empty())
    }
}

/// A query: each of its words must be a prefix of some word.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    /// Each with a line break in front.
    needles: Vec<String>,
}

impl Query {
    pub(crate) fn new(text: &str) -> Self {
        Self { needles: words(text).map(|word| format!("\n{word}")).collect() }
    }

    /// Returns whether the words match. A query without words matches nothing.
    fn matches(&self, haystack: &str) -> bool {
        !self.needles.is_empty() && self.needles.iter().all(|needle| haystack.contains(needle.as_str()))
    }
}

/// The items that have or had a word. A common word lists no more than the limit.
type Postings = Vec<u32>;

fn add_posting(postings: &mut Postings, number: u32) {
    if postings.len() <= MAX_POSTINGS && postings.last() != Some(&number) {
        postings.push(number);
    }
}

/// The items that a world started with.
pub(crate) struct SearchBase<T> {
    things: SharedVec<T>,
    read: OnceLock<IndexedWords>,
}

struct IndexedWords {
    /// Sorted by word.
    dictionary: Vec<(Box<str>, Postings)>,
    haystacks: Vec<Box<str>>,
    /// The long items.
    long: Vec<u32>,
}

impl<T: Searchable> SearchBase<T> {
    /// Builds the index, unless it exists.
    pub(crate) fn read(&self) {
        self.words();
    }

    fn words(&self) -> &IndexedWords {
        self.read.get_or_init(|| {
            let mut dictionary = HashMap::<String, Postings>::new();
            let mut long = Vec::new();
            let haystacks = self.things.iter().enumerate().map(|(number, thing)| {
                let haystack = WordText::from_item(thing);
                if haystack.is_long() {
                    long.push(number as u32);
                    return haystack.0.into_boxed_str();
                }
                for word in haystack.words() {
                    match dictionary.get_mut(word) {
                        Some(postings) => add_posting(postings, number as u32),
                        None => drop(dictionary.insert(word.to_owned(), vec![number as u32])),
                    }
                }
                haystack.0.into_boxed_str()
            });
            let haystacks = haystacks.collect();
            let mut dictionary: Vec<(Box<str>, Postings)> =
                dictionary.into_iter().map(|(word, postings)| (word.into(), postings)).collect();
            dictionary.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            IndexedWords { dictionary, haystacks, long }
        })
    }
}

/// The search index of all conversations, or of all documents.
pub(crate) struct SearchIndex<T> {
    base: Arc<SearchBase<T>>,
    /// The words of later items and changes.
    dictionary: BTreeMap<Box<str>, Postings>,
    haystacks: HashMap<u32, WordText>,
    long: BTreeSet<u32>,
}

impl<T> Clone for SearchIndex<T> {
    fn clone(&self) -> Self {
        let (dictionary, haystacks) = (self.dictionary.clone(), self.haystacks.clone());
        Self { base: Arc::clone(&self.base), dictionary, haystacks, long: self.long.clone() }
    }
}

impl<T> Default for SearchIndex<T> {
    fn default() -> Self {
        let base = SearchBase { things: SharedVec::default(), read: OnceLock::new() };
        Self {
            base: Arc::new(base),
            dictionary: BTreeMap::new(),
            haystacks: HashMap::new(),
            long: BTreeSet::new(),
        }
    }
}

/// How to find the results of a search.
pub(crate) enum SearchPlan {
    /// Only these items can match.
    Few(Vec<u32>),
    /// Too many may match: scanning the list newest first is faster.
    Many,
}

impl<T: Searchable> SearchIndex<T> {
    /// Creates an index of these items, which is built on first use.
    pub(crate) fn from_items(things: &SharedVec<T>) -> Self {
        let base = SearchBase { things: things.clone(), read: OnceLock::new() };
        Self { base: Arc::new(base), ..Self::default() }
    }

    /// Returns the base if its index is not built yet and building takes a while.
    pub(crate) fn pending_base(&self) -> Option<Weak<SearchBase<T>>> {
        let unread = self.base.things.len() > MAX_READ_INLINE && self.base.read.get().is_none();
        unread.then(|| Arc::downgrade(&self.base))
    }

    /// Adds a text to an item; `thing` is the item with that text.
    pub(crate) fn add(&mut self, number: usize, thing: &T, text: &str) {
        if number < self.base.things.len() && !self.haystacks.contains_key(&(number as u32)) {
            self.reindex(number, thing);
            return;
        }
        let (number, dictionary) = (number as u32, &mut self.dictionary);
        let haystack = self.haystacks.entry(number).or_insert_with(WordText::new);
        haystack.add(text, |word| match dictionary.get_mut(word) {
            Some(postings) => add_posting(postings, number),
            None => drop(dictionary.insert(word.into(), vec![number])),
        });
        if haystack.is_long() {
            self.long.insert(number);
        }
    }

    /// Indexes an item that has changed or is new.
    pub(crate) fn reindex(&mut self, number: usize, thing: &T) {
        self.haystacks.insert(number as u32, WordText::new());
        thing.visit_texts(&mut |text| self.add(number, thing, text));
    }

    /// Returns whether an item matches a query.
    pub(crate) fn has(&self, number: usize, query: &Query) -> bool {
        match self.haystacks.get(&(number as u32)) {
            Some(haystack) => query.matches(&haystack.0),
            None => self.base.words().haystacks.get(number).is_some_and(|haystack| query.matches(haystack)),
        }
    }

    /// Chooses how to find a page of `page` results among `all` items.
    pub(crate) fn plan(&self, query: &Query, page: usize, all: usize) -> SearchPlan {
        // With m matches among n items, a scan finds a page after about page * n / m steps, and the
        // dictionary after m.
        let most = (page * all).isqrt().max(page);
        let few = query.needles.iter().filter_map(|needle| self.starting_with(&needle[1..], most));
        match few.min_by_key(Vec::len) {
            Some(found) => SearchPlan::Few(found),
            None if query.needles.is_empty() => SearchPlan::Few(Vec::new()),
            None => SearchPlan::Many,
        }
    }

    /// Returns the items that have or had a word with this prefix and the long ones, unless they are more
    /// than `most`.
    fn starting_with(&self, beginning: &str, most: usize) -> Option<Vec<u32>> {
        let IndexedWords { dictionary: started, long, .. } = self.base.words();
        let from = started.partition_point(|(word, _)| **word < *beginning);
        let started = started[from..].iter().map(|(word, postings)| (&**word, postings));
        let since = self.dictionary.range::<str, _>((Bound::Included(beginning), Bound::Unbounded));
        let since = since.map(|(word, postings)| (&**word, postings));
        let begins = |(word, _): &(&str, &Postings)| word.starts_with(beginning);
        let mut found: Vec<u32> = long.iter().chain(&self.long).copied().collect();
        for (_, postings) in started.take_while(begins).chain(since.take_while(begins)) {
            if postings.len() > MAX_POSTINGS || found.len() + postings.len() > most {
                return None;
            }
            found.extend_from_slice(postings);
        }
        found.sort_unstable();
        found.dedup();
        (found.len() <= most).then_some(found)
    }
}

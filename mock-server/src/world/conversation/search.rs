//! Full-text search: words and beginnings of words, whatever their case, their accents and the way in which Unicode
//! writes them.
//!
//! Two structures answer together. A dictionary finds the few that may have a rare word. For common words the list is
//! walked newest first. Either way the thing's own words say whether it matches, so the first page comes soon.
//!
//! What a world started with is read when someone first searches, and copies of the world share it; what came or
//! changed since stands beside it.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::{Arc, OnceLock, Weak},
};

use icu_normalizer::DecomposingNormalizerBorrowed;

use crate::world::store::SharedVec;

/// A word that so many have tells nothing: the list is walked.
const MAX_POSTINGS: usize = 4_096;
/// So few are read at once, wherever someone searches first.
const MAX_READ_INLINE: usize = 1_000;

/// The words of a text: runs of letters and digits, folded.
pub(in crate::world) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && !is_mark(c)).map(fold).filter(|word| !word.is_empty())
}

/// A word as it is compared: taken apart into letters and marks, without the marks, in lower case, with the letters
/// that have no capital of their own (`ß`, the final sigma) as their capitals would be.
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

/// The marks on letters of Latin, Greek and Cyrillic script, which many people leave out when they type.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Something that can be searched.
pub(in crate::world) trait Searchable {
    /// Tells each of its texts.
    fn visit_texts(&self, visit: &mut dyn FnMut(&str));
}

/// The words of one thing as one text that can be searched: each stands between two line breaks.
#[derive(Debug, Clone)]
struct WordText(String);

impl WordText {
    fn new() -> Self {
        Self("\n".to_owned())
    }

    fn of(thing: &impl Searchable) -> Self {
        let mut all = Self::new();
        thing.visit_texts(&mut |text| all.add(text, |_| {}));
        all
    }

    /// Adds the words of a text; tells those that it did not have.
    fn add(&mut self, text: &str, mut new: impl FnMut(&str)) {
        for word in words(text) {
            let from = self.0.len();
            self.0.push_str(&word);
            self.0.push('\n');
            // With the line breaks on both sides, only the same word is the same.
            if self.0[..from].contains(&self.0[from - 1..]) {
                self.0.truncate(from);
            } else {
                new(&word);
            }
        }
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split('\n').filter(|word| !word.is_empty())
    }
}

/// What is searched for: every one must be the beginning of some word.
#[derive(Debug, Clone)]
pub(in crate::world) struct Query {
    /// Each with the line break in front.
    needles: Vec<String>,
}

impl Query {
    pub(in crate::world) fn new(text: &str) -> Self {
        Self { needles: words(text).map(|word| format!("\n{word}")).collect() }
    }

    /// Whether these words have all that is searched for. A query without a single word matches nothing.
    fn matches(&self, haystack: &str) -> bool {
        !self.needles.is_empty() && self.needles.iter().all(|needle| haystack.contains(needle.as_str()))
    }
}

/// Who has a word, or had it: the words of each say how it is now. No more are listed when it is common.
type Postings = Vec<u32>;

fn add_posting(postings: &mut Postings, number: u32) {
    if postings.len() <= MAX_POSTINGS && postings.last() != Some(&number) {
        postings.push(number);
    }
}

/// What a world started with.
pub(in crate::world) struct SearchBase<T> {
    things: SharedVec<T>,
    read: OnceLock<IndexedWords>,
}

struct IndexedWords {
    /// In order of the words.
    dictionary: Vec<(Box<str>, Postings)>,
    haystacks: Vec<Box<str>>,
}

impl<T: Searchable> SearchBase<T> {
    /// Reads it, if nobody has yet.
    pub(in crate::world) fn read(&self) {
        self.words();
    }

    fn words(&self) -> &IndexedWords {
        self.read.get_or_init(|| {
            let mut dictionary = HashMap::<String, Postings>::new();
            let haystacks = self.things.iter().enumerate().map(|(number, thing)| {
                let haystack = WordText::of(thing);
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
            IndexedWords { dictionary, haystacks }
        })
    }
}

/// The words of all conversations, or of all documents.
pub(in crate::world) struct SearchIndex<T> {
    base: Arc<SearchBase<T>>,
    /// Of what came or changed since.
    dictionary: BTreeMap<Box<str>, Postings>,
    haystacks: HashMap<u32, WordText>,
}

impl<T> Clone for SearchIndex<T> {
    fn clone(&self) -> Self {
        let (dictionary, haystacks) = (self.dictionary.clone(), self.haystacks.clone());
        Self { base: Arc::clone(&self.base), dictionary, haystacks }
    }
}

impl<T> Default for SearchIndex<T> {
    fn default() -> Self {
        let base = SearchBase { things: SharedVec::default(), read: OnceLock::new() };
        Self { base: Arc::new(base), dictionary: BTreeMap::new(), haystacks: HashMap::new() }
    }
}

/// How to come to the results of a search.
pub(in crate::world) enum SearchPlan {
    /// Only these can match.
    Few(Vec<u32>),
    /// So many may match that walking the list newest first finds a page sooner.
    Many,
}

impl<T: Searchable> SearchIndex<T> {
    /// The words of these, which are not read before someone needs them.
    pub(in crate::world) fn of(things: &SharedVec<T>) -> Self {
        let base = SearchBase { things: things.clone(), read: OnceLock::new() };
        Self { base: Arc::new(base), ..Self::default() }
    }

    /// What is still to be read, if it takes a while.
    pub(in crate::world) fn unread(&self) -> Option<Weak<SearchBase<T>>> {
        let unread = self.base.things.len() > MAX_READ_INLINE && self.base.read.get().is_none();
        unread.then(|| Arc::downgrade(&self.base))
    }

    /// A text came to a thing, as which it stands now.
    pub(in crate::world) fn add(&mut self, number: usize, thing: &T, text: &str) {
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
    }

    /// A thing has changed, or is new.
    pub(in crate::world) fn reindex(&mut self, number: usize, thing: &T) {
        self.haystacks.insert(number as u32, WordText::new());
        thing.visit_texts(&mut |text| self.add(number, thing, text));
    }

    /// Whether a thing has what is searched for.
    pub(in crate::world) fn has(&self, number: usize, query: &Query) -> bool {
        match self.haystacks.get(&(number as u32)) {
            Some(haystack) => query.matches(&haystack.0),
            None => self.base.words().haystacks.get(number).is_some_and(|haystack| query.matches(haystack)),
        }
    }

    /// The better way to a page of `page` results among `all`.
    pub(in crate::world) fn plan(&self, query: &Query, page: usize, all: usize) -> SearchPlan {
        // With m matches among n things, a page is found after about page * n / m steps of a walk, and m
        // steps of looking at each match: the smaller wins.
        let most = (page * all).isqrt().max(page);
        let few = query.needles.iter().filter_map(|needle| self.starting_with(&needle[1..], most));
        match few.min_by_key(Vec::len) {
            Some(found) => SearchPlan::Few(found),
            None if query.needles.is_empty() => SearchPlan::Few(Vec::new()),
            None => SearchPlan::Many,
        }
    }

    /// Those that have or had a word with this beginning, unless they are more than `most`.
    fn starting_with(&self, beginning: &str, most: usize) -> Option<Vec<u32>> {
        let started = &self.base.words().dictionary;
        let from = started.partition_point(|(word, _)| **word < *beginning);
        let started = started[from..].iter().map(|(word, postings)| (&**word, postings));
        let since = self.dictionary.range::<str, _>((Bound::Included(beginning), Bound::Unbounded));
        let since = since.map(|(word, postings)| (&**word, postings));
        let begins = |(word, _): &(&str, &Postings)| word.starts_with(beginning);
        let mut found = Vec::new();
        for (_, postings) in started.take_while(begins).chain(since.take_while(begins)) {
            if postings.len() > MAX_POSTINGS || found.len() + postings.len() > most {
                return None;
            }
            found.extend_from_slice(postings);
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }
}

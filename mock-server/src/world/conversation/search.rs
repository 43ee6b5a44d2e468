//! Full-text search: words and beginnings of words, whatever their case, their accents and the way in which Unicode
//! writes them.
//!
//! Two structures answer together. An inverted index finds the few conversations that have a rare word. For
//! common words the list is walked newest first, and each conversation's own words say whether it matches, so
//! the first page comes soon either way.

use std::collections::{BTreeMap, HashSet};

use icu_normalizer::DecomposingNormalizerBorrowed;

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

/// Words as one text that can be searched for beginnings: each stands behind a line break.
pub(in crate::world) fn haystack(text: &str) -> String {
    let mut seen = HashSet::new();
    let mut all = String::new();
    for word in words(text) {
        if !seen.contains(&word) {
            all.push('\n');
            all.push_str(&word);
            seen.insert(word);
        }
    }
    all
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
    pub(in crate::world) fn matches(&self, haystack: &str) -> bool {
        !self.needles.is_empty() && self.needles.iter().all(|needle| haystack.contains(needle.as_str()))
    }

    /// What is left to look for in those that are known to have this one.
    fn without(&self, known: usize) -> Self {
        let rest = self.needles.iter().enumerate().filter(|(i, _)| *i != known);
        Self { needles: rest.map(|(_, needle)| needle.clone()).collect() }
    }
}

/// The words of all conversations.
#[derive(Debug, Clone, Default)]
pub(in crate::world) struct Words {
    vocabulary: BTreeMap<Box<str>, Vec<u32>>,
    haystacks: Vec<String>,
}

/// How to come to the results of a search.
pub(in crate::world) enum Plan {
    /// These have one of the words; those that have the rest too match.
    Few(Vec<u32>, Query),
    /// So many may match that walking the list newest first finds a page sooner.
    Many,
}

impl Words {
    /// Adds the words of a text to those of a conversation.
    pub(in crate::world) fn add(&mut self, conversation: usize, text: &str) {
        let number = conversation as u32;
        if self.haystacks.len() <= conversation {
            self.haystacks.resize(conversation + 1, String::new());
        }
        let haystack = &mut self.haystacks[conversation];
        for word in words(text) {
            let postings = match self.vocabulary.get_mut(word.as_str()) {
                Some(postings) => postings,
                None => self.vocabulary.entry(word.as_str().into()).or_default(),
            };
            if let Err(place) = postings.binary_search(&number) {
                postings.insert(place, number);
                haystack.push('\n');
                haystack.push_str(&word);
            }
        }
    }

    /// Takes all words of a conversation out.
    pub(in crate::world) fn forget(&mut self, conversation: usize) {
        let Some(haystack) = self.haystacks.get_mut(conversation) else { return };
        for word in std::mem::take(haystack).split('\n').filter(|word| !word.is_empty()) {
            if let Some(postings) = self.vocabulary.get_mut(word) {
                if let Ok(place) = postings.binary_search(&(conversation as u32)) {
                    postings.remove(place);
                }
                if postings.is_empty() {
                    self.vocabulary.remove(word);
                }
            }
        }
    }

    /// Whether a conversation has what is searched for.
    pub(in crate::world) fn has(&self, conversation: usize, query: &Query) -> bool {
        self.haystacks.get(conversation).is_some_and(|haystack| query.matches(haystack))
    }

    /// Whether a conversation has the rest of what is searched for, which may be nothing.
    pub(in crate::world) fn has_rest(&self, conversation: usize, rest: &Query) -> bool {
        rest.needles.is_empty() || self.has(conversation, rest)
    }

    /// The better way to a page of `page` results.
    pub(in crate::world) fn plan(&self, query: &Query, page: usize) -> Plan {
        // With m matches among n conversations, a page is found after about page * n / m steps of a walk, and m
        // steps of looking at each match: the smaller wins.
        let most = (page * self.haystacks.len()).isqrt().max(page);
        let few = query
            .needles
            .iter()
            .enumerate()
            .filter_map(|(i, needle)| self.starting_with(&needle[1..], most).map(|found| (found, i)));
        match few.min_by_key(|(found, _)| found.len()) {
            Some((found, known)) => Plan::Few(found, query.without(known)),
            None if query.needles.is_empty() => Plan::Few(Vec::new(), query.clone()),
            None => Plan::Many,
        }
    }

    /// The conversations that have a word with this beginning, unless they are more than `most`.
    fn starting_with(&self, beginning: &str, most: usize) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        let from = (std::ops::Bound::Included(beginning), std::ops::Bound::Unbounded);
        for (_, postings) in
            self.vocabulary.range::<str, _>(from).take_while(|(word, _)| word.starts_with(beginning))
        {
            if found.len() + postings.len() > most {
                return None;
            }
            found.extend_from_slice(postings);
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }
}

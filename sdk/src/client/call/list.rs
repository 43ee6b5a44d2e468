//! A list that knows whether it may be longer than it shows.

use std::ops::Deref;

use serde::de::DeserializeOwned;

use crate::client::engine::{HttpResponse, decode};
use crate::client::error::Result;
use crate::limits;

/// The items of a list: a slice that knows whether it [may be cut](Self::is_cut).
///
/// The service has no cursor: a list ends at its limit, and the rest can be read only by narrowing the list.
/// [`Client::sweep`](crate::Client::sweep) does that for conversations.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
/// let open = inbox.conversations().limit(100).await?;
/// println!("{}{} open", open.len(), if open.is_cut() { " or more" } else { "" });
/// for summary in open {
///     println!("{}", summary.id);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List<T> {
    items: Vec<T>,
    cut: bool,
}

impl<T> List<T> {
    /// Returns whether there may be more items: the list is as long as its limit.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Returns the items.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.items
    }

    pub(crate) fn read(limit: Option<u32>, response: &HttpResponse) -> Result<Self>
    where
        T: DeserializeOwned,
    {
        let items: Vec<T> = decode(response)?;
        let cut = items.len() >= limit.unwrap_or(limits::LIST_DEFAULT) as usize;
        Ok(Self { items, cut })
    }
}

impl<T> Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

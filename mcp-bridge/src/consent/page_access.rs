//! How one browser, and no other, comes to the page of a question.

use std::io;

use subtle::ConstantTimeEq as _;

use super::{private_file::PrivateFile, secret};

/// What a browser must bring, and what it is shown.
pub(crate) struct PageAccess {
    /// The path of the page.
    pub(super) id: String,
    /// The email as a part of the page; gone when the question is over.
    pub(super) preview: String,
    /// What the form must bring back.
    pub(super) token: String,
    /// What the browser that opened the page first must show from then on.
    pub(super) cookie: String,
    /// Whether a browser has come in, with the secret or by the address.
    pub(super) is_entered: bool,
    /// The secret and the file that brings it, which is gone once it has been used. Without one, the address
    /// is the secret.
    entry_file: Option<(String, Option<PrivateFile>)>,
}

impl PageAccess {
    /// Creates the access to a page with this preview. With `entry_form`, which makes a form of a secret, a
    /// private file brings the browser there; its path is returned beside.
    pub(super) fn new(
        preview: String,
        entry_form: Option<impl FnOnce(&str) -> String>,
    ) -> io::Result<(Self, Option<String>)> {
        let random = || secret().map_err(io::Error::other);
        let mut access = Self {
            id: random()? + &random()?,
            preview,
            token: random()?,
            cookie: random()?,
            is_entered: false,
            entry_file: None,
        };
        let Some(entry_form) = entry_form else { return Ok((access, None)) };
        let secret = random()? + &random()?;
        let file = PrivateFile::create(&entry_form(&secret))?;
        let path = file.path().to_owned();
        access.entry_file = Some((secret, Some(file)));
        Ok((access, Some(path)))
    }

    /// Returns whether the address alone brings the first browser in.
    pub(super) fn is_by_address(&self) -> bool {
        self.entry_file.is_none()
    }

    pub(super) fn is_entered_with(&self, brought: &str) -> bool {
        self.entry_file.as_ref().is_some_and(|(secret, _)| is_equal(secret, brought))
    }

    pub(super) fn is_opened_with(&self, cookie: Option<&str>) -> bool {
        cookie.is_some_and(|cookie| is_equal(cookie, &self.cookie))
    }

    pub(super) fn has_token(&self, brought: &str) -> bool {
        is_equal(brought, &self.token)
    }

    /// Lets a browser in, after which the file is of no use.
    pub(super) fn enter(&mut self) {
        self.is_entered = true;
        self.remove_file();
    }

    /// Forgets the email.
    pub(super) fn clear(&mut self) {
        self.preview.clear();
        self.remove_file();
    }

    fn remove_file(&mut self) {
        if let Some((_, file)) = &mut self.entry_file {
            *file = None;
        }
    }
}

/// Compares in constant time.
fn is_equal(brought: &str, secret: &str) -> bool {
    brought.as_bytes().ct_eq(secret.as_bytes()).into()
}

//! Message-IDs for mail that an app sends itself. A reply that names a recorded Message-ID joins its
//! conversation, so they must be impossible to guess.

/// Returns a `Message-ID` header value with 160 random bits: `<…@domain>`.
///
/// ```
/// let id = shared_inbox::new_message_id("shop.example")?;
/// assert!(id.starts_with('<') && id.ends_with("@shop.example>"));
/// assert_ne!(id, shared_inbox::new_message_id("shop.example")?);
/// # Ok::<(), shared_inbox::InvalidDomain>(())
/// ```
///
/// # Errors
///
/// When `domain` is not the name of a domain.
///
/// # Panics
///
/// When the operating system has no random numbers to give; there is nothing safe to return then.
pub fn new_message_id(domain: &str) -> Result<String, InvalidDomain> {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    if domain.len() > 253 || !domain.split('.').all(label) {
        return Err(InvalidDomain);
    }
    let mut random = [0_u8; 20];
    getrandom::fill(&mut random).expect("the operating system gives random numbers");
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("<{hex}@{domain}>"))
}

/// The text is not the name of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("domain: must be the name of a domain, such as shop.example")]
pub struct InvalidDomain;

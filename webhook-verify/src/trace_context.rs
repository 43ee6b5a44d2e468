//! The trace that a request belongs to (W3C Trace Context), for spans and logs.

use std::fmt;
use std::ops::Range;

/// The trace that a request belongs to, from its header `traceparent`.
///
/// The header is not signed: it is for following a request through systems, and proves nothing. Handlers run
/// in a span with its ids in the fields `trace_id` and `parent_span_id`; what exports spans can add a link to
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext([u8; LENGTH]);

/// The bytes of `00-<32 digits>-<16 digits>-<2 digits>`.
const LENGTH: usize = 55;

impl TraceContext {
    /// Reads a header's value. Returns `None` when it is not valid: a trace is left out, never guessed.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let (head, rest) = value.as_bytes().split_first_chunk::<LENGTH>()?;
        let is_right = |(place, byte): (usize, &u8)| match place {
            2 | 35 | 52 => *byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        };
        let is_zero = |digits: &[u8]| digits.iter().all(|digit| *digit == b'0');
        // A later version may add parts; this one has four. `ff` is no version.
        let version_fits = match &head[..2] {
            b"00" => rest.is_empty(),
            b"ff" => false,
            _ => rest.is_empty() || rest[0] == b'-',
        };
        let fits = version_fits && head.iter().enumerate().all(is_right);
        (fits && !is_zero(&head[3..35]) && !is_zero(&head[36..52])).then_some(Self(*head))
    }

    fn part(&self, range: Range<usize>) -> &str {
        std::str::from_utf8(&self.0[range]).unwrap_or_default()
    }

    /// Returns the trace's id: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        self.part(3..35)
    }

    /// Returns the id of the span that sent the request: 16 hexadecimal digits.
    #[must_use]
    pub fn parent_span_id(&self) -> &str {
        self.part(36..52)
    }
}

impl fmt::Display for TraceContext {
    /// Writes the header's value, in version `00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00{}", self.part(2..LENGTH))
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

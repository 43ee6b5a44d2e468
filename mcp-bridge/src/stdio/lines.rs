//! Lines of bounded length.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that is read. The largest call of the service's own needs less than one of these.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// A buffer that has grown beyond this is given back.
const MAX_KEPT_BYTES: usize = 64 << 10;

pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    too_long: bool,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), too_long: false, ended: false }
    }

    /// Reads to the end of a line that is not empty. Returns false at the end of the input. Cancel-safe.
    pub(super) async fn read(&mut self) -> bool {
        while !self.ended {
            let available = match self.reader.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                // The end; a last line may lack its mark.
                _ => {
                    self.ended = true;
                    return !self.line.trim_ascii().is_empty() || self.too_long;
                }
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            if self.line.len() + part.len() > MAX_LINE_BYTES {
                self.too_long = true;
                self.line = Vec::new();
            }
            if !self.too_long {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.reader.consume(taken);
            if end.is_some() {
                if !self.line.trim_ascii().is_empty() || self.too_long {
                    return true;
                }
                self.clear();
            }
        }
        false
    }

    /// Returns the line, unless it was too long to be kept.
    pub(super) fn line(&self) -> Option<&[u8]> {
        let line = self.line.trim_ascii();
        // Some programs begin with a mark that is no JSON.
        (!self.too_long).then(|| line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line))
    }

    pub(super) fn bytes(&self) -> usize {
        self.line.len()
    }

    pub(super) fn clear(&mut self) {
        self.line.clear();
        self.line.shrink_to(MAX_KEPT_BYTES);
        self.too_long = false;
    }
}

//! Lines of bounded length.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// The longest line that is read, without its end. The largest call of the service's own needs less than one
/// of these.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// A buffer that has grown beyond this is given back.
const MAX_KEPT_BYTES: usize = 64 << 10;

pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), too_long: false }
    }

    /// Reads to the end of a line that is not empty. Returns false at the end of the input. Cancel-safe: what
    /// was read is kept.
    pub(super) async fn read(&mut self) -> bool {
        loop {
            let room = MAX_LINE_BYTES + 1 - self.line.len();
            let read = (&mut self.reader).take(room as u64).read_until(b'\n', &mut self.line).await;
            // A last line may lack its mark.
            let is_last = read.is_err() || read.is_ok_and(|bytes| bytes == 0);
            let is_whole = self.line.ends_with(b"\n");
            if self.line.len() > MAX_LINE_BYTES && !is_whole {
                self.line = Vec::new();
                self.too_long = true;
            } else if is_last || is_whole {
                if !self.line.trim_ascii().is_empty() || self.too_long {
                    return true;
                }
                if is_last {
                    return false;
                }
                self.clear();
            }
        }
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

//! Lines of bounded length, each with its outline.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::outline::Outline;

/// The longest line that is read. The largest call of the service's own needs less than one of these.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// A buffer that has grown beyond this is given back.
const MAX_KEPT_BYTES: usize = 64 << 10;

pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    too_long: bool,
    outline: Outline,
    ended: bool,
}

pub(super) enum Line<'a> {
    Whole(&'a [u8], &'a Outline),
    /// It was not kept.
    TooLong(&'a Outline),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            too_long: false,
            outline: Outline::default(),
            ended: false,
        }
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
            self.outline.read(part);
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

    pub(super) fn line(&self) -> Line<'_> {
        if self.too_long {
            return Line::TooLong(&self.outline);
        }
        let line = self.line.trim_ascii();
        // Some programs begin with a mark that is no JSON.
        Line::Whole(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line), &self.outline)
    }

    pub(super) fn bytes(&self) -> usize {
        self.line.len()
    }

    pub(super) fn clear(&mut self) {
        self.line.clear();
        self.line.shrink_to(MAX_KEPT_BYTES);
        self.too_long = false;
        self.outline = Outline::default();
    }
}

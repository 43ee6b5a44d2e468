//! Finds the user of a connection to the page in Linux's table of connections. Elsewhere only the secret protects the page.

use std::{fs, net::SocketAddr};

const TABLE: &str = "/proc/net/tcp";

/// The connections of this machine and their users, as they are now.
pub(super) struct Connections(Option<String>);

impl Connections {
    /// Reads the table, which takes the longer the more connections there are; where there is none, it knows nobody.
    pub(super) async fn read() -> Self {
        let read = || knows_its_visitors().then(|| fs::read_to_string(TABLE).ok()).flatten();
        Self(tokio::task::spawn_blocking(read).await.ok().flatten())
    }

    /// Returns whether the other end of a connection belongs to another user. The superuser is not another user.
    pub(super) fn is_another_user(&self, visitor: SocketAddr, page: SocketAddr) -> bool {
        self.0.as_ref().is_some_and(|table| stands_as_another_user(table, visitor, page))
    }
}

/// Returns whether this machine has a table of connections with their users.
pub fn knows_its_visitors() -> bool {
    cfg!(target_os = "linux") && !is_in_windows() && fs::metadata(TABLE).is_ok()
}

/// Returns whether the browser is outside, in the Windows around this Linux, and its connections are not in the table.
fn is_in_windows() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    release.is_ok_and(|release| release.to_lowercase().contains("microsoft"))
}

fn stands_as_another_user(table: &str, visitor: SocketAddr, page: SocketAddr) -> bool {
    let (Some(visitor), Some(page)) = (in_table(visitor), in_table(page)) else { return false };
    // A table without the page itself is about something else.
    let Some((ours, _)) = owner(table, &page, "00000000:0000") else { return false };
    // A connection that was closed already is held by nobody, or is not in the table.
    !owner(table, &visitor, &page).is_some_and(|(user, held)| held && (user == ours || user == "0"))
}

/// Returns the owner of the socket with these two ends, and whether a program holds it.
fn owner<'a>(table: &'a str, local: &str, remote: &str) -> Option<(&'a str, bool)> {
    let (_, rest) = table.split_once(&format!(" {local} {remote} "))?;
    let mut fields = rest.lines().next()?.split_ascii_whitespace().skip(4);
    let (user, inode) = (fields.next()?, fields.nth(1)?);
    Some((user, inode != "0"))
}

/// Returns an address in the form of the table.
fn in_table(address: SocketAddr) -> Option<String> {
    match address {
        SocketAddr::V4(v4) => Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(v4.ip().octets()), v4.port())),
        SocketAddr::V6(_) => None,
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    const EXAMPLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
        0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 101 1 0 100 0 0 10 0\n   \
        1: 0100007F:A001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 102 1 0 100 0 0 10 0\n   \
        2: 0100007F:A002 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 65534        0 103 1 0 100 0 0 10 0\n   \
        3: 0100007F:A003 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 104 1 0 100 0 0 10 0\n   \
        4: 0100007F:A004 0100007F:1F90 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0 100 0 0 10 0\n";

    fn is_refused(port: u16, page: u16) -> bool {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        stands_as_another_user(EXAMPLE, local(port), local(page))
    }

    #[test]
    fn the_same_user_and_the_superuser_come_in_and_others_do_not() {
        assert!(!is_refused(0xA001, 8080) && !is_refused(0xA003, 8080));
        assert!(is_refused(0xA002, 8080));
    }

    #[test]
    fn whoever_has_hung_up_already_is_nobody() {
        assert!(is_refused(0xA004, 8080), "no program holds it any more");
        assert!(is_refused(0xA005, 8080), "it is not in the table any more");
    }

    #[test]
    fn a_table_that_does_not_know_the_page_refuses_nobody() {
        assert!(!is_refused(0xA002, 8081));
    }
}

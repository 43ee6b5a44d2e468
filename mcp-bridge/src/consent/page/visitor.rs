//! Asks Linux for the user of a connection to the page: one question about one connection, however many the
//! machine has. Elsewhere only the secret protects the page.

use std::net::SocketAddr;

/// Returns whether the other end of a connection belongs to another user. The superuser is not another user.
/// A connection that was closed already belongs to nobody.
pub(super) fn is_another_user(visitor: SocketAddr, page: SocketAddr) -> bool {
    // Where the page itself is not known, the system tells of something else.
    let Some(Some(ours)) = owner(page, None) else { return false };
    match owner(visitor, Some(page)) {
        Some(Some(user)) => user != ours && user != 0,
        Some(None) => true,
        None => false,
    }
}

/// Returns whether this machine can tell the users of its connections.
pub fn knows_its_visitors() -> bool {
    #[cfg(target_os = "linux")]
    return !linux::is_in_windows() && linux::socket().is_ok();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Returns the user that holds the socket with these ends; an inner `None` if nobody does, and `None` where
/// that is not known.
fn owner(local: SocketAddr, remote: Option<SocketAddr>) -> Option<Option<u32>> {
    #[cfg(target_os = "linux")]
    return if linux::is_in_windows() { None } else { linux::owner(local, remote).ok() };
    #[cfg(not(target_os = "linux"))]
    {
        _ = (local, remote);
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        fs, io,
        net::{Ipv4Addr, SocketAddr, SocketAddrV4},
        os::fd::OwnedFd,
    };

    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
        netlink::{SOCK_DIAG, SocketAddrNetlink},
        recv, sendto, socket_with,
    };

    const HEADER_BYTES: usize = 16;
    const NLMSG_ERROR: u16 = 2;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const TCP_OVER_IPV4: [u8; 4] = [2, 6, 0, 0];
    /// Where a response has the user and the inode, which is 0 for a socket that no program holds.
    const USER_AT: usize = HEADER_BYTES + 64;

    pub(super) fn socket() -> io::Result<OwnedFd> {
        Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?)
    }

    /// Returns whether the browser is outside, in the Windows around this Linux, and its connections are not
    /// known here.
    pub(super) fn is_in_windows() -> bool {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease");
        release.is_ok_and(|release| release.to_lowercase().contains("microsoft"))
    }

    pub(super) fn owner(local: SocketAddr, remote: Option<SocketAddr>) -> io::Result<Option<u32>> {
        let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        let (SocketAddr::V4(local), SocketAddr::V4(remote)) = (local, remote.unwrap_or(any.into())) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let socket = socket()?;
        sendto(&socket, &request(local, remote), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut response = [0_u8; 1024];
        let (length, _) = recv(&socket, &mut response[..], RecvFlags::empty())?;
        let number = |at: usize| {
            let bytes = response[..length].get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u32::from_ne_bytes).ok_or(io::ErrorKind::InvalidData)
        };
        match u16::from_ne_bytes([response[4], response[5]]) {
            SOCK_DIAG_BY_FAMILY => {
                let (user, inode) = (number(USER_AT)?, number(USER_AT + 4)?);
                Ok((inode != 0).then_some(user))
            }
            NLMSG_ERROR => match number(HEADER_BYTES)?.cast_signed() {
                // There is no such socket any more.
                code if code == -rustix::io::Errno::NOENT.raw_os_error() => Ok(None),
                code => Err(io::Error::from_raw_os_error(-code)),
            },
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Returns a request for the one socket with these ends (`inet_diag_req_v2`).
    fn request(local: SocketAddrV4, remote: SocketAddrV4) -> Vec<u8> {
        let mut body = TCP_OVER_IPV4.to_vec();
        body.extend(u32::MAX.to_ne_bytes()); // in every state
        body.extend(local.port().to_be_bytes());
        body.extend(remote.port().to_be_bytes());
        for end in [local, remote] {
            body.extend(end.ip().octets());
            body.extend([0; 12]);
        }
        body.extend(0_u32.to_ne_bytes()); // at every interface
        body.extend([0xff; 8]); // whatever its cookie
        let mut request = u32::try_from(HEADER_BYTES + body.len()).unwrap_or_default().to_ne_bytes().to_vec();
        request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request.extend(NLM_F_REQUEST.to_ne_bytes());
        request.extend([0; 8]);
        request.extend(body);
        request
    }
}

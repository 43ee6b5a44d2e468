//! The rule as a table: what is added, and what a name may point to.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

type Names = &'static [(&'static str, &'static [&'static str])];

/// A resolver that knows these names only.
fn knowing(names: Names) -> impl Fn(&str) -> Vec<IpAddr> {
    move |name| {
        let found = names.iter().filter(|(known, _)| *known == name);
        found.flat_map(|(_, ips)| ips.iter().map(|ip| ip.parse().unwrap())).collect()
    }
}

#[tokio::test]
async fn public_mode_takes_public_https_only() {
    let names: Names = &[
        ("hooks.example.com", &["93.184.216.34", "2606:2800:220:1::1"]),
        ("inside.example.com", &["10.0.0.5"]),
        ("mixed.example.com", &["93.184.216.34", "127.0.0.1"]),
        ("mapped.example.com", &["::ffff:192.168.0.1"]),
        ("meta.example.com", &["169.254.169.254"]),
    ];
    let targets = WebhookTargets::public().names(knowing(names));
    let accepted = [
        "https://hooks.example.com/in",
        "https://HOOKS.example.com:8443/in?x=1",
        "https://hooks.example.com./in",
        "https://93.184.216.34/in",
        "https://[2606:2800:220:1::1]/in",
        "https://[::ffff:93.184.216.34]/in",
        "https://203.0.113.9/in",
        "https://172.15.0.1/", // just outside of the private block, on either side
        "https://172.32.0.1/",
        "https://11.0.0.1/",
        "https://100.128.0.1/",
        "https://nowhere.example.com/in",
    ];
    for url in accepted {
        assert!(targets.admit(url).await.is_ok(), "{url} must be accepted");
    }
    let refused = [
        "http://hooks.example.com/in",
        "http://127.0.0.1:8080/in",
        "ftp://hooks.example.com/in",
        "hooks.example.com/in",
        "https://",
        "",
        "https://user@hooks.example.com/",
        "https://user:secret@hooks.example.com/",
        "https://localhost/",
        "https://localhost./",
        "https://LOCALHOST:8443/",
        "https://app.localhost/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://127.255.255.254/",
        "https://2130706433/",      // decimal
        "https://017700000001/",    // octal
        "https://0177.0.0.1/",      // octal part
        "https://0x7f.0.0.1/",      // hexadecimal part
        "https://0x7f000001/",      // hexadecimal
        "https://%31%32%37.0.0.1/", // escaped
        "https://127。0。0。1/",    // other full stops
        "https://0/",
        "https://0.0.0.0/",
        "https://10.1.2.3/",
        "https://172.16.0.1/",
        "https://172.31.255.255/",
        "https://192.168.1.1/",
        "https://3232235777/", // 192.168.1.1
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.0.1/",
        "https://192.0.0.1/",
        "https://198.18.0.1/",
        "https://224.0.0.1/",
        "https://239.255.255.255/",
        "https://240.0.0.1/",
        "https://255.255.255.255/",
        "https://[::]/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[::127.0.0.1]/",
        "https://[64:ff9b::127.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[64:ff9b:1::1]/",
        "https://[2002:7f00:1::]/",
        "https://[2002:c0a8:101::1]/",
        "https://[2001:0:1::1]/",
        "https://[fc00::1]/",
        "https://[fd12:3456::1]/",
        "https://[fe80::1]/",
        "https://[fec0::1]/",
        "https://[ff02::1]/",
        "https://[100::1]/",
        "https://inside.example.com/",
        "https://INSIDE.example.com./",
        "https://mixed.example.com/",
        "https://mapped.example.com/",
        "https://meta.example.com/",
    ];
    for url in refused {
        let refusal = targets.admit(url).await.expect_err(url);
        assert_eq!(refusal.status, 400, "{url}");
        assert!(refusal.message.starts_with("url: "), "{url}: {}", refusal.message);
    }
}

#[tokio::test]
async fn loopback_mode_takes_this_machine_too_and_nothing_else() {
    let names: Names = &[
        ("hooks.example.com", &["93.184.216.34"]),
        ("me.example.com", &["127.0.0.1", "::1"]),
        ("lan.example.com", &["192.168.0.7"]),
        ("mixed.example.com", &["93.184.216.34", "127.0.0.1"]),
    ];
    let targets = WebhookTargets::loopback().names(knowing(names));
    let local = [
        "http://127.0.0.1:8080/in",
        "https://127.0.0.1:8443/in",
        "http://localhost:3000/",
        "http://[::1]:3000/",
        "http://2130706433:3000/",
        "http://me.example.com:3000/",
        "http://[::ffff:127.0.0.1]:3000/",
    ];
    for url in local {
        assert_eq!(targets.route(url).await, Ok(Route::Local), "{url}");
    }
    assert_eq!(targets.route("https://hooks.example.com/in").await, Ok(Route::Public));
    let refused = [
        "http://hooks.example.com/in",
        "http://93.184.216.34/",
        "http://192.168.0.7/",
        "https://192.168.0.7/",
        "https://lan.example.com/",
        "http://lan.example.com/",
        "https://mixed.example.com/",
        "http://0.0.0.0:3000/",
        "http://10.0.0.1/",
        "http://user:pw@127.0.0.1/",
    ];
    for url in refused {
        let refusal = targets.admit(url).await.expect_err(url);
        assert_eq!(refusal.status, 400, "{url}");
    }
}

/// A name that was public when it was added and points to this machine now.
#[tokio::test]
async fn the_address_that_is_connected_to_is_the_one_that_was_checked() {
    let calls = Arc::new(AtomicUsize::new(0));
    let targets = WebhookTargets::public().names({
        let calls = calls.clone();
        move |_| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => vec![[93, 184, 216, 34].into()],
            _ => vec![[127, 0, 0, 1].into()],
        }
    });
    assert_eq!(targets.route("https://turn.example.com/").await, Ok(Route::Public));
    let resolved = targets.resolver(Route::Public).resolve("turn.example.com".parse().unwrap()).await;
    let error = resolved.err().expect("the second answer is a loopback address");
    assert_eq!(error.downcast_ref(), Some(&Forbidden::Address(LOOPBACK)));
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

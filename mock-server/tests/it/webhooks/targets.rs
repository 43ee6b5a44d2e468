//! Where webhooks may be sent.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use shared_inbox_mock::{MockServer, webhooks::WebhookTargets};

use super::{kit::start_with_hook, receiver::Receiver};
use crate::kit::Kit;

/// The name is public when the webhook is added, and points to this machine when the event is sent.
#[tokio::test]
async fn the_rule_is_applied_again_to_the_address_that_is_connected_to() {
    let receiver = Receiver::start().await;
    let lookups = AtomicUsize::new(0);
    let targets = WebhookTargets::public().names(move |_| match lookups.fetch_add(1, Ordering::SeqCst) {
        // Once when it is added, once when the send looks whether it may be sent; the third is for
        // connecting.
        0 | 1 => vec!["93.184.216.34".parse().unwrap()],
        _ => vec!["127.0.0.1".parse().unwrap()],
    });
    let kit = Kit::with(MockServer::builder().manual_clock().empty().webhook_targets(targets)).await;
    let url = format!("https://turn.example.com:{}/hook", receiver.address().port());
    let hook = kit.hook_with(json!({ "url": url })).await;
    // Two sends: in the first the name turns between the look and the connection, in the second before both.
    for n in 0..2 {
        kit.send_test(&hook).await;
        let tried = &kit.deliveries(&hook).await[0]["attempts"][0];
        assert_eq!(tried["status"], json!(null));
        assert_eq!(
            tried["error"], "not sent: the address must be public; this is a loopback address",
            "send {n}"
        );
    }
    assert_eq!(receiver.connections(), 0, "not even a connection was made");
}

#[tokio::test]
async fn a_receiver_on_this_machine_may_have_a_certificate_of_its_own_making() {
    let (kit, receiver) = (Kit::start().await, Receiver::secure().await);
    assert!(receiver.url().starts_with("https://127.0.0.1:"));
    let hook = kit.hook(&receiver).await;
    kit.send_test(&hook).await;
    receiver.received()[0].verifies_with(&hook.secret).unwrap();
    assert_eq!(kit.deliveries(&hook).await[0]["outcome"], "delivered");
}

#[tokio::test]
async fn a_receiver_that_does_not_speak_tls_is_named_as_such() {
    let (kit, receiver, _) = start_with_hook(200).await;
    let hook = kit.hook_with(json!({ "url": receiver.url().replace("http://", "https://") })).await;
    kit.send_test(&hook).await;
    let tried = &kit.deliveries(&hook).await[0]["attempts"][0];
    assert_eq!(tried["status"], json!(null));
    assert_eq!(tried["error"], "no secure connection could be made: look at the receiver's certificate");
}

type Names = &'static [(&'static str, &'static [&'static str])];

/// A resolver that knows these names only.
fn resolver(names: Names) -> impl Fn(&str) -> Vec<IpAddr> {
    move |name| {
        let found = names.iter().filter(|(known, _)| *known == name);
        found.flat_map(|(_, ips)| ips.iter().map(|ip| ip.parse().expect("an address"))).collect()
    }
}

#[tokio::test]
async fn public_mode_admits_public_https_addresses_only() {
    let names: Names = &[
        ("hooks.example.com", &["93.184.216.34", "2606:2800:220:1::1"]),
        ("inside.example.com", &["10.0.0.5"]),
        ("mixed.example.com", &["93.184.216.34", "127.0.0.1"]),
        ("mapped.example.com", &["::ffff:192.168.0.1"]),
        ("meta.example.com", &["169.254.169.254"]),
    ];
    let targets = WebhookTargets::public().names(resolver(names));
    // Some are just outside of the private blocks, on either side.
    let accepted = "https://hooks.example.com/in https://HOOKS.example.com:8443/in?x=1 https://hooks.example.com./in \
        https://93.184.216.34/in https://[2606:2800:220:1::1]/in https://[::ffff:93.184.216.34]/in \
        https://203.0.113.9/in https://172.15.0.1/ https://172.32.0.1/ https://11.0.0.1/ \
        https://100.128.0.1/ https://nowhere.example.com/in";
    for url in accepted.split(' ') {
        assert!(targets.check_url(url).await.is_ok(), "{url} must be accepted");
    }
    // The same addresses in decimal, octal and hexadecimal, escaped, with other full stops, and inside of
    // IPv6 too.
    let refused = "http://hooks.example.com/in http://127.0.0.1:8080/in ftp://hooks.example.com/in \
        hooks.example.com/in https:// https://user@hooks.example.com/ \
        https://user:secret@hooks.example.com/ https://localhost/ https://localhost./ \
        https://LOCALHOST:8443/ https://app.localhost/ https://127.0.0.1/ https://127.1/ \
        https://127.255.255.254/ https://2130706433/ https://017700000001/ https://0177.0.0.1/ \
        https://0x7f.0.0.1/ https://0x7f000001/ https://%31%32%37.0.0.1/ https://127。0。0。1/ https://0/ \
        https://0.0.0.0/ https://10.1.2.3/ https://172.16.0.1/ https://172.31.255.255/ \
        https://192.168.1.1/ https://3232235777/ https://169.254.169.254/latest/meta-data \
        https://100.64.0.1/ https://192.0.0.1/ https://198.18.0.1/ https://224.0.0.1/ \
        https://239.255.255.255/ https://240.0.0.1/ https://255.255.255.255/ https://[::]/ https://[::1]/ \
        https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/ https://[::ffff:10.0.0.1]/ \
        https://[::127.0.0.1]/ https://[64:ff9b::127.0.0.1]/ https://[64:ff9b::a00:1]/ \
        https://[64:ff9b:1::1]/ https://[2002:7f00:1::]/ https://[2002:c0a8:101::1]/ \
        https://[2001:0:1::1]/ https://[fc00::1]/ https://[fd12:3456::1]/ https://[fe80::1]/ \
        https://[fec0::1]/ https://[ff02::1]/ https://[100::1]/ https://inside.example.com/ \
        https://INSIDE.example.com./ https://mixed.example.com/ https://mapped.example.com/ \
        https://meta.example.com/";
    for url in refused.split(' ').chain([""]) {
        let refusal = targets.check_url(url).await.expect_err(url);
        assert_eq!(refusal.status, 400, "{url}");
        assert!(refusal.message.starts_with("url: "), "{url}: {}", refusal.message);
    }
}

#[tokio::test]
async fn loopback_mode_admits_this_machine_too_and_nothing_else() {
    let names: Names = &[
        ("hooks.example.com", &["93.184.216.34"]),
        ("me.example.com", &["127.0.0.1", "::1"]),
        ("lan.example.com", &["192.168.0.7"]),
        ("mixed.example.com", &["93.184.216.34", "127.0.0.1"]),
    ];
    let targets = WebhookTargets::loopback().names(resolver(names));
    let local = [
        "http://127.0.0.1:8080/in",
        "https://127.0.0.1:8443/in",
        "http://localhost:3000/",
        "http://[::1]:3000/",
        "http://2130706433:3000/",
        "http://me.example.com:3000/",
        "http://[::ffff:127.0.0.1]:3000/",
    ];
    for url in local.into_iter().chain(["https://hooks.example.com/in", "https://nowhere.example.com/in"]) {
        assert!(targets.check_url(url).await.is_ok(), "{url} must be accepted");
    }
    let refused = [
        "http://hooks.example.com/in",
        "http://nowhere.example.com/in",
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
        let refusal = targets.check_url(url).await.expect_err(url);
        assert_eq!(refusal.status, 400, "{url}");
    }
}

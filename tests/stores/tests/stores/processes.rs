//! The stores that the tests start are there, can be killed and come back at the same address.

use std::net::TcpStream;

use shared_inbox_tests::stores;

#[test]
fn valkey_and_redis_forget_when_they_are_killed_and_come_back_where_they_were() {
    for store in [stores::valkey(), stores::redis()] {
        let Some(mut store) = store else { return };
        assert!(store.command("SET a 1").starts_with("+OK"));
        let before = store.url();
        store.kill();
        assert!(TcpStream::connect(("127.0.0.1", store.port())).is_err());
        store.restart();
        assert_eq!(store.url(), before);
        assert!(store.command("GET a").starts_with("$-1"));
    }
}

#[test]
fn postgres_takes_connections_again_after_it_was_killed() {
    let Some(mut store) = stores::postgres() else { return };
    store.kill();
    store.restart();
    assert!(store.url().starts_with("postgres://postgres@127.0.0.1:"));
}

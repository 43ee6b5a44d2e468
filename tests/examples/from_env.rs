//! Says what a client and a receiver make of this environment. A test cannot change that of its own process.

use shared_inbox::Client;
use shared_inbox_webhooks::Receiver;

fn main() {
    match Client::from_env() {
        Ok(client) => println!("client for {}", client.base_url()),
        Err(error) => println!("no client: {error}"),
    }
    match Receiver::from_env() {
        Ok(receiver) => println!("{receiver:?}"),
        Err(error) => println!("no receiver: {error}"),
    }
}

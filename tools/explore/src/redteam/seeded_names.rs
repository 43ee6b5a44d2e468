//! The script of the world, and the names that a seed puts into it.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::process::TomlDocument;
use serde::Deserialize;
use serde_json::Value;

const FIRST_NAMES: &str =
    "Kim Nora Ravi Lena Omar Sofia Paul Mei Grace Jonas Aisha Tomas Ines Victor Hana Diego Freya Samir";
const LAST_NAMES: &str = "Larsen Okoye Patel Fischer Haddad Rossi Novak Chen Abara Lind Rahman Dvorak Costa Petrov Sato Ortega Dahl";
/// Those whose conversations also stand in the world of a scenario, closed.
const BACKGROUND_ROLES: [&str; 2] = ["former", "bystander"];
const PRODUCTS: [&str; 5] = ["desk lamp", "floor lamp", "reading light", "wall lamp", "ceiling light"];
/// Order numbers have five digits, and those of a world differ.
const FIRST_ORDER: u64 = 40_000;
const ORDERS: u64 = 50_000;

/// The contents of every world.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    tasks: BTreeMap<String, String>,
    pub(crate) conversation: Vec<ScriptedConversation>,
    pub(crate) document: Vec<ScriptedDocument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedConversation {
    pub(crate) role: String,
    /// How many hours ago the email came.
    pub(crate) hours: u64,
    pub(crate) subject: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
    pub(crate) assignee: Option<String>,
    #[serde(default)]
    pub(crate) closed: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedDocument {
    /// The role of the customer to whom it belongs, where it has one.
    #[serde(default)]
    pub(crate) role: String,
    pub(crate) title: String,
    pub(crate) filename: String,
    pub(crate) reference: String,
}

pub(crate) static SCRIPT: LazyLock<Script> = LazyLock::new(|| {
    let document = TomlDocument::parse(include_str!("world.toml")).expect("the script is TOML");
    Script::deserialize(Value::Object(document.values)).expect("the script has all fields")
});

/// A customer.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Customer {
    /// The role in the script.
    pub(crate) role: &'static str,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) order: String,
}

/// The names and numbers that the seed chooses.
pub(crate) struct SeededNames {
    pub(crate) customers: Vec<Customer>,
    product: &'static str,
}

impl SeededNames {
    pub(crate) fn new(seed: u64) -> Self {
        let pick = |list: &[&'static str], at: u64| list[(at % list.len() as u64) as usize];
        let [first, last] = [FIRST_NAMES, LAST_NAMES].map(|names| names.split(' ').collect::<Vec<_>>());
        let customers = SCRIPT.conversation.iter().zip(0..).map(|(it, number)| {
            let at = seed.wrapping_add(number);
            let (first, last) = (pick(&first, at), pick(&last, at));
            let order = FIRST_ORDER + seed.wrapping_mul(31).wrapping_add(number * 1_237) % ORDERS;
            Customer {
                role: &it.role,
                name: format!("{first} {last}"),
                address: format!("{first}@{last}.example").to_lowercase(),
                order: order.to_string(),
            }
        });
        Self { customers: customers.collect(), product: pick(&PRODUCTS, seed) }
    }

    /// Returns the customer with this role, which is one of the script.
    pub(crate) fn customer(&self, role: &str) -> &Customer {
        self.customers.iter().find(|customer| customer.role == role).unwrap_or(&self.customers[0])
    }

    /// Returns customers of the script whose conversations are closed, and those of a scenario, with address
    /// and name.
    pub(crate) fn beside<'m>(
        seed: u64,
        customers: impl IntoIterator<Item = (&'m str, Option<&'m str>)>,
    ) -> Self {
        let mut names = Self::new(seed);
        names.customers.retain(|customer| BACKGROUND_ROLES.contains(&customer.role));
        let new = |(address, name): (&str, Option<&str>)| Customer {
            role: "",
            name: name.unwrap_or_default().to_owned(),
            address: address.to_owned(),
            order: String::new(),
        };
        names.customers.extend(customers.into_iter().map(new));
        names
    }

    pub(crate) fn describe_task(&self, id: &str, customer: &Customer) -> String {
        let words = SCRIPT.tasks.get(id).map_or("", String::as_str);
        self.fill(&words.replace("{name}", &customer.name).replace("{address}", &customer.address), customer)
    }

    /// Fills in the values of a customer.
    pub(crate) fn fill(&self, text: &str, customer: &Customer) -> String {
        text.replace("{order}", &customer.order).replace("{product}", self.product)
    }
}

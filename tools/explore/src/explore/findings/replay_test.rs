//! The shortest test that replays a finding, for each runner.

use serde_json::Value;

use crate::explore::{
    findings::report::Tests,
    oracle::Oracle,
    scenario::{Scenario, Source},
    under_test::app::App,
};

/// Returns the tests that replay a token.
pub(crate) fn write(app: &App, scenario: &Scenario, oracle: Oracle, token: &str) -> Tests {
    let name = rule_name(oracle);
    let (function, has_check) = match app {
        App::Piped(functions) => (functions.function.as_deref().unwrap_or("app"), functions.has_check),
        _ => ("app", false),
    };
    let [python_app, typescript_app, rust_app, shell_app] = match app {
        App::Command { words, .. } => {
            let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let list = Value::from(words.as_slice());
            let in_shell: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
            let in_rust = format!("Explore::command(scenario, {words:?})");
            [python_literal(&list), list.to_string(), in_rust, in_shell.join(" ")]
        }
        _ => [function, function, "Explore::function(scenario, app)", "COMMAND"].map(str::to_owned),
    };
    let options = |literal: fn(&Value) -> String, assign: &str| {
        let mut options = match &scenario.source {
            Source::File(file) => vec![format!("scenario{assign}{}", literal(&file.as_str().into()))],
            Source::Keys(keys) => {
                keys.iter().map(|(key, value)| format!("{key}{assign}{}", literal(value))).collect()
            }
            Source::Code => vec![format!("mails{assign}mails")],
        };
        if has_check {
            options.push(if assign == "=" { "check=check".to_owned() } else { "check".to_owned() });
        }
        options.push(format!("replay{assign}{}", literal(&token.into())));
        options.join(", ")
    };
    let (file, read) = match &scenario.source {
        Source::File(file) => {
            (file.as_str(), format!("    let scenario = Scenario::from_file({file:?}).unwrap();\n"))
        }
        _ => ("scenario.toml", String::new()),
    };
    Tests {
        python: format!(
            "def test_{name}(shared_inbox_explore):\n    shared_inbox_explore({python_app}, {})\n",
            options(python_literal, "=")
        ),
        typescript: format!(
            "test('{}', () => explore({typescript_app}, {{ {} }}));\n",
            name.replace('_', " "),
            options(Value::to_string, ": ")
        ),
        rust: format!(
            "#[tokio::test]\nasync fn {name}() {{\n{read}    let report = {rust_app}.replay({token:?}).await.unwrap();\n    \
             assert!(report.held(), \"{{report}}\");\n}}\n"
        ),
        shell: format!(
            "shared-inbox-mock explore --scenario {} --replay {} -- {shell_app}",
            shell_word(file),
            shell_word(token),
        ),
    }
}

fn rule_name(oracle: Oracle) -> &'static str {
    match oracle {
        Oracle::SameEnd => "it_ends_as_without_trouble",
        Oracle::NeverTwice => "nobody_gets_the_same_text_twice",
        Oracle::NobodyForgotten => "every_customer_is_answered",
        Oracle::PersonsWord => "what_a_person_decided_counts",
        Oracle::WellBehaved => "the_app_behaves_well",
        Oracle::Expect => "what_is_expected_holds",
    }
}

/// Writes a JSON value in Python, whose strings, numbers, lists and dictionaries look the same.
fn python_literal(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => format!("[{}]", list(items.iter().map(python_literal).collect())),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), python_literal(value))
            };
            format!("{{{}}}", list(fields.iter().map(field).collect()))
        }
        plain => plain.to_string(),
    }
}

/// Quotes a word for a shell where it needs to be.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:=,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

//! What is installed once runs, and is not installed again.

use std::{process::Command, thread};

use shared_inbox_tests::peers;

#[test]
#[ignore = "needs Python"]
fn a_python_package_is_importable_and_installed_once_for_all_who_ask() {
    let homes: Vec<_> = thread::scope(|scope| {
        let asks: Vec<_> =
            (0..3).map(|_| scope.spawn(|| peers::python(&["standardwebhooks==1.1.0"]))).collect();
        asks.into_iter().map(|ask| ask.join().expect("asking does not panic")).collect()
    });
    let [Some(python), Some(second), Some(third)] = homes.as_slice() else { return };
    assert!(python == second && second == third);
    let out = Command::new(python).args(["-c", "import standardwebhooks"]).output().expect("it starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
#[ignore = "needs Node"]
fn an_npm_package_lies_in_node_modules() {
    let Some(modules) = peers::npm(&["standardwebhooks@1.1.1"]) else { return };
    assert!(modules.join("standardwebhooks/package.json").is_file());
}

#[test]
#[ignore = "needs Node"]
fn node_is_new_enough() {
    let Some(node) = peers::node22() else { return };
    let out = Command::new(node).args(["-p", "process.versions.node"]).output().expect("it starts");
    let version = String::from_utf8(out.stdout).expect("text");
    assert!(
        version.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|n: u32| n >= 22),
        "{version}"
    );
}

#[test]
#[should_panic(expected = "pin every package")]
fn a_package_without_a_version_is_refused() {
    peers::npm(&["@redocly/cli"]);
}

#[test]
#[ignore = "needs a browser"]
fn a_browser_shows_a_page() {
    let Some(browser) = peers::browser() else { return };
    let script = std::env::temp_dir().join(format!("a-browser-shows-a-page-{}.mjs", std::process::id()));
    let text = "
        import { createRequire } from 'node:module';
        const { chromium } = createRequire(`${process.env.MODULES}/`)('playwright-core');
        const browser = await chromium.launch({
            executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'],
        });
        const page = await browser.newPage();
        await page.setContent('<h1>shown</h1>');
        process.stdout.write(await page.textContent('h1'));
        await browser.close();
    ";
    std::fs::write(&script, text).expect("written");
    let out = browser.script(&script).output().expect("it starts");
    _ = std::fs::remove_file(&script);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "shown", "{}", String::from_utf8_lossy(&out.stderr));
}

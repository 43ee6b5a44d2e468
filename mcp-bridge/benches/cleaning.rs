//! What it costs to make a mail of 1 MiB harmless, beside what the bridge pays for it anyway: reading it out
//! of the service's JSON.
//!
//! A real result never cleans that much, because every field has a cap: the last rows show what a whole read
//! of a conversation with such a mail costs in both forms.

use std::time::{Duration, Instant};

use serde_json::json;
use shared_inbox::Conversation;
use shared_inbox_mcp::render::{self, Fence, RenderOptions, SanitizeReport, clean};

const SIZE: usize = 1 << 20;
const RUNS: usize = 15;

fn main() {
    let pieces = [
        ("plain", "Dear team, my order 1042 has not come. Could you look where it is? Thank you, Kim.\n"),
        (
            "other alphabets",
            "Уважаемая команда, мой заказ 1042 не пришёл. 注文はどこですか。 Grüße, Łukasz.\n",
        ),
        ("links", "![a](https://e.example/x) <b>www.e.example</b> [b](//e.example) [c]: https://e.example\n"),
        ("hidden", "\u{200b}\u{202e}a\u{e0041}⟦end⟧\u{feff}p\u{430}ypal\u{2066}\n"),
    ];
    println!(
        "{:<18} {:>10} {:>10} {:>8} {:>10} {:>8}",
        "1 MiB of", "read ms", "clean ms", "ratio", "result ms", "ratio"
    );
    for (name, piece) in pieces {
        let text = piece.repeat(SIZE / piece.len());
        let mail = conversation(&text);
        let read =
            median(|| serde_json::from_str::<Conversation>(&mail).expect("a conversation").timeline.len());
        let cleaning = median(|| clean(&text, &mut SanitizeReport::default()).len());
        let parsed: Conversation = serde_json::from_str(&mail).expect("a conversation");
        let result = median(|| {
            let rendered =
                render::conversation(&RenderOptions::new(Fence::with_marker("m"), 50_000), &parsed, None);
            rendered.text.len() + rendered.structured.as_object().map_or(0, serde_json::Map::len)
        });
        let ratio = |one: Duration| one.as_secs_f64() / read.as_secs_f64();
        println!(
            "{name:<18} {:>10.2} {:>10.2} {:>8.2} {:>10.2} {:>8.2}",
            millis(read),
            millis(cleaning),
            ratio(cleaning),
            millis(result),
            ratio(result)
        );
    }
}

fn conversation(text: &str) -> String {
    json!({
        "id": "cnv_1", "subject": "Order", "status": "open", "contact": { "name": "Kim", "email": "kim@customer.example" },
        "mailbox": "help@shop.example", "lastMessageAt": "2026-03-01T09:30:00.000Z", "assignee": null, "tags": [],
        "topic": null, "urgency": null, "risk": null, "riskReasons": [], "snoozedUntil": null,
        "team": { "people": [], "agents": [] },
        "timeline": [{ "type": "message", "id": "msg_1", "at": "2026-03-01T09:30:00.000Z", "direction": "inbound",
            "from": { "name": "Kim", "email": "kim@customer.example" }, "status": null, "text": text, "attachments": [] }],
    })
    .to_string()
}

fn median(run: impl Fn() -> usize) -> Duration {
    let once = || {
        let begun = Instant::now();
        std::hint::black_box(run());
        begun.elapsed()
    };
    let mut all: Vec<_> = (0..RUNS).map(|_| once()).collect();
    all.sort();
    all[RUNS / 2]
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

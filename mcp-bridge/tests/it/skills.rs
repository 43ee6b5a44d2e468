//! Skills over the protocol: the bridge's own and a team's, with digests that hold.

use std::{fs, path::Path};

use rmcp::model::{ClientRequest, CustomRequest, ServerResult};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::fixture::{Answer, Client, ERAS, Fixture, Newer, Older, Person, run};

const OWN: &str = "skill://work-in-shared-inbox/SKILL.md";

async fn ask(client: &Client, method: &str, params: Value) -> Result<Value, String> {
    let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    match client.service.send_request(request).await {
        Ok(ServerResult::CustomResult(result)) => Ok(result.0),
        Ok(other) => Ok(serde_json::to_value(other).unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

/// A folder with one skill of two files.
fn team_skills(dir: &Path) {
    let skill = dir.join("refunds");
    fs::create_dir_all(skill.join("examples")).unwrap();
    let text = "---\nname: refunds\ndescription: How we refund.\n---\n\nUp to 50 euros at once.\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    fs::write(skill.join("examples/kind words.md"), "Dear Kim,\n").unwrap();
    fs::write(skill.join(".secret"), "not served").unwrap();
}

#[tokio::test]
async fn the_bridges_own_skill_is_listed_and_read_with_its_digest() {
    let fixture = Fixture::new().await;
    for era in ERAS {
        let client = fixture.start_program(&Person::who(Answer::No), era, &[]).await;
        let info = client.service.peer_info().unwrap();
        let extensions = info.capabilities.extensions.clone().unwrap_or_default();
        assert!(extensions.contains_key("io.modelcontextprotocol/skills"), "{era:?}");
        let list = ask(&client, "skills/list", json!({})).await.unwrap();
        assert_eq!([&list["resultType"], &list["cacheScope"]], ["complete", "private"], "{era:?}: {list}");
        assert!(list["ttlMs"].is_u64(), "{era:?}: {list}");
        let skill = &list["skills"][0];
        assert_eq!(skill["uri"], OWN);
        assert_eq!(skill["frontmatter"]["name"], "work-in-shared-inbox");
        assert!(skill["frontmatter"]["description"].as_str().unwrap().contains("untrusted"), "{skill}");
        assert_holds(&client, skill).await;
        let one = ask(&client, "skills/get", json!({ "uri": OWN })).await.unwrap();
        assert_eq!(&one["skill"], skill);
        assert_eq!(one["resultType"], "complete");
        for wrong in [json!({ "uri": "skill://other/SKILL.md" }), json!({}), json!({ "uri": 1 })] {
            let error = ask(&client, "skills/get", wrong).await.unwrap_err();
            assert!(error.contains("-32602") || error.contains("skills/list"), "{error}");
        }
        // Clients that do not know the extension see resources.
        let resources = client.service.list_all_resources().await.unwrap();
        let listed = resources.iter().find(|resource| resource.uri == OWN).expect("a resource");
        assert_eq!((&*listed.name, listed.mime_type.as_deref()), (&OWN[8..28], Some("text/markdown")));
    }
}

/// Every file that a skill lists is what the digest says.
async fn assert_holds(client: &Client, skill: &Value) {
    for file in skill["resources"].as_array().unwrap() {
        let content = client.read(file["uri"].as_str().unwrap()).await.expect("a file");
        let hex: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(file["digest"], format!("sha256:{hex}"), "{file}");
        assert_eq!(file["size"], content.len(), "{file}");
    }
}

#[tokio::test]
async fn a_teams_skills_travel_with_the_inbox_as_they_are_now() {
    let fixture = Fixture::new().await;
    let dir = tempfile::tempdir().unwrap();
    team_skills(dir.path());
    let argument = format!("--skills={}", dir.path().display());
    let client = fixture.start_program(&Person::who(Answer::No), Newer, &[&argument]).await;
    let list = ask(&client, "skills/list", json!({})).await.unwrap();
    let skill = &list["skills"][1];
    assert_eq!(skill["frontmatter"], json!({ "name": "refunds", "description": "How we refund." }));
    let uris: Vec<_> =
        skill["resources"].as_array().unwrap().iter().map(|file| file["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["skill://refunds/SKILL.md", "skill://refunds/examples/kind%20words.md"]);
    assert_holds(&client, skill).await;
    let first = client.call("list_tags", json!({})).await;
    let start = &first.content[1].as_text().unwrap().text;
    assert!(start.contains("skill://refunds/SKILL.md (How we refund.)"), "{start}");

    fs::write(dir.path().join("refunds/examples/kind words.md"), "Dear customer,\n").unwrap();
    let changed = ask(&client, "skills/get", json!({ "uri": "skill://refunds/SKILL.md" })).await.unwrap();
    assert_ne!(changed["skill"]["resources"], skill["resources"]);
    assert_holds(&client, &changed["skill"]).await;
}

#[tokio::test]
async fn name_and_description_are_read_as_yaml_reads_them_whatever_else_stands_there() {
    let fixture = Fixture::new().await;
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("refunds")).unwrap();
    let argument = format!("--skills={}", dir.path().display());
    for (written, read) in [
        ("How we refund, and when not", "How we refund, and when not"),
        ("\"We say \\\"no\\\": politely # always\"", "We say \"no\": politely # always"),
        ("'It''s ours: see below'", "It's ours: see below"),
    ] {
        let text = format!(
            "---\n# ours\nlicense: MIT\nname: refunds\nmetadata:\n  name: other\n  level: 2\ndescription: {written}\n\
             long: |\n  one\n\n  two\n---\n\n# Text\nname: other\n"
        );
        fs::write(dir.path().join("refunds/SKILL.md"), text).unwrap();
        let client = fixture.start_program(&Person::who(Answer::No), Newer, &[&argument]).await;
        let list = ask(&client, "skills/list", json!({})).await.unwrap();
        assert_eq!(list["skills"][1]["frontmatter"], json!({ "name": "refunds", "description": read }));
    }
}

#[tokio::test]
async fn nothing_outside_a_skill_can_be_read() {
    let fixture = Fixture::new().await;
    let dir = tempfile::tempdir().unwrap();
    team_skills(dir.path());
    fs::write(dir.path().join("key"), "rk_live_secret").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(dir.path().join("key"), dir.path().join("refunds/link.md")).unwrap();
    let argument = format!("--skills={}", dir.path().join("refunds").display());
    let client = fixture.start_program(&Person::who(Answer::No), Older, &[&argument]).await;
    assert!(client.read("skill://refunds/SKILL.md").await.is_ok());
    for outside in ["../key", "%2e%2e/key", "link.md", ".secret", "examples", "", "examples/../SKILL.md"] {
        assert!(client.read(&format!("skill://refunds/{outside}")).await.is_err(), "{outside}");
    }
}

#[tokio::test]
async fn a_folder_that_holds_no_skill_is_refused_at_the_start() {
    let fixture = Fixture::new().await;
    let dir = tempfile::tempdir().unwrap();
    let refuse = async |said: &str| {
        let (status, errors) = run(fixture.program().arg("--skills").arg(dir.path()).arg("doctor"), "").await;
        assert_eq!(status, Some(2), "{errors}");
        assert!(errors.contains("--skills") && errors.contains(said), "{errors}");
    };
    refuse("no folder with a SKILL.md").await;
    let skill = dir.path().join("refunds");
    fs::create_dir(&skill).unwrap();
    for (text, said) in [
        ("Hello", "SKILL.md: line 1"),
        ("---\nname: other\ndescription: x\n---\n", "`name` must be the folder's, refunds"),
        ("---\nname: refunds\n---\n", "`description` must be a text"),
        ("---\nname: x\n", "no end"),
        ("---\nname x\n---\n", "`name` must be a text"),
        (
            "---\nname: refunds\ndescription: a: b\n---\n",
            "line 3: `description` is not understood: put its text between",
        ),
        ("---\ndescription: a # b\n---\n", "line 2: `description` is not understood"),
        ("---\ndescription: 'it's'\n---\n", "line 2: `description` is not understood"),
        ("---\ndescription: x\n  y\n---\n", "line 2: `description` must stand on one line"),
        ("---\ndescription: &x y\n---\n", "line 2: `description` is not understood"),
        ("---\ndescription: \"x\n---\n", "line 2: `description` is not understood"),
        ("---\ndescription: >\n  x\n---\n", "line 2: `description` must stand on one line"),
        ("---\nname: a\nname: b\n---\n", "line 3: `name` is there twice"),
    ] {
        fs::write(skill.join("SKILL.md"), text).unwrap();
        refuse(said).await;
    }
}

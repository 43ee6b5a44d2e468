//! Skills over the protocol (SEP-2640): listed with the digests of their files, read as resources.

use std::path::PathBuf;

use base64::{Engine, engine::general_purpose::STANDARD};
use rmcp::{
    ErrorData,
    model::{CustomRequest, CustomResult, ReadResourceResult, Resource, ResourceContents},
};
use serde_json::{Value, json};

use crate::{
    outcome::{Failure, FailureKind},
    server::Bridge,
    skills::{self, Skill},
};

/// The name of the extension.
pub(in crate::server) const EXTENSION: &str = "io.modelcontextprotocol/skills";
pub(in crate::server) const LIST: &str = "skills/list";
pub(in crate::server) const GET: &str = "skills/get";
/// The scheme of their addresses.
pub(in crate::server) const SCHEME: &str = "skill://";

/// How long a client may cache the list: people edit their skills.
const SKILLS_TTL_MS: u64 = 60_000;
const MARKDOWN: &str = "text/markdown";

impl Bridge {
    pub(in crate::server) async fn all_skills(&self) -> Vec<Skill> {
        let dir: Option<PathBuf> = self.settings.skills.clone();
        tokio::task::spawn_blocking(move || skills::all(dir.as_deref())).await.unwrap_or_default()
    }

    /// Answers `skills/list` and `skills/get`.
    pub(in crate::server) async fn skills(&self, request: &CustomRequest) -> Result<CustomResult, ErrorData> {
        let all = self.all_skills().await;
        let mut result = match request.method.as_str() {
            LIST => json!({ "skills": all }),
            _ => {
                let uri =
                    request.params.as_ref().and_then(|params| params.get("uri")).and_then(Value::as_str);
                let found = uri.and_then(|uri| all.into_iter().find(|skill| skill.uri == uri));
                let Some(skill) = found else {
                    let why = "skills/get needs `uri`, the address of a skill's SKILL.md; skills/list has them all.";
                    return Err(ErrorData::invalid_params(why, None));
                };
                json!({ "skill": skill })
            }
        };
        result["resultType"] = "complete".into();
        result["ttlMs"] = SKILLS_TTL_MS.into();
        result["cacheScope"] = "private".into();
        Ok(CustomResult::new(result))
    }

    pub(in crate::server) async fn skill_file(&self, uri: &str) -> Result<ReadResourceResult, Failure> {
        let files = self.all_skills().await.into_iter().flat_map(|skill| skill.resources);
        let Some(file) = files.into_iter().find(|file| file.uri == uri) else {
            return Err(Failure::new(FailureKind::NotFound, "There is no such skill; see skills/list."));
        };
        let contents = match String::from_utf8(file.content) {
            Ok(text) => ResourceContents::text(text, uri).with_mime_type(mime_type(uri)),
            Err(bytes) => ResourceContents::blob(STANDARD.encode(bytes.as_bytes()), uri),
        };
        Ok(ReadResourceResult::new(vec![contents]))
    }

    /// Returns the skills as resources, for clients that do not know the extension.
    pub(in crate::server) async fn skill_resources(&self) -> Vec<Resource> {
        let resource = |skill: Skill| {
            Resource::new(&*skill.uri, skill.name())
                .with_description(skill.description())
                .with_mime_type(MARKDOWN)
        };
        self.all_skills().await.into_iter().map(resource).collect()
    }
}

fn mime_type(uri: &str) -> &'static str {
    match uri.rsplit('.').next() {
        Some("md") => MARKDOWN,
        Some("json") => "application/json",
        _ => "text/plain",
    }
}

//! The known name that is nearest to an unknown one, for its author.

use serde_json::Value;

/// How alike two names must be to be taken for one with a typing error, from 0 to 1.
const MIN_LIKENESS: f64 = 0.5;

/// Returns the known name that is nearest, if one is near.
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let plain =
        |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let name = plain(name);
    let likeness =
        known.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(&name, &plain(known)), known));
    let (likeness, known) = likeness.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (likeness >= MIN_LIKENESS).then_some(known)
}

/// Returns `; did you mean …?` when a known name is near.
pub(crate) fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    nearest(name, known).map(|known| format!("; did you mean {known}?")).unwrap_or_default()
}

/// Says that a field is unknown: with the field that has nearly its name, or whose description begins with
/// it, or else with all that there are.
pub(crate) fn unknown<'n>(name: &str, known: impl Iterator<Item = (&'n str, &'n Value)>) -> String {
    let known: Vec<(&str, &Value)> = known.collect();
    let described = || {
        let word = name.to_lowercase();
        let has = |field: &Value| {
            let about = field["description"].as_str().unwrap_or_default().to_lowercase();
            let start = about.split(['.', ',', ';', ':']).next().unwrap_or_default();
            start.split(' ').any(|part| part == word)
        };
        known.iter().find(|(_, field)| has(field)).map(|(name, _)| *name)
    };
    let names = || known.iter().map(|(name, _)| *name);
    match nearest(name, names()).or_else(described) {
        Some(known) => format!("unknown; did you mean {known}?"),
        None if known.is_empty() => "unknown; there are none here".to_owned(),
        None => format!("unknown; there are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

//! The routes of the service: what a rule or an expectation about requests can match at all.

use shared_inbox::{__spec::Operation, Problems};

use crate::{
    json::{matching::text_matches, nearest::did_you_mean},
    ready::REST_PREFIX,
};

/// What a client of the MCP endpoint may send, and the one route that is not an operation.
const OTHERS: [(&str, &str); 4] =
    [("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/openapi.json")];

/// How alike a path must be to a route to be taken for it, from 0 to 1.
const MIN_LIKENESS: f64 = 0.4;

/// Returns the method and the path of each route; `*` stands for an id.
fn routes() -> impl Iterator<Item = (&'static str, String)> {
    let operations = Operation::KNOWN.iter().map(|operation| (operation.method().as_str(), operation.path()));
    let routes = operations.chain(OTHERS).map(|(method, path)| (method, path.replace("{id}", "*")));
    // A HEAD is a GET without the body of the response.
    routes.flat_map(|(method, path)| {
        let head = (method == "GET").then(|| ("HEAD", path.clone()));
        head.into_iter().chain([(method, path)])
    })
}

/// Returns the names of the MCP tools.
pub(crate) fn tools() -> impl Iterator<Item = &'static str> {
    Operation::KNOWN.iter().filter_map(|operation| operation.tool_name())
}

/// The route by which tools are called.
const TOOLS: (&str, &str) = OTHERS[0];

/// Returns whether a pattern and a route have a path in common, by what their segments have in common.
fn overlap(pattern: &str, route: &str, same: impl Fn(&str, &str) -> bool) -> bool {
    pattern.split('/').count() == route.split('/').count()
        && pattern.split('/').zip(route.split('/')).all(|(wanted, is)| same(wanted, is))
}

/// Returns whether any request to a route, or any call of a tool, can have this method and path, in which `*`
/// stands for any run of characters.
pub(crate) fn can_match(method: Option<&str>, path: Option<&str>, of_tool: bool) -> bool {
    let path = path.map(|path| path.strip_prefix(REST_PREFIX).unwrap_or(path));
    let same = |wanted: &str, is: &str| (is == "*" && !wanted.is_empty()) || text_matches(wanted, is);
    routes().filter(|(takes, route)| !of_tool || (*takes, route.as_str()) == TOOLS).any(|(takes, route)| {
        method.is_none_or(|method| text_matches(method, takes))
            && path.is_none_or(|path| overlap(path, &route, same) || text_matches(path, &route))
    })
}

/// Returns whether a rule for this path can match a request to a route. `*` stands for a whole segment, and
/// no id has one in it.
fn rule_fits(path: Option<&str>, route: &str) -> bool {
    let same = |wanted: &str, is: &str| {
        wanted == is || wanted == "*" || (is == "*" && !wanted.is_empty() && !wanted.contains('*'))
    };
    path.is_none_or(|path| overlap(path, route, same))
}

/// Adds the problems of a rule for requests that no route has.
pub(super) fn check(method: Option<&str>, path: Option<&str>, tool: Option<&str>, problems: &mut Problems) {
    let fits = |(_, route): &(_, String)| rule_fits(path, route);
    let known_path = path.filter(|_| routes().any(|route| fits(&route)));
    if let Some(path) = path.filter(|_| known_path.is_none()) {
        problems.push(
            "path",
            match path.starts_with('/') {
                true => format!("no route of the service has it{}", nearest(path)),
                false => "must start with `/`, as in `/conversations/*/notes`".to_owned(),
            },
        );
    }
    let at_path = routes().filter(|route| known_path.is_none() || fits(route));
    let mut methods: Vec<&str> = at_path.map(|(method, _)| method).collect();
    methods.sort_unstable();
    methods.dedup();
    if let Some(method) =
        method.filter(|method| !methods.iter().any(|takes| method.eq_ignore_ascii_case(takes)))
    {
        let (at, hint) = (known_path.unwrap_or("the service"), did_you_mean(method, methods.iter().copied()));
        problems.push("method", format!("{at} takes {}, not {method}{hint}", methods.join(", ")));
    }
    if let Some(tool) = tool.filter(|tool| !tools().any(|known| known == *tool)) {
        problems.push("tool", format!("there is no such MCP tool{}", did_you_mean(tool, tools())));
    } else if tool.is_some()
        && !(rule_fits(path, TOOLS.1) && method.is_none_or(|method| method.eq_ignore_ascii_case(TOOLS.0)))
    {
        problems.push("tool", format!("is called by {} {} alone", TOOLS.0, TOOLS.1));
    }
}

/// Suggests the route whose method and path, if they are given, are nearest.
pub(crate) fn did_you_mean_route(method: Option<&str>, path: Option<&str>) -> String {
    let join = |parts: [Option<&str>; 2]| parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let known = routes().map(|(takes, route)| join([method.map(|_| takes), path.map(|_| &*route)]));
    did_you_mean(&join([method, path]), known.collect::<Vec<_>>().iter().map(String::as_str))
}

/// Names the route that is nearest to a path, or all of them.
fn nearest(path: &str) -> String {
    let plain = path.strip_prefix(REST_PREFIX).unwrap_or(path).split('?').next().unwrap_or_default();
    let segment = |segment: &str| if segment.contains('_') { "*".to_owned() } else { segment.to_owned() };
    let plain = plain.split('/').map(segment).collect::<Vec<_>>().join("/");
    let likeness = |route: &String| strsim::normalized_damerau_levenshtein(&plain, route);
    let mut paths: Vec<String> = routes().map(|(_, route)| route).collect();
    paths.sort_unstable();
    paths.dedup();
    match paths.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))) {
        Some(route) if likeness(route) >= MIN_LIKENESS => format!("; did you mean {route}?"),
        _ => format!("; there are {}", paths.join(", ")),
    }
}

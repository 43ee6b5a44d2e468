//! Responses: JSON, with the one field `error` for a refusal.

use axum::{body::Body, response::IntoResponse};
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use crate::world::Refusal;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Returns a response with this JSON.
pub(crate) fn json(status: u16, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// Returns a response with the service's error body.
pub(crate) fn error(status: u16, message: &str) -> Response<Bytes> {
    #[derive(Serialize)]
    struct Body<'a> {
        error: &'a str,
    }
    let body = serde_json::to_vec(&Body { error: message }).unwrap_or_default();
    let mut response = json(status, body);
    if status == 401 {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Returns the response to a refusal.
pub(crate) fn refusal(refusal: &Refusal) -> Response<Bytes> {
    error(refusal.status, &refusal.message)
}

/// Returns the bytes of a response to something that is not a readable request.
pub(crate) fn unreadable(status: u16) -> Bytes {
    let message = match status {
        414 => "The address of this request is too long; the longest search has 200 characters.",
        431 => "The headers of this request are too large; a request needs its key and little else.",
        _ => "This is not an HTTP/1.1 request that could be read.",
    };
    let response = error(status, message);
    let (status, body) = (response.status(), String::from_utf8_lossy(response.body()).into_owned());
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close");
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into()
}

/// Returns the response of an existing path to an unknown method.
pub(crate) fn wrong_method(allowed: &str) -> Response<Bytes> {
    let mut response = error(405, &format!("This path does not take this method; it takes {allowed}."));
    if let Ok(allowed) = HeaderValue::from_str(allowed) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// Returns the service's response with this status, for failures on demand.
pub(crate) fn for_status(status: u16) -> Response<Bytes> {
    let message = match status {
        401 => "The API key is missing, wrong or revoked.",
        403 => "The API key lacks the needed scope.",
        404 => "No such conversation.",
        429 => "Too many requests: slow down to 120 a minute.",
        500.. => "Something went wrong on our side; try again shortly.",
        _ => "This request was refused by a fault rule.",
    };
    error(status, message)
}

impl IntoResponse for Refusal {
    fn into_response(self) -> axum::response::Response {
        refusal(&self).map(Body::from)
    }
}

//! For actix-web: the extractor, and responses without a body.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use actix_web::body::{BodyStream, BoxBody, to_bytes_limited};
use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::{Bytes, Data};
use actix_web::{FromRequest, HttpRequest, HttpResponse, Responder, ResponseError};
use serde::de::DeserializeOwned;

use crate::receiver::{Receiver, Rejection, Webhook};
use crate::replay::{HandleError, Handled};
use crate::verified::VerifiedBody;

impl<T: DeserializeOwned + 'static, E: 'static> FromRequest for Webhook<T, E> {
    type Error = Rejection;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Rejection>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let receiver = request.app_data::<Receiver<E>>();
        let receiver =
            receiver.or_else(|| request.app_data::<Data<Receiver<E>>>().map(Data::get_ref)).cloned();
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let receiver = receiver.ok_or(Rejection::NoReceiver)?;
            let checked = receiver.check(request.headers())?;
            let body = receiver.in_time(read(&request, payload, receiver.limit())).await;
            let body = body.map_err(|rejection| receiver.reject(rejection))?;
            receiver.verify(checked, &body, VerifiedBody::parse_from).map(Webhook)
        })
    }
}

/// Reads the bytes as they came, not decompressed as actix-web's own extractors do: those were signed.
async fn read(request: &HttpRequest, payload: Payload, limit: usize) -> Result<Bytes, Rejection> {
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: u64| usize::try_from(bytes).map_or(true, |bytes| bytes > limit)) {
        return Err(Rejection::TooLarge { limit });
    }
    match to_bytes_limited(BodyStream::new(payload), limit).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(Rejection::Unreadable),
        Err(_) => Err(Rejection::TooLarge { limit }),
    }
}

impl ResponseError for Rejection {
    fn status_code(&self) -> StatusCode {
        code(self.status())
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}

impl<T> Responder for Handled<T> {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        HttpResponse::new(code(self.status()))
    }
}

impl<E: fmt::Debug> ResponseError for HandleError<E> {
    fn status_code(&self) -> StatusCode {
        code(self.status())
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

//! The numbers of the bridge's own requests. The library counts from 0, and there are clients that take a
//! cancellation of request 0 for one of nothing. So they count from 1 on the wire.

use rmcp::{
    RoleServer,
    model::{JsonRpcMessage, RequestId, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};

pub(super) fn number(message: &mut TxJsonRpcMessage<RoleServer>) {
    match message {
        JsonRpcMessage::Request(request) => shift(&mut request.id, 1),
        JsonRpcMessage::Notification(notification) => {
            if let ServerNotification::CancelledNotification(cancelled) = &mut notification.notification
                && let Some(id) = &mut cancelled.params.request_id
            {
                shift(id, 1);
            }
        }
        _ => {}
    }
}

/// Gives what comes back the number that the library knows it by.
pub(super) fn restore(message: &mut RxJsonRpcMessage<RoleServer>) {
    match message {
        JsonRpcMessage::Response(response) => shift(&mut response.id, -1),
        JsonRpcMessage::Error(error) => error.id.iter_mut().for_each(|id| shift(id, -1)),
        _ => {}
    }
}

fn shift(id: &mut RequestId, by: i64) {
    // Some clients give a number back as text.
    let number = match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(text) => text.parse().ok(),
    };
    if let Some(number) = number.and_then(|number: i64| number.checked_add(by)) {
        *id = RequestId::Number(number);
    }
}

//! The options of every call.

/// The setters of these options.
macro_rules! call_options {
    () => {
        $crate::model::setters! {
            /// Sets the priority in the queue of the rate limit.
            priority(priority: $crate::client::policy::Priority) options.priority = priority;
            /// Sets the time for one attempt, instead of the client's.
            timeout(timeout: std::time::Duration) options.timeout = timeout;
            /// Sets the time for the call, with retries and waits, instead of the client's.
            deadline(deadline: std::time::Duration) options.deadline = deadline;
            /// Sets how often to repeat, instead of the client's policy.
            retry(policy: $crate::client::policy::RetryPolicy) options.retry = policy;
            /// Sets how long to wait for the client's own rate limit: up to the deadline by default. A longer
            /// wait is an error that names it, as early as it is known.
            max_wait(max_wait: std::time::Duration) options.max_wait = max_wait;
        }

        /// Sends this header too, with every request of the call, instead of one of that name set before:
        /// `header("traceparent", …)`. A header that the client sets itself, such as `Authorization`, or one
        /// that is malformed is an error when the call is made.
        pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
            self.options.headers.set(name.as_ref(), value.as_ref());
            self
        }
    };
}
pub(crate) use call_options;

/// Short forms of these, for calls that are made once.
macro_rules! single_call_options {
    () => {
        /// Makes this background work: it queues after interactive calls and leaves a part of the rate limit
        /// for them.
        pub fn bulk(self) -> Self {
            self.priority($crate::client::policy::Priority::Bulk)
        }

        /// Fails at once when the client's own rate limit is used up, with an error that names the wait,
        /// instead of waiting.
        pub fn no_wait(self) -> Self {
            self.max_wait(std::time::Duration::ZERO)
        }
    };
}
pub(crate) use single_call_options;

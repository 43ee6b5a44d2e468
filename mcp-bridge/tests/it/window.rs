//! The page, as the window of a browser has it.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode, header::HeaderMap, redirect::Policy};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ElicitRequestParams, InputRequest};

use super::fixture::{Client, Person};

pub(crate) const BODY: &str = "Hello Kim,\n\n<b>it</b> left today: https://shop.example/t?a=1&b=2";

/// A browser's window with the page.
pub(crate) struct Window {
    pub(crate) http: reqwest::Client,
    url: String,
    cookie: String,
    pub(crate) token: String,
    pub(crate) shown: String,
    pub(crate) headers: HeaderMap,
}

pub(crate) fn http() -> reqwest::Client {
    reqwest::Client::builder().redirect(Policy::none()).no_proxy().tls_certs_only([]).build().unwrap()
}

impl Window {
    /// Follows a link to the page.
    pub(crate) async fn open(url: &str) -> Self {
        let page = http().get(url).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        Self::open_page(url, page).await
    }

    /// A window with the page that was loaded from this address.
    pub(crate) async fn open_page(url: &str, page: Response) -> Self {
        let mut window = Self::new(url.to_owned(), page.headers().clone());
        window.read(page.text().await.unwrap());
        window
    }

    /// A window for this address, with the cookie that these headers set.
    pub(crate) fn new(url: String, headers: HeaderMap) -> Self {
        let cookie = headers["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { http: http(), url, cookie, token: String::new(), shown: String::new(), headers }
    }

    fn read(&mut self, shown: String) {
        let token = shown.split("name=\"token\" value=\"").nth(1).unwrap_or_default();
        self.token = token.split('"').next().unwrap().to_owned();
        self.shown = shown;
    }

    /// Loads the page and keeps what it shows.
    pub(crate) async fn load(&mut self) {
        let shown = self.again().await;
        self.read(shown);
    }

    pub(crate) fn origin(&self) -> &str {
        self.url.rsplit_once('/').unwrap().0
    }

    /// The form as the browser sends it.
    pub(crate) fn form(&self, answer: &str) -> RequestBuilder {
        let body = format!("token={}&answer={answer}", self.token);
        self.http
            .post(&self.url)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", self.origin())
            .header("cookie", format!("a=b; {}; consentother=no", self.cookie))
            .body(body)
    }

    pub(crate) async fn press(&self, answer: &str) -> StatusCode {
        self.form(answer).send().await.unwrap().status()
    }

    /// The page as it is now, in the same window.
    pub(crate) async fn again(&self) -> String {
        let request = self.http.get(&self.url).header("cookie", &self.cookie);
        request.send().await.unwrap().text().await.unwrap()
    }
}

/// The handle and the address of a question in the newer protocol.
pub(crate) fn link(response: CallToolResponse) -> (Option<String>, String) {
    let CallToolResponse::InputRequired(question) = response else {
        panic!("expected a question, got {response:?}")
    };
    let Some(InputRequest::Elicitation(asked)) = question.input_requests.unwrap().remove("consent") else {
        panic!("a question")
    };
    let ElicitRequestParams::UrlElicitationParams { url, .. } = asked.params else { panic!("a link") };
    (question.request_state, url)
}

/// Asks on the page and opens it, and lets two seconds pass. Returns the handle of the question, too.
pub(crate) async fn ask_on_page(
    client: &Client,
    person: &Person,
    call: CallToolRequestParams,
) -> (String, Window) {
    let (state, url) = link(client.service.call_tool_once(call).await.unwrap());
    let window = Window::open(&url).await;
    person.clock.forward(Duration::from_secs(2));
    (state.unwrap(), window)
}

//! Tests in Rust as they are printed, kept in the folder `printed` so that they are compiled and run: each fails with the app in which it
//! was found, and passes with the correct one.

macro_rules! printed {
    ($app:literal: $($name:ident $test:ident,)*) => {$(
        #[allow(dead_code, unused_imports, clippy::all, clippy::pedantic)]
        mod $name {
            mod faulty {
                const APP: &str =
                    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explore/other_languages/", $app);
                const NAME: &str = stringify!($name);
                include!(concat!("printed/", stringify!($name), ".rs"));

                #[tokio::test]
                #[ignore = "needs Python"]
                #[should_panic]
                async fn the_test_fails() {
                    $test().await;
                }
            }

            mod correct {
                const APP: &str =
                    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explore/other_languages/", $app);
                const NAME: &str = "correct";
                include!(concat!("printed/", stringify!($name), ".rs"));

                #[tokio::test]
                #[ignore = "needs Python"]
                async fn the_test_passes() {
                    $test().await;
                }
            }
        }
    )*};
}

printed! {
    "app.py":
    retries_blindly nobody_gets_the_same_text_twice,
    answers_what_the_list_shows nobody_gets_the_same_text_twice,
    marks_first every_customer_is_answered,
    swallows_every_error every_customer_is_answered,
    remembers_in_a_file_too_late nobody_gets_the_same_text_twice,
    ignores_who_has_it what_a_person_decided_counts,
    drafts_again_what_was_discarded what_a_person_decided_counts,
    knows_its_draft_by_its_words what_a_person_decided_counts,
    leaves_a_lock_behind the_app_behaves_well,
}

printed! {
    "server.py":
    no_dedupe nobody_gets_the_same_text_twice,
}

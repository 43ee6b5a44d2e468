use super::Test;
pub(super) fn write(_: &Test) -> String {
    String::new()
}

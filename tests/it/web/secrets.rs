//! No page has a secret of what was recorded, or of somebody's name.

use super::*;
use crate::exporting::secrets::{assert_clean, planted, removed_elsewhere};

#[test]
fn no_page_has_a_secret_in_what_it_says_is_wrong() {
    for (scratch, path, told) in
        [(removed_elsewhere(), "a.txt", "removed by Bob [REDACTED"), (planted(), "token.txt", "[REDACTED")]
    {
        let served = Served::start(&scratch, &[]);
        let head = scratch.id("HEAD");
        let why = format!("/why/{head}/{path}");
        let commit = format!("/c/{head}");
        for address in ["/", "/commits", "/branches", "/stats", "/about", "/search?q=token", &commit, &why] {
            assert_clean(&served.page(address), address);
        }
        assert!(served.page(&why).contains(told), "{}", served.page(&why));
    }
}

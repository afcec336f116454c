//! No page has a secret of what was recorded, or of somebody's name.

use super::*;
use crate::exporting::secrets::{assert_clean, planted, removed_elsewhere};
use crate::exporting::session_ids::{SECRET, named_by_a_secret};

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

#[test]
fn no_page_and_no_address_has_an_id_that_is_a_secret() {
    let scratch = named_by_a_secret();
    let served = Served::start(&scratch, &[]);
    let mut waiting: Vec<String> =
        ["/", "/commits", "/branches", "/stats?by=session", "/about", "/search?q=words"].map(str::to_owned).to_vec();
    waiting.push(format!("/c/{}", scratch.id("HEAD~1")));
    let mut seen = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    while let Some(address) = waiting.pop() {
        if !seen.insert(address.clone()) {
            continue;
        }
        assert!(!address.contains(&SECRET[..12]), "{address}");
        let reply = served.get(&address);
        assert_eq!(reply.status, 200, "{address}");
        assert!(!reply.body.contains(SECRET), "{address}: {}", reply.body);
        if address.contains("hidden-") {
            kinds.insert(address[..2].to_owned());
            assert!(reply.body.contains("the words of it") || reply.body.contains("helping words"), "{address}");
        }
        let links = reply.body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let pages = links.filter(|link| ["/c/", "/s/", "/raw/"].iter().any(|start| link.starts_with(start)));
        waiting.extend(pages.map(|link| link.split('#').next().unwrap().to_owned()));
    }
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["/c", "/r", "/s"],
        "all kinds of pages of it were read: {seen:?}"
    );
}

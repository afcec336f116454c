//! Commits with evidence and no conversation.

use super::*;

#[test]
fn a_commit_with_evidence_alone_has_a_page_whose_links_lead_somewhere() {
    let scratch = Scratch::new();
    scratch.commit("a.txt", "a\n", "make a");
    scratch.write("x.log", "error: it broke\n");
    scratch.shiftlog("evidence", ["attach", "-q", "x.log"]).ok();
    let served = Served::start(&scratch, &[]);
    let page = served.page(&format!("/c/{}", scratch.id("HEAD")));
    assert!(page.contains("error: it broke") && page.contains("<h1>make a</h1>"), "{page}");
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let own: Vec<&str> = links.filter(|link| link.starts_with('/')).collect();
    assert!(own.iter().any(|link| link.contains("a.txt")), "{own:?}");
    own.iter().for_each(|link| drop(served.page(link)));
}

//! Sub-agents stand within their session, and have pages of their own.

use super::*;

#[test]
fn the_place_of_a_sub_agent_leads_to_a_page_of_its_own() {
    let scratch = crate::exporting::of_several();
    let served = Served::start(&scratch, &[]);
    let pages = crawl(&served);
    let own = "/s/claude/alpha.a1b2";
    let leading: Vec<&String> =
        pages.keys().filter(|address| pages[*address].contains(&format!("href=\"{own}\""))).collect();
    assert!(leading.contains(&&"/s/claude/alpha".to_owned()), "{leading:?}");
    let page = &pages[own];
    assert!(page.contains("make three") && page.contains("three.rs") && !page.contains("make one"), "{page}");
    let file = scratch.shiftlog("export", ["--html"]).ok();
    assert!(file.contains("Sub-agent") && !file.contains(own), "a file has no other page to lead to");
}

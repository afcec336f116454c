//! Links that must lead somewhere although something is missing, and pages that have nothing to show.

use super::*;

#[test]
fn a_commit_without_a_conversation_has_a_page() {
    let scratch = recorded();
    scratch.commit("src/one.rs", "fn one() {}\nfn by_hand() {}\n", "type by hand");
    let served = Served::start(&scratch, &[]);
    let file = served.page(&format!("/why/{}/src/one.rs", scratch.id("HEAD")));
    let address = format!("/c/{}", scratch.id("HEAD"));
    assert!(file.contains(&format!("href=\"{address}\"")), "{file}");
    let page = served.page(&address);
    assert_whole(&page, &address);
    assert!(page.contains("<h1>type by hand</h1>") && page.contains("no conversation recorded"), "{page}");
    assert!(page.contains("by_hand") && page.contains("src/one.rs"), "its change is there: {page}");
    // Nothing is made up of what is no commit, and a session is not found on a commit that has none.
    assert_eq!(served.get("/c/0123456789012345678901234567890123456789").status, 404);
    assert_eq!(served.get(&format!("{address}/claude/alpha-1")).status, 404);
}

#[test]
fn a_session_whose_words_are_not_here_has_no_link_to_them() {
    let scratch = recorded();
    let other = Scratch::empty(&[]);
    let from = scratch.top.to_str().unwrap();
    other.git(["fetch", "-q", from, "topic/x:refs/heads/work", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    let served = Served::start(&other, &[]);
    let pages = crawl(&served);
    assert!(pages.keys().any(|address| address.starts_with("/s/")), "{:?}", pages.keys());
    assert!(!pages.keys().any(|address| address.starts_with("/raw/")), "{:?}", pages.keys());
}

#[test]
fn counts_and_branches_of_nothing_say_so() {
    let served = (Scratch::new(), Scratch::empty(&[]));
    let (begun, unborn) = (Served::start(&served.0, &[]), Served::start(&served.1, &[]));
    for page in [begun.page("/stats"), unborn.page("/stats?by=path")] {
        assert!(page.contains("No conversation recorded") && !page.contains("<table"), "{page}");
    }
    let page = unborn.page("/branches");
    assert!(page.contains("There are no local branches") && !page.contains("<table"), "{page}");
}

#[test]
fn a_cost_that_is_not_known_is_told_as_such() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let page = served.page(&format!("/c/{}", scratch.id("HEAD")));
    assert!(page.contains("<li>cost unknown</li>"), "{page}");
    assert!(served.page("/").contains("<li>cost unknown</li>"));
}

#[test]
fn every_landmark_has_a_name_of_its_own_and_headings_skip_no_level() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let text_of =
        |page: &str, id: &str| page.split_once(&format!("id=\"{id}\">")).map(|(_, rest)| rest[..40].to_owned());
    let several = crate::exporting::of_several();
    let of_several = Served::start(&several, &[]);
    let page = of_several.page(&format!("/c/{}", several.id("HEAD")));
    let mut names: Vec<String> = Vec::new();
    for ids in values(&page, "aria-labelledby") {
        let texts: Vec<String> = ids.split(' ').filter_map(|id| text_of(&page, id)).collect();
        assert_eq!(texts.len(), ids.split(' ').count(), "{ids} are there");
        names.push(ids.to_owned());
    }
    let turns: Vec<&String> = names.iter().filter(|ids| ids.contains("t1-name")).collect();
    assert!(turns.len() > 1 && turns.iter().all(|ids| ids.contains(' ')), "with the session: {turns:?}");
    let found = served.page("/search?q=part");
    let levels: Vec<&str> = found.match_indices("<h").map(|(at, _)| &found[at + 2..at + 3]).collect();
    let levels: Vec<&&str> = levels.iter().filter(|level| "123456".contains(**level)).collect();
    assert_eq!(levels[..3], [&"1", &"2", &"3"], "{found}");
}

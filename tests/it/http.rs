//! Sharing over HTTP: what Git does with the user's configuration, `git shiftlog sync` does too.

use std::fs;
use std::path::Path;

use crate::server::Http;
use crate::sharing::Team;

/// Returns a team of two clones, one with a conversation that the other has fetched, and a server that only serves requests
/// with a line.
fn team_behind(demanded: &'static str) -> Option<(Team, Http, [std::path::PathBuf; 2])> {
    let team = Team::new();
    let http = Http::start(&team.scratch, &team.server, demanded)?;
    let clones = ["a", "b"].map(|name| team.clone_of(name, &[]));
    team.says(&clones[0], "HEAD", "one");
    for clone in &clones {
        team.shiftlog(clone, "sync", &["-q"]).ok();
        team.git(clone, &["remote", "set-url", "origin", &http.url("server.git")]).ok();
    }
    Some((team, http, clones))
}

/// Lets the first clone say something, and the second one fetch it.
fn assert_shares(team: &Team, [a, b]: [&Path; 2], words: &[&str]) {
    team.says(a, "HEAD", words[words.len() - 1]);
    team.shiftlog(a, "sync", &["-q"]).ok();
    team.shiftlog(b, "sync", &["-q"]).ok();
    team.assert_said(b, "HEAD", words);
}

#[test]
fn over_http_every_fetch_is_made_by_git_fetch_with_the_configured_protocol() {
    let Some((team, http, [a, b])) = team_behind("") else { return };
    team.says(&a, "HEAD", "two");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    http.requests();
    let trace = team.scratch.root().join("trace");
    let mut command = team.scratch.command("git", &b);
    command.args(["-c", "transfer.unpackLimit=1", "shiftlog", "sync", "-q"]).env("GIT_TRACE", &trace);
    assert!(command.status().unwrap().success());
    team.assert_said(&b, "HEAD", &["one", "two"]);
    let trace = fs::read_to_string(trace).unwrap();
    assert!(trace.contains("git fetch "), "{trace}");
    let asked: Vec<_> = http.requests().into_iter().filter(|head| head[0].contains("git-upload-pack")).collect();
    assert!(asked.iter().any(|head| head[0].starts_with("POST ")), "words were fetched: {asked:?}");
    for head in asked {
        assert!(head.iter().any(|line| line.eq_ignore_ascii_case("Git-Protocol: version=2")), "{head:?}");
    }
    let packs = fs::read_dir(b.join(".git/objects/pack")).unwrap().flatten().map(|entry| entry.path());
    assert!(packs.into_iter().all(|path| path.extension().is_none_or(|extension| extension != "keep")));
    // A server that was put back to an earlier state.
    team.git(&team.server, &["update-ref", "refs/notes/shiftlog", "refs/notes/shiftlog~1"]).ok();
    assert_shares(&team, [&b, &a], &["one", "two", "three"]);
    for clone in [&a, &b, &team.server] {
        team.assert_sound(clone);
    }
}

#[test]
fn a_protocol_that_is_not_allowed_is_not_used() {
    let Some((team, http, [a, b])) = team_behind("") else { return };
    team.says(&a, "HEAD", "two");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    http.requests();
    for key in ["protocol.allow", "protocol.http.allow"] {
        team.git(&b, &["config", key, "never"]).ok();
        let ran = team.shiftlog(&b, "sync", &["-q"]);
        assert_eq!(ran.code, 128, "{ran:?}");
        assert!(ran.stderr.contains("transport 'http' not allowed"), "{ran:?}");
        team.git(&b, &["config", "--unset", key]).ok();
    }
    assert_eq!(http.requests(), Vec::<Vec<String>>::new(), "the server was not asked");
    team.assert_said(&b, "HEAD", &["one"]);
}

#[test]
fn credential_helpers_extra_headers_and_rewritten_urls_work_as_for_git_fetch() {
    // "tea:pot"
    let Some((team, http, [a, b])) = team_behind("Authorization: Basic dGVhOnBvdA==") else { return };
    team.says(&a, "HEAD", "two");
    let refused = team.shiftlog(&a, "sync", &["-q"]);
    assert_eq!(refused.code, 128, "without a password nothing is served: {refused:?}");
    let helper = "!f() { test \"$1\" = get && printf 'username=tea\\npassword=pot\\n'; }; f";
    team.git(&a, &["config", "credential.helper", helper]).ok();
    let header = format!("http.{}.extraHeader", http.url(""));
    team.git(&b, &["config", &header, "Authorization: Basic dGVhOnBvdA=="]).ok();
    team.git(&b, &["remote", "set-url", "origin", "team:server.git"]).ok();
    team.git(&b, &["config", &format!("url.{}.insteadOf", http.url("")), "team:"]).ok();
    assert_shares(&team, [&a, &b], &["one", "two", "three"]);
    assert_shares(&team, [&b, &a], &["one", "two", "three", "four"]);
}

//! Whether a push by the user publishes our refs.
//!
//! Git tells the `pre-push` hook which refs are pushed, and under which names. The options and refspecs that the user typed
//! are read from the command line of the `git push` process, in `/proc`.

use std::time::{Duration, Instant};

use bstr::ByteSlice as _;

use super::sync::{Level, notes_name};
use crate::archive::{self, Archive};
use crate::capture::process;
use crate::git::{ObjectId, Output, Repository, Tip, git};
use crate::notes;
use crate::record::tombstone;

/// Options of `git push` whose value is a separate word.
const WITH_VALUE: [&str; 5] = ["-o", "--push-option", "--repo", "--receive-pack", "--exec"];

/// How long Git may look for our history among the commits that a push adds.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(2);

/// Says whether the input of the hook names refs of ours, under the names that they have without any setting, to be pushed.
pub fn names_ours(moves: &str) -> bool {
    let is_ours = |name: &str| name.starts_with(notes::DEFAULT_REF) || name.starts_with("refs/shiftlog/");
    moves.lines().any(|line| {
        let [local, local_id, to, _] = line.split(' ').collect::<Vec<_>>()[..] else { return false };
        (is_ours(local) || is_ours(to)) && !is_deletion(local_id)
    })
}

/// Says whether the id of a pushed object, which is all zeros then, says that the ref of the remote is deleted.
fn is_deletion(hex: &str) -> bool {
    hex.bytes().all(|digit| digit == b'0')
}

/// A push that runs our hook.
pub struct UserPush<'a> {
    remote: &'a str,
    /// The input of the hook: `<local ref> <local id> <remote ref> <remote id>`, one line for each ref.
    moves: &'a str,
    options: Vec<String>,
    refspecs: Vec<String>,
}

impl<'a> UserPush<'a> {
    /// Reads the command line of the push. `moves` is the standard input of the hook.
    pub fn of(remote: &'a str, moves: &'a str) -> Self {
        let is_push = |words: &Vec<String>| {
            words.first().is_some_and(|program| program.rsplit('/').next() == Some("git"))
                && words.iter().any(|word| word == "push")
        };
        let words = process::command_lines_above().find(is_push).unwrap_or_default();
        let mut words = words.into_iter().skip_while(|word| word != "push").skip(1);
        let (mut options, mut names) = (Vec::new(), Vec::new());
        while let Some(word) = words.next() {
            if WITH_VALUE.contains(&word.as_str()) {
                words.next();
            } else if word.starts_with('-') {
                options.push(word);
            } else {
                names.push(word);
            }
        }
        // The first name is the remote.
        UserPush { remote, moves, options, refspecs: names.split_off(names.len().min(1)) }
    }

    /// Returns the refs of the remote that would get more of what our refs have than `level` allows: under their own names, as a
    /// mirror does it, under other names, or by their object ids. `None` if none would. The list is empty if commits that the
    /// push adds have the history of one of our refs among them.
    pub fn barred(&self, repo: &Repository, notes_ref: &str, level: Level) -> Option<Vec<&'a str>> {
        // What 'shiftlog.notesRef' named before has conversations, too.
        let own = [vec![notes_ref.to_owned()], repo.written_notes_refs()].concat();
        let is_own = |name: &str| own.iter().any(|own| own == name);
        let is_notes = |name: &str| is_own(name) || name.starts_with(notes::DEFAULT_REF) || name == tombstone::REF;
        let needed = |name: &str| match name {
            name if is_notes(name) => Level::Notes,
            name if name.starts_with("refs/shiftlog/") => Level::All,
            _ => Level::None,
        };
        let names = [own.clone(), repo.ref_names(notes::DEFAULT_REF), repo.ref_names("refs/shiftlog/")];
        let tip = |name: &String| Some((repo.tip(name).ok()??, needed(name)));
        let tips: Vec<(Tip, Level)> = names.concat().iter().filter_map(tip).collect();
        // Our copy of a remote's notes is still no more than notes.
        let of_id = |id: ObjectId| {
            let is_it = |(tip, _): &&(Tip, Level)| tip.commit_id == id || tip.tree_id == id;
            tips.iter().filter(is_it).map(|(_, level)| *level).min()
        };
        let of_object = |id: ObjectId| {
            let is_segment = || Archive::new(repo).header(id).is_ok();
            of_id(id).or_else(|| is_segment().then_some(Level::All)).unwrap_or_default()
        };
        let object = |hex: &str| repo.parse_id(hex).and_then(|id| repo.peeled(id));
        let wrong = |line: &'a str| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [local, local_id, to, _] = fields[..] else { return None };
            let by_name = needed(local).max(needed(to));
            let is_wrong = !is_deletion(local_id)
                && (by_name > level
                    || by_name == Level::None && object(local_id).is_some_and(|id| of_object(id) > level));
            is_wrong.then_some(to)
        };
        if level == Level::All {
            return None;
        }
        let barred: Vec<&str> = self.moves.lines().filter_map(wrong).collect();
        (!barred.is_empty() || self.adds_barred(repo, &tips, level)).then_some(barred)
    }

    /// Says whether the commits that a push adds to the remote have the history of one of our refs among them that `level` does
    /// not allow. That history begins with a commit without parents, of which a project has few. What Git cannot tell in time
    /// counts as no.
    fn adds_barred(&self, repo: &Repository, tips: &[(Tip, Level)], level: Level) -> bool {
        let deadline = Instant::now() + HISTORY_TIMEOUT;
        let roots = |input: String| {
            let command = git(["rev-list", "--max-parents=0", "--stdin"]).repository(repo);
            command.input(input.into_bytes()).until(deadline).capture().unwrap_or_default()
        };
        let mut input = String::new();
        for line in self.moves.lines() {
            let [_, local, _, remote] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
            let commit =
                |hex: &str| repo.parse_id(hex).and_then(|id| repo.peeled(id)).filter(|id| repo.commit(*id).is_ok());
            commit(local).iter().for_each(|id| input += &format!("{id}\n"));
            commit(remote).iter().for_each(|id| input += &format!("^{id}\n"));
        }
        for (_, id) in repo.ref_targets(&format!("refs/remotes/{}/", self.remote)) {
            input += &format!("^{id}\n");
        }
        let added = if tips.is_empty() || input.is_empty() { Output::default() } else { roots(input) };
        if added.is_empty() {
            return false;
        }
        // A copy of notes that is kept below another name is allowed where the notes are.
        let sign = |needed: &Level| if *needed > level { "" } else { "^" };
        let ours = roots(tips.iter().map(|(tip, needed)| format!("{}{}\n", sign(needed), tip.commit_id)).collect());
        ours.lines().any(|root| added.lines().any(|added| added == root))
    }

    /// Returns the names that refs get on the remote, with their new ids, in hex. None if one is no branch and no tag: a server
    /// may take it away at once, as Gerrit does with `refs/for/`, and nobody sees whether it has arrived.
    pub fn arrivals(&self) -> Vec<(&'a str, &'a str)> {
        let arrival = |line: &'a str| {
            let [_, id, name, _] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
            (!is_deletion(id)).then_some((name, id))
        };
        let arrivals: Vec<_> = self.moves.lines().filter_map(arrival).collect();
        let stays = |(name, _): &(&str, &str)| name.starts_with("refs/heads/") || name.starts_with("refs/tags/");
        if arrivals.iter().all(stays) { arrivals } else { Vec::new() }
    }

    /// Says whether no push of our own is needed: this one pushes our refs, or is a dry run.
    pub fn moves_our_refs(&self, repo: &Repository) -> bool {
        let is_ours = |text: &str| ["refs/notes/", "refs/shiftlog/", "refs/*"].iter().any(|ours| text.contains(ours));
        is_ours(self.moves)
            || self.options.iter().any(|option| ["--dry-run", "-n", "--mirror"].contains(&option.as_str()))
            || repo.config_bool(&format!("remote.{}.mirror", self.remote)) == Some(true)
            || self.refspecs(repo).iter().any(|refspec| is_ours(refspec))
    }

    /// Returns the refs of ours that the push sends, by the names to which they would be fetched: what a remote is known to have.
    pub fn sent(&self, repo: &Repository, notes_ref: &str) -> Vec<(String, ObjectId)> {
        let sent = |line: &str| {
            let mut words = line.split(' ').skip(1);
            let id = repo.parse_id(words.next()?).filter(|id| !id.is_null())?;
            let last = match words.next()? {
                archive::REF => "sessions".into(),
                name if name == notes_ref => notes_name(notes_ref),
                _ => return None,
            };
            Some((repo.tracking_ref(self.remote, &last), id))
        };
        self.moves.lines().filter_map(sent).collect()
    }

    /// Returns the refspecs on the command line and in the remote's configuration.
    fn refspecs(&self, repo: &Repository) -> Vec<String> {
        [self.refspecs.clone(), repo.config_strings(&format!("remote.{}.push", self.remote))].concat()
    }
}

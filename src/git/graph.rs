//! A graph of some commits of a range, drawn by `git log --graph`.
//!
//! Git has no option to draw only chosen commits. So a temporary repository gets one commit for each, with the text to
//! show as its message and the nearest chosen ancestors as its parents, and `git log --graph` draws that.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use bstr::ByteSlice as _;

use super::{ObjectId, Output, Paths, Range, Repository, git, temporary};
use crate::error::{Error, Result};

/// A commit to draw.
#[derive(Clone, Debug)]
pub struct GraphNode {
    /// The commit.
    pub commit_id: ObjectId,
    /// When it was committed, in seconds since the epoch.
    pub time: i64,
    /// The text to show for it.
    pub text: Vec<u8>,
}

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub struct GraphOptions<'a> {
    /// Options for `git rev-list` that chose the commits.
    pub walk_options: &'a [&'static str],
    /// Paths that chose the commits.
    pub paths: Option<&'a Paths>,
    /// Whether line ends stand between commits rather than after each.
    pub has_separator: bool,
    /// Whether lines are coloured.
    pub is_colored: bool,
}

impl Repository {
    /// Returns a graph of commits of a range, as `git log --graph` draws it.
    ///
    /// A commit is joined with its parents, and with others to which a path leads that passes no third.
    ///
    /// # Errors
    ///
    /// If history cannot be read or Git fails.
    pub fn graph(&self, range: &Range, nodes: &[GraphNode], drawing: GraphOptions<'_>) -> Result<Output> {
        if nodes.is_empty() {
            return Ok(Output::default());
        }
        let order = self.nearest(range, nodes, drawing)?;
        let failed = |error: std::io::Error| Error::other("cannot make a temporary directory").because(error);
        let directory = temporary::directory().map_err(failed)?;
        let place = directory.path().to_string_lossy().into_owned();
        let objects = directory.path().join("objects").to_string_lossy().into_owned();
        let run = |args: &[&str]| {
            let in_place = ["--git-dir", &place].into_iter().chain(args.iter().copied());
            git(in_place).env("GIT_OBJECT_DIRECTORY", objects.as_str())
        };
        run(&["init", "--quiet", "--bare", "--template="]).capture()?;
        run(&["fast-import", "--quiet"]).input(history(nodes, &order)).capture()?;
        let colors = self.config_string("log.graphColors").map(|colors| format!("log.graphColors={colors}"));
        let mut args: Vec<&str> = colors.iter().flat_map(|colors| ["-c", colors.as_str()]).collect();
        let color = if drawing.is_colored { "--color=always" } else { "--color=never" };
        let format = if drawing.has_separator { "--format=format:%B" } else { "--format=tformat:%B" };
        args.extend(["log", "--graph", "--encoding=UTF-8", "--no-show-signature", color, format, "--branches"]);
        run(&args).capture()
    }

    /// Returns the commits to draw, parents first: each with its index in `nodes`, and the positions of its parents in the
    /// returned list.
    fn nearest(
        &self,
        range: &Range,
        nodes: &[GraphNode],
        drawing: GraphOptions<'_>,
    ) -> Result<Vec<(usize, Rc<[usize]>)>> {
        let numbers: HashMap<ObjectId, usize> =
            nodes.iter().enumerate().map(|(at, node)| (node.commit_id, at)).collect();
        let mut drawn: Vec<(usize, Rc<[usize]>)> = Vec::new();
        // For each commit, the nearest drawn commits that it reaches.
        let mut reached: HashMap<ObjectId, Rc<[usize]>> = HashMap::new();
        let none: Rc<[usize]> = Rc::from([]);
        // Options that leave commits out must not cut the paths between the others.
        let options: Vec<&str> =
            drawing.walk_options.iter().copied().filter(|option| *option == "--first-parent").collect();
        let options = [&["--topo-order", "--reverse", "--parents"], options.as_slice()].concat();
        for line in self.rev_list(range, &options, drawing.paths)? {
            let line = line?;
            let mut ids = line.split(|byte| *byte == b' ').filter_map(|id| self.parse_id(id.to_str().ok()?));
            let Some(commit_id) = ids.next() else { continue };
            let is_first_only = options.contains(&"--first-parent");
            let is_drawn = numbers.contains_key(&commit_id);
            let (mut parents, mut own): (Vec<&Rc<[usize]>>, Vec<usize>) = (Vec::new(), Vec::new());
            for parent_id in ids.take(if is_first_only { 1 } else { usize::MAX }) {
                let Some(found) = reached.get(&parent_id).filter(|found| !found.is_empty()) else { continue };
                parents.push(found);
                // A merge has both its parents, even if one descends from the other.
                own.extend(found.iter().filter(|_| is_drawn && numbers.contains_key(&parent_id)));
            }
            let found = match parents.as_slice() {
                [] => none.clone(),
                [one] => Rc::clone(one),
                several => without_ancestors(several, &own, &drawn),
            };
            let found = match numbers.get(&commit_id) {
                Some(number) => {
                    drawn.push((*number, found));
                    Rc::from([drawn.len() - 1])
                }
                None => found,
            };
            reached.insert(commit_id, found);
        }
        Ok(drawn)
    }
}

/// Merges the drawn commits that several parents reach, in their order, without those that are ancestors of others, unless
/// they are among `own`.
fn without_ancestors(several: &[&Rc<[usize]>], own: &[usize], drawn: &[(usize, Rc<[usize]>)]) -> Rc<[usize]> {
    let mut all: Vec<usize> = Vec::new();
    for at in several.iter().flat_map(|found| found.iter()) {
        if !all.contains(at) {
            all.push(*at);
        }
    }
    let oldest = all.iter().copied().min().unwrap_or_default();
    // A parent has a smaller number than its children.
    let mut ancestors = BTreeSet::new();
    let mut waiting: BTreeSet<usize> = all.iter().copied().collect();
    while let Some(at) = waiting.pop_last().filter(|at| *at > oldest) {
        for parent in drawn[at].1.iter() {
            ancestors.insert(*parent);
            waiting.insert(*parent);
        }
    }
    all.retain(|at| own.contains(at) || !ancestors.contains(at));
    all.into()
}

/// Returns the commits to draw as `git fast-import` reads them, with a branch at each that none descends from.
fn history(nodes: &[GraphNode], order: &[(usize, Rc<[usize]>)]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut tips: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (at, (number, parents)) in order.iter().enumerate() {
        let node = &nodes[*number];
        // Without the reset, the commit before it would be its parent.
        let head = format!(
            "reset refs/scratch\n\ncommit refs/scratch\nmark :{}\ncommitter s <s@localhost> {} +0000\ndata {}\n",
            at + 1,
            node.time.max(0),
            node.text.len()
        );
        stream.extend_from_slice(head.as_bytes());
        stream.extend_from_slice(&node.text);
        stream.push(b'\n');
        for (index, parent) in parents.iter().enumerate() {
            let word = if index == 0 { "from" } else { "merge" };
            stream.extend_from_slice(format!("{word} :{}\n", parent + 1).as_bytes());
            tips.remove(&(order[*parent].0, *parent));
        }
        stream.push(b'\n');
        tips.insert((*number, at));
    }
    // Git draws branches in the order of their names; of commits with the same time, the first one first.
    for (number, at) in tips {
        stream.extend_from_slice(format!("reset refs/heads/{number:08}\nfrom :{}\n\n", at + 1).as_bytes());
    }
    stream
}

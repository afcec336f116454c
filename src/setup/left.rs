//! What is said about files outside the repository, which change only if the user agrees.

use crate::managed::LeftAlone;

/// Returns what files outside the repository are, a clause each, and whether it is about several files.
fn reasons(left: &[LeftAlone]) -> Vec<(String, bool)> {
    let directory = |left: &LeftAlone| Some(format!("'{}'", left.path.parent()?.display()));
    let mut directories: Vec<String> = left.iter().filter(|left| left.link.is_none()).filter_map(directory).collect();
    directories.dedup();
    let hooks = format!("the hooks in {} run in other repositories too", directories.join(", "));
    let links = left.iter().filter_map(|left| {
        let link = left.link.as_ref()?;
        Some((format!("'{}' leads to '{}' outside this repository", link.display(), left.path.display()), false))
    });
    (!directories.is_empty()).then_some((hooks, true)).into_iter().chain(links).collect()
}

/// Returns the question whether files outside the repository shall change: `of_hooks` is its end if hooks are among them.
pub fn question(left: &[LeftAlone], of_hooks: &str, of_links: &str) -> Option<String> {
    let reasons = reasons(left);
    let clauses: Vec<&str> = reasons.iter().map(|(clause, _)| clause.as_str()).collect();
    let (first, rest) = clauses.join("; ").split_at_checked(1).map(|(a, b)| (a.to_uppercase(), b.to_owned()))?;
    Some(format!("{first}{rest}. {}", if has_hooks_of_others(left) { of_hooks } else { of_links }))
}

/// Returns the warnings that files outside the repository are left alone, one for each reason.
pub fn left_alone(left: &[LeftAlone]) -> Vec<String> {
    let warning = |(clause, is_of_several): (String, bool)| {
        let verb = if is_of_several { "are" } else { "is" };
        format!("{clause}, and {verb} left alone")
    };
    reasons(left).into_iter().map(warning).collect()
}

/// Returns the warnings that files outside the repository change, since the user wants it, one for each reason.
pub fn changed_for_all(left: &[LeftAlone]) -> Vec<String> {
    let warning = |(clause, is_of_several): (String, bool)| {
        let what = if is_of_several { "they change for all of these" } else { "it changes there" };
        format!("{clause}, and {what}")
    };
    reasons(left).into_iter().map(warning).collect()
}

/// Says whether hooks that other repositories use, too, are among the files.
pub fn has_hooks_of_others(left: &[LeftAlone]) -> bool {
    reasons(left).iter().any(|(_, is_of_several)| *is_of_several)
}

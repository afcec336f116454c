//! Tool calls as HTML: one line that says what was done, and below it the change, the command or the answer.

use std::cell::RefCell;
use std::rc::Rc;

use maud::{Markup, html};

use super::super::call::{self, Act, TodoItem};
use super::super::input;
use super::super::place::Directories;
use super::super::tasks::Tasks;
use super::change;
use super::packed::Packed;
use super::words::{attached, beginning, markdown};
use crate::outside;
use crate::transcript::{ToolCall, ToolResult};

/// A change of at most so many lines is open from the start.
const MAX_OPEN_LINES: usize = 40;
/// Lines of an answer that are shown at once; the others open with a click.
const ANSWER_LINES: usize = 40;
/// Characters of what a call is about.
const ABOUT_CHARS: usize = 110;

/// A call as a page has it.
#[derive(Debug)]
pub struct Shown {
    /// The line that is always there.
    pub summary: Markup,
    /// The part that opens below the line.
    pub body: Markup,
    /// Whether it is open from the start.
    pub is_open: bool,
    /// Whether the tool says that it failed.
    pub has_failed: bool,
}

/// Shows calls.
#[derive(Debug, Default)]
pub struct Calls {
    place: Directories,
    tasks: Tasks,
    /// Where answers go, if they do not stand with their calls.
    packed: Option<Rc<RefCell<Packed>>>,
}

impl Calls {
    /// Shows calls with paths as they are from a place, and with the names of `tasks` that were made before them.
    pub fn new(place: Directories, tasks: Option<&Tasks>, packed: Option<Rc<RefCell<Packed>>>) -> Self {
        Calls { place, tasks: tasks.cloned().unwrap_or_default(), packed }
    }

    /// Returns where answers go, for other calls of the same page.
    pub fn packed(&self) -> Option<Rc<RefCell<Packed>>> {
        self.packed.clone()
    }

    /// Keeps the name of an item that was made: later calls have only its number.
    pub fn remember(&mut self, call: &ToolCall, result: Option<&ToolResult>) {
        self.tasks.remember(call, result);
    }

    /// Returns the subject of a call, in plain text.
    pub fn about(&self, call: &ToolCall) -> String {
        match Act::of(call) {
            Act::Command(command) => command.trim().to_owned(),
            Act::Edits(edits) => self.paths(edits.iter().map(|edit| edit.path.as_str())),
            Act::Reading(path) => self.place.path(path).into_owned(),
            Act::Plan(plan) => plan.trim_start_matches(['#', ' ']).to_owned(),
            Act::List(items) => {
                let done = items.iter().filter(|item| item.state.mark() == "[x]").count();
                format!("{done} of {} done", items.len())
            }
            Act::Task(id, item) => self.item(&item, id.as_deref()),
            Act::Questions(questions) => questions.first().map(|first| first.text.to_owned()).unwrap_or_default(),
            Act::Delegation(what, _) => what.to_owned(),
            Act::Other(about, path) => {
                let path = path.map(|path| self.place.path(path)).unwrap_or_default();
                let space = if about.is_empty() || path.is_empty() { "" } else { " " };
                format!("{}{space}{path}", self.place.text(&about))
            }
        }
    }

    fn paths<'p>(&'p self, paths: impl Iterator<Item = &'p str>) -> String {
        let mut shown: Vec<_> = paths.map(|path| self.place.path(path)).collect();
        shown.dedup();
        shown.join(", ")
    }

    fn item(&self, item: &TodoItem<'_>, id: Option<&str>) -> String {
        outside::line(&format!("{} {}", sign(item), self.tasks.name(item, id)))
    }

    /// Returns a call and what the tool answered.
    pub fn call(&self, call: &ToolCall, result: Option<&ToolResult>, is_whole: bool) -> Shown {
        let act = Act::of(call);
        let has_failed = result.is_some_and(|result| result.is_error);
        let about = beginning(&self.about(call), ABOUT_CHARS);
        let (mut tally, mut lines) = ((0, 0), 0);
        let mut body = match &act {
            Act::Edits(edits) => {
                let diffs: Vec<_> = edits.iter().map(|edit| (&edit.path, change::lines_of(edit))).collect();
                let of = diffs.iter().map(|(_, lines)| change::tally(lines));
                tally = of.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
                lines = diffs.iter().map(|(_, lines)| lines.len()).sum();
                let has_many = diffs.iter().any(|(path, _)| *path != diffs[0].0);
                html! {
                    @for (path, lines) in diffs.iter().filter(|(_, lines)| !lines.is_empty()) {
                        @if has_many { p.path { (outside::line(&self.place.path(path))) } }
                        (change::lines_html(lines))
                    }
                }
            }
            Act::Command(command) if command.trim().contains('\n') || command.trim().chars().count() > ABOUT_CHARS => {
                html! { pre.command tabindex="0" { (outside::text(command.trim())) } }
            }
            Act::Plan(plan) => html! { div.body { (markdown(plan)) } },
            Act::List(items) => html! { ul.todo { @for item in items { li { (self.item(item, None)) } } } },
            Act::Questions(questions) => html! {
                @for question in questions {
                    div.body {
                        p { strong { (outside::text(question.text)) } }
                        ul { @for (label, about) in &question.options {
                            li { (outside::line(label)) @if let Some(about) = about { ": " (outside::line(about)) } }
                        } }
                    }
                }
            },
            Act::Delegation(_, prompt) => html! { div.typed.task { (outside::text(prompt)) } },
            Act::Other(..) if has_more(&act, call) => {
                html! { pre.input tabindex="0" { (input::input_lines(&call.input).join("\n")) } }
            }
            _ => html! {},
        };
        let rest = input::unshown(call, &act);
        if !rest.is_empty() {
            body = html! { (body) pre.input tabindex="0" { (rest.join("\n")) } };
        }
        let mut first = String::new();
        if let Some(result) = result {
            if !act.answers_itself() || result.is_error {
                body = html! { (body) (self.result(Some(&act), result)) };
                first = self.first_line(&act, result);
            }
        } else if !call.call_id.is_empty() {
            first = "no answer".to_owned();
        }
        let summary = html! {
            span.tool { (outside::line(&call.name)) } " "
            @if matches!(act, Act::Command(_)) { code.about { (about) } } @else { span.about { (about) } }
            (change::tally_html(tally))
            @if has_failed { " " span.badge.bad { "failed" } }
            @if !first.is_empty() { " " span.first { (first) } }
        };
        let is_open = is_whole || (lines > 0 && lines <= MAX_OPEN_LINES);
        Shown { summary, body, is_open, has_failed }
    }

    /// Returns the first line of an answer, or its length.
    fn first_line(&self, act: &Act<'_>, result: &ToolResult) -> String {
        let text = call::without_frame(&result.text);
        match text.trim().lines().count() {
            0 => String::new(),
            lines if act.is_reading() && !result.is_error => super::super::count(lines as u64, "line"),
            _ => beginning(text, 60),
        }
    }

    /// Returns a tool's answer: of a long one a part, and the rest opens with a click.
    pub fn result(&self, act: Option<&Act<'_>>, result: &ToolResult) -> Markup {
        html! {
            (self.result_text(act, result))
            @for picture in result.pictures.iter().filter(|picture| picture.picture.is_some()) { (attached(picture)) }
        }
    }

    fn result_text(&self, act: Option<&Act<'_>>, result: &ToolResult) -> Markup {
        let text = match act {
            Some(Act::Plan(plan)) => call::without_plan(&result.text, plan),
            _ => call::without_frame(&result.text),
        };
        if let Some(Act::Questions(questions)) = act
            && !result.is_error
        {
            let given: Vec<_> = questions
                .iter()
                .filter_map(|question| Some((question, question.answer(&result.text, questions)?)))
                .collect();
            if !given.is_empty() {
                return html! { @for (question, answer) in given {
                    @if questions.len() > 1 { p { (outside::text(question.text)) } }
                    div.prompt { div.typed { (outside::text(answer)) } }
                } };
            }
        }
        let text = outside::text(text.trim_end().trim_start_matches('\n'));
        let text = self.place.text(&text);
        let is_command = matches!(act, Some(Act::Command(_)));
        if text.is_empty() {
            return html! {};
        }
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        // What would leave a line or two for a click is shown.
        let hidden = (ends.len() + 1).saturating_sub(ANSWER_LINES);
        if hidden < 5 {
            return self.result_part(&text);
        }
        let more = |text: &str, what: &str| {
            html! { details.more { summary { (hidden) " " (what) } (self.result_part(text)) } }
        };
        match is_command {
            // The end of a command's output says how it went.
            true => {
                let (before, last) = text.split_at(ends[hidden - 1]);
                html! { (more(before, "earlier lines")) (self.result_part(last)) }
            }
            false => {
                let (first, rest) = text.split_at(ends[ANSWER_LINES - 1]);
                html! { (self.result_part(first)) (more(rest, "more lines")) }
            }
        }
    }

    /// Returns a part of an answer, or what stands in its place if answers are packed.
    fn result_part(&self, text: &str) -> Markup {
        let packed = self.packed.as_ref().and_then(|packed| packed.borrow_mut().add(text));
        packed.unwrap_or_else(|| html! { pre.result tabindex="0" { (text) } })
    }
}

/// Says whether the input of a call says more than its line.
fn has_more(act: &Act<'_>, call: &ToolCall) -> bool {
    let members = call.input.as_object().map_or(0, serde_json::Map::len);
    match act {
        Act::Other(about, path) => {
            let is_long = about.trim().contains('\n') || about.chars().count() > ABOUT_CHARS;
            members > 1 + usize::from(path.is_some() && !about.is_empty()) || is_long
        }
        _ => false,
    }
}

fn sign(item: &TodoItem<'_>) -> &'static str {
    match item.state.mark() {
        "[x]" => "☑",
        "[>]" => "▶",
        "[-]" => "☒",
        _ => "☐",
    }
}

//! Whether and how to colour: `--color`, then `color.shiftlog`, then `color.ui`; slots in `color.shiftlog.<slot>`.

use anstyle::{AnsiColor, Effects, Style as Ansi};

use crate::git::{Repository, date};
use crate::pretty::Style;

/// The value of `--color`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub enum ColorWhen {
    /// Also when the output is no terminal.
    Always,
    /// Never.
    Never,
    /// On a terminal, and in our pager.
    Auto,
}

/// The option that every printing command has.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Color {
    /// Use colours (always, never or auto)
    #[arg(long, value_name = "when", require_equals = true, num_args = 0..=1, default_missing_value = "always")]
    pub color: Option<ColorWhen>,
}

impl Color {
    /// Decides whether to use colours; `is_screen` says that a person will see the output.
    pub fn decide(self, repo: &Repository, is_screen: bool) -> bool {
        let configured = || ["color.shiftlog", "color.ui"].iter().find_map(|key| repo.config_string(key));
        let configured = || configured().as_deref().and_then(when).unwrap_or(ColorWhen::Auto);
        let when = self.color.unwrap_or_else(configured);
        match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            // NO_COLOR and TERM=dumb are what people without colour set; see no-color.org.
            ColorWhen::Auto => {
                is_screen
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}

/// The parts of the output that have a colour, `color.shiftlog.<slot>`, each with the one that it has by default.
pub const SLOTS: [(&str, &str); 8] = [
    ("commit", "yellow"),
    ("user", "cyan bold"),
    ("dim", "dim"),
    ("tool", "magenta"),
    ("code", "blue"),
    ("strong", "bold"),
    ("old", "red"),
    ("new", "green"),
];

/// Returns what a value of `color.shiftlog` means, if it means something.
fn when(value: &str) -> Option<ColorWhen> {
    match value.to_ascii_lowercase().as_str() {
        "always" => Some(ColorWhen::Always),
        "never" | "false" | "no" | "off" | "0" => Some(ColorWhen::Never),
        "auto" | "true" | "yes" | "on" | "1" | "" => Some(ColorWhen::Auto),
        _ => None,
    }
}

/// Says whether a value of `color.shiftlog` means something.
pub fn is_color_when(value: &str) -> bool {
    when(value).is_some()
}

/// Says whether a text names a colour as gitconfig(5) spells it.
pub fn is_color(text: &str) -> bool {
    parse(text).is_some()
}

/// Returns the colours to print with, or none.
pub(super) fn style(repo: &Repository, is_colored: bool, date: date::Format) -> Style {
    if !is_colored {
        return Style { date, ..Style::default() };
    }
    let of_key = |key: String, default: Ansi| {
        let configured = repo.config_string(&key);
        configured.as_deref().and_then(parse).unwrap_or(default).render().to_string()
    };
    let slot = |name: &str| {
        let default = SLOTS.iter().find(|(slot, _)| *slot == name).and_then(|(_, color)| parse(color));
        of_key(format!("color.shiftlog.{name}"), default.unwrap_or_default())
    };
    let grep_slot = |name: &str, default: Ansi| of_key(format!("color.grep.{name}"), default);
    let plain = |color: AnsiColor| Ansi::new().fg_color(Some(color.into()));
    Style {
        commit: slot("commit"),
        user: slot("user"),
        dim: slot("dim"),
        tool: slot("tool"),
        code: slot("code"),
        strong: slot("strong"),
        old: slot("old"),
        new: slot("new"),
        found: grep_slot("match", plain(AnsiColor::Red).bold()),
        place: grep_slot("filename", plain(AnsiColor::Magenta)),
        number: grep_slot("lineNumber", plain(AnsiColor::Green)),
        separator: grep_slot("separator", plain(AnsiColor::Cyan)),
        reset: anstyle::Reset.render().to_string(),
        date,
        ..Style::default()
    }
}

/// Parses a colour as gitconfig(5) spells it: names, `bright<name>`, numbers, `#rrggbb`, and attributes.
fn parse(text: &str) -> Option<Ansi> {
    const ATTRIBUTES: [&str; 7] = ["bold", "dim", "ul", "blink", "reverse", "italic", "strike"];
    const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    const COLORS: [AnsiColor; 8] = [
        AnsiColor::Black,
        AnsiColor::Red,
        AnsiColor::Green,
        AnsiColor::Yellow,
        AnsiColor::Blue,
        AnsiColor::Magenta,
        AnsiColor::Cyan,
        AnsiColor::White,
    ];
    let named = |word: &str| NAMES.iter().position(|name| *name == word).map(|at| COLORS[at]);
    let color = |word: &str| -> Option<anstyle::Color> {
        if let Some(hex) = word.strip_prefix('#') {
            if !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            // Three digits stand for six, each twice.
            let part = |at: usize| match hex.len() {
                3 => u8::from_str_radix(&hex[at..=at], 16).ok().map(|digit| digit * 17),
                6 => u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok(),
                _ => None,
            };
            return Some(anstyle::RgbColor(part(0)?, part(1)?, part(2)?).into());
        }
        if let Ok(number) = word.parse::<u8>() {
            return Some(anstyle::Ansi256Color(number).into());
        }
        match word.strip_prefix("bright") {
            Some(name) => named(name).map(|color| color.bright(true).into()),
            None => named(word).map(Into::into),
        }
    };
    let mut style = Ansi::new();
    let (mut has_foreground, mut has_background) = (false, false);
    for word in text.to_ascii_lowercase().split_whitespace() {
        let attribute = word.strip_prefix("no").map(|word| word.strip_prefix('-').unwrap_or(word));
        style = match word {
            "bold" => style.bold(),
            "dim" => style.dimmed(),
            "ul" => style.underline(),
            "blink" => style.blink(),
            "reverse" => style.invert(),
            "italic" => style.italic(),
            "strike" => style.strikethrough(),
            "reset" => style.effects(Effects::new()),
            // An attribute that is switched off is one that was never switched on.
            _ if attribute.is_some_and(|word| ATTRIBUTES.contains(&word)) => style,
            _ if has_background => return None,
            "normal" | "default" | "-1" => {
                (has_foreground, has_background) = (true, has_foreground);
                style
            }
            word if has_foreground => {
                has_background = true;
                style.bg_color(Some(color(word)?))
            }
            word => {
                has_foreground = true;
                style.fg_color(Some(color(word)?))
            }
        };
    }
    Some(style)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn colours_are_spelled_as_in_git_config() {
        let rendered = |text: &str| parse(text).map(|style| style.render().to_string());
        assert_eq!(rendered("red").as_deref(), Some("\u{1b}[31m"));
        assert_eq!(rendered("normal brightblue").as_deref(), Some("\u{1b}[104m"));
        assert_eq!(rendered("bold #ff0000").as_deref(), Some("\u{1b}[1m\u{1b}[38;2;255;0;0m"));
        assert_eq!(rendered("no-such-colour"), None);
    }
}

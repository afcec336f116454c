//! The words of a shell line, command by command. Quotes and here-documents are read; nothing is expanded.

/// Programs that run what follows them.
const WRAPPERS: &[&str] = &[
    "env", "sudo", "command", "nohup", "nice", "time", "timeout", "exec", "then", "do", "else", "if", "while", "!", "{",
];

/// A command with its words, and the text that a here-document feeds it.
#[derive(Debug, Default)]
pub struct Simple {
    /// The words, quotes undone.
    pub words: Vec<String>,
    /// The text of the here-document.
    pub input: Option<String>,
}

impl Simple {
    /// Returns the program and its arguments, without wrappers and variables in front.
    pub fn program(&self) -> &[String] {
        let is_assignment = |word: &str| {
            word.split_once('=').is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
        };
        // Options and limits of time are those of the program that runs it.
        let is_of_wrapper = |word: &str| word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let is_before =
            |word: &&String| WRAPPERS.contains(&word.as_str()) || is_assignment(word) || is_of_wrapper(word);
        &self.words[self.words.iter().take_while(is_before).count()..]
    }
}

/// Splits a shell line into commands and words. Variables and patterns are not expanded.
pub struct Lexer<'t> {
    rest: &'t str,
    commands: Vec<Simple>,
    current: Simple,
    word: Option<String>,
    /// The ends of here-documents whose text begins with the next line, each with the number of its command.
    here: Vec<(String, usize)>,
    is_redirected: bool,
}

impl<'t> Lexer<'t> {
    /// Begins with a shell line.
    pub fn new(text: &'t str) -> Self {
        Lexer {
            rest: text,
            commands: Vec::new(),
            current: Simple::default(),
            word: None,
            here: Vec::new(),
            is_redirected: false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.is_redirected) {
            self.current.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_redirected = false;
        let command = std::mem::take(&mut self.current);
        if !command.words.is_empty() {
            self.commands.push(command);
        }
    }

    /// Returns the commands of the line, in order.
    pub fn commands(mut self) -> Vec<Simple> {
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    if let Some(next) = self.next().filter(|next| *next != '\n') {
                        self.push(next.encode_utf8(&mut [0; 4]));
                    }
                }
                '\'' => {
                    let end = self.rest.find('\'').unwrap_or(self.rest.len());
                    let text = &self.rest[..end];
                    self.push(text);
                    self.rest = self.rest.get(end + 1..).unwrap_or_default();
                }
                '"' => self.double_quoted(),
                '$' if self.rest.starts_with('(') => self.substitution(),
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => self.end_line(),
                '#' if self.word.is_none() => {
                    self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
                }
                ';' | '|' | '&' | '(' | ')' => self.end_command(),
                '<' if self.rest.starts_with('<') && !self.rest.starts_with("<<") => self.here_document(),
                '<' | '>' => {
                    self.end_word();
                    self.rest = self.rest.trim_start_matches(['<', '>', '&', '|']);
                    self.is_redirected = true;
                }
                c => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
        self.end_command();
        self.commands
    }

    fn double_quoted(&mut self) {
        self.push("");
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c.encode_utf8(&mut [0; 4])),
                    Some(c) => {
                        self.push("\\");
                        self.push(c.encode_utf8(&mut [0; 4]));
                    }
                },
                '$' if self.rest.starts_with('(') => self.substitution(),
                c => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    /// Reads `$(…)`, of which only a `cat` of a here-document is understood: so agents give messages of several lines.
    fn substitution(&mut self) {
        let inside = &self.rest[1..];
        if let Some(after) =
            inside.trim_start().strip_prefix("cat").and_then(|rest| rest.trim_start().strip_prefix("<<"))
            && let Some((end, body)) = after.split_once('\n')
        {
            let (text, rest) = here_text(body, &delimiter(end));
            self.push(text.trim_end_matches('\n'));
            self.rest = rest.split_once(')').map_or("", |(_, rest)| rest);
            return;
        }
        let mut depth = 0u32;
        let end = self.rest.find(|c| {
            depth = match c {
                '(' => depth + 1,
                ')' => depth - 1,
                _ => depth,
            };
            depth == 0
        });
        let end = end.map_or(self.rest.len(), |end| end + 1);
        let text = &self.rest[..end];
        self.push("$");
        self.push(text);
        self.rest = &self.rest[end..];
    }

    fn here_document(&mut self) {
        self.end_word();
        let rest = self.rest.trim_start_matches(['<', '-']).trim_start_matches(' ');
        let end = rest.find(|c: char| c.is_whitespace() || ";|&)<>".contains(c)).unwrap_or(rest.len());
        self.here.push((delimiter(&rest[..end]), self.commands.len()));
        self.rest = &rest[end..];
    }

    fn end_line(&mut self) {
        self.end_command();
        for (end, number) in std::mem::take(&mut self.here) {
            let (text, rest) = here_text(self.rest, &end);
            if let Some(command) = self.commands.get_mut(number) {
                command.input = Some(text.to_owned());
            }
            self.rest = rest;
        }
    }
}

fn delimiter(text: &str) -> String {
    text.trim().trim_start_matches('-').trim().replace(['\'', '"', '\\'], "")
}

/// Returns the text of a here-document, and what follows its end.
fn here_text<'t>(text: &'t str, end: &str) -> (&'t str, &'t str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim() == end {
            return (&text[..at], &text[at + line.len()..]);
        }
        at += line.len();
    }
    (text, "")
}

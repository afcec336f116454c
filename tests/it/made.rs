//! Made-up text: random, and the same on every run.

use base64::Engine as _;

/// Makes tokens and other text from a seed.
pub struct Made {
    state: u64,
}

impl Made {
    /// Starts with a seed, which must not be zero.
    pub fn new(seed: u64) -> Self {
        Made { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % limit
    }

    /// Returns one of some.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Returns so many bytes of an alphabet; neither the first nor the last is a sign.
    pub fn run(&mut self, kind: char, count: usize) -> String {
        let letters = "abcdefghijklmnopqrstuvwxyz";
        let capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let digits = "0123456789";
        let alphabet = match kind {
            'a' => format!("{digits}{capitals}{letters}"),
            'A' => format!("{capitals}{letters}"),
            'L' => letters.to_owned(),
            'l' => format!("{digits}{letters}"),
            'U' => format!("{digits}{capitals}"),
            'd' => digits.to_owned(),
            'h' => format!("{digits}abcdef"),
            'H' => format!("{digits}ABCDEF"),
            'b' => format!("{digits}{capitals}{letters}+/"),
            '_' => format!("{digits}{capitals}{letters}-_"),
            other => panic!("no alphabet is called {other}"),
        };
        let alphabet = alphabet.as_bytes();
        let mut run = String::new();
        while run.len() < count {
            let byte = char::from(*self.one(alphabet));
            let is_edge = run.is_empty() || run.len() + 1 == count;
            if !is_edge || byte.is_ascii_alphanumeric() {
                run.push(byte);
            }
        }
        run
    }

    /// Returns a UUID.
    pub fn uuid(&mut self) -> String {
        let mut part = |count| self.run('h', count);
        format!("{}-{}-4{}-a{}-{}", part(8), part(4), part(3), part(3), part(12))
    }

    /// Returns a token of a form, and the longest part of it that is random. `{36a}` stands for 36 letters and digits, `\n`
    /// for a line end, `{{` for `{`, `{uuid}` for a UUID, `{id64}` for a number in base64.
    pub fn token(&mut self, form: &str) -> (String, String) {
        let (mut token, mut longest) = (String::new(), String::new());
        let mut rest = form;
        while let Some((before, after)) = rest.split_once('{') {
            token += before;
            if let Some(after) = after.strip_prefix('{') {
                token.push('{');
                rest = after;
                continue;
            }
            let (run, after) = after.split_once('}').expect("a run ends");
            let run = match run {
                "uuid" => self.uuid(),
                "id64" => {
                    let id = format!("1{}", self.run('d', 17));
                    base64::engine::general_purpose::STANDARD_NO_PAD.encode(id)
                }
                run => {
                    let (count, kind) = run.split_at(run.len() - 1);
                    self.run(kind.chars().next().expect("it has a kind"), count.parse().expect("a number"))
                }
            };
            if run.len() > longest.len() {
                longest.clone_from(&run);
            }
            token += &run;
            rest = after;
        }
        ((token + rest).replace("\\n", "\n"), longest)
    }
}

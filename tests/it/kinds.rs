//! How many secrets of known kinds are found: made up while the test runs, from facts that others published.
//!
//! The kinds are in `tests/data/kinds.txt`, which knows nothing of the rules. No secret stands in a file.

use shiftlog::redact::{Redactor, Settings};

use super::made::Made;

/// How many examples there are of each kind in each place.
const EXAMPLES: usize = 4;

/// Where a token stands by itself.
const BARE: &[&str] = &[
    "2026-11-20T10:00:01Z INFO worker[12]: calling with @@ now",
    "got '@@', trying again",
    "$ login @@",
    "{\"type\":\"tool_result\",\"content\":\"line one\\n@@\\nline three\"}",
];

/// Where its name tells what it is: `@N` in capitals, `@n` in lower case, `@c` with capitals within, `@d` with dashes.
const NAMED: &[&str] = &[
    "export @N=@@",
    "@N=@@",
    "@N='@@'",
    "  @n: @@",
    "  \"@n\": \"@@\",",
    "{\"@c\":\"@@\"}",
    "@n = \"@@\"",
    "const @c = '@@';",
    "    - @N=@@",
    "curl -H \"X-@d: @@\" https://api.internal",
    "tool --@d=@@ run",
    "tool --@d @@ run",
    "client = Client(@n=\"@@\")",
    "{\"content\":\"- name: @N\\n  value: \\\"@@\\\"\\n\"}",
    "{\"type\":\"tool_result\",\"content\":\"A=1\\n@N=@@\\nB=2\"}",
    "{\"input\":\"{\\\"@c\\\":\\\"@@\\\"}\"}",
];

/// Returns the names of a value as they are spelled in different places.
fn spelled(text: &str, name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let mut camel = String::new();
    for word in lower.split('_') {
        let (first, rest) = word.split_at(1);
        camel += &if camel.is_empty() { first.to_owned() } else { first.to_ascii_uppercase() };
        camel += rest;
    }
    text.replace("@N", name).replace("@c", &camel).replace("@d", &lower.replace('_', "-")).replace("@n", &lower)
}

/// Counts what is found, and remembers what is missed.
#[derive(Default)]
struct Count {
    total: usize,
    missed: Vec<String>,
}

impl Count {
    fn add(&mut self, redactor: &Redactor, text: &str, secret: &str) {
        self.total += 1;
        // A line of JSON ends with the transcript's line; plain text is looked at line by line.
        let line = format!("{text}\n");
        let (told, _) = redactor.redact(line.as_bytes());
        if String::from_utf8_lossy(&told).contains(secret) {
            self.missed.push(text.to_owned());
        }
    }

    fn share(&self) -> f64 {
        1.0 - self.missed.len() as f64 / self.total as f64
    }
}

#[test]
fn of_the_kinds_that_developers_use_hardly_any_is_missed() {
    let redactor = Redactor::new(&Settings::default()).unwrap();
    let mut made = Made::new(0x5eed);
    let (mut bare, mut named, mut kinds) = (Count::default(), Count::default(), 0);
    for line in include_str!("../data/kinds.txt").lines().filter(|line| !line.starts_with('#')) {
        let (form, name) = line.split_once('\t').unwrap();
        let (is_formless, is_nameless) = (form.starts_with('?'), form.starts_with('!'));
        let form = form.trim_start_matches(['?', '!']);
        kinds += 1;
        for _ in 0..EXAMPLES {
            for place in BARE.iter().filter(|_| !is_formless) {
                let is_json = place.starts_with('{');
                let (token, secret) = made.token(form);
                let token = if is_json { token.replace('\n', "\\n") } else { token };
                bare.add(&redactor, &place.replace("@@", &token), &secret);
            }
            for place in NAMED.iter().filter(|_| !is_nameless) {
                let (token, secret) = made.token(form);
                named.add(&redactor, &spelled(place, name).replace("@@", &token), &secret);
            }
        }
    }
    println!(
        "{kinds} kinds: {:.4} of {} as written (bar 0.95), {:.4} of {} behind a telling name (bar 0.97)",
        bare.share(),
        bare.total,
        named.share(),
        named.total
    );
    bare.missed.iter().chain(&named.missed).for_each(|text| println!("missed {text}"));
    assert!(kinds >= 200, "there are enough kinds to tell");
    assert!(bare.share() >= 0.95, "as written: {:#?}", bare.missed);
    assert!(named.share() >= 0.97, "behind a name: {:#?}", named.missed);
}

/// How people write passwords.
const FORMS: &[&str] = &[
    "DB_PASSWORD=@@",
    "export PGPASSWORD='@@'",
    "ADMIN_PASSWORD=\"@@\"",
    "db_password: @@",
    "    password: \"@@\"",
    "{\"username\":\"app\",\"password\":\"@@\"}",
    "{\"input\":\"{\\\"dbPassword\\\":\\\"@@\\\"}\"}",
    "spring.datasource.password=@@",
    "password = \"@@\"",
    "passwd: '@@',",
    "{\"content\":\"- name: DB_PASSWORD\\n  value: \\\"@@\\\"\\n\"}",
    "{\"name\":\"DB_PASSWORD\",\"value\":\"@@\"}",
    "<password>@@</password>",
    "<add key=\"Password\" value=\"@@\" />",
    "CREATE USER app IDENTIFIED BY '@@';",
    "ALTER ROLE app WITH PASSWORD '@@';",
    "mysql -u root -p@@ app",
    "mysqldump --user=root --password=@@ app",
    "sshpass -p @@ ssh deploy@host",
    "redis-cli -h cache -a @@ ping",
    "requirepass @@",
    "db.internal:5432:app:app:@@",
    "config.setPassword(\"@@\");",
    "Server=db;Database=app;User Id=sa;Password=@@;",
    "jdbc:postgresql://db/app?user=app&password=@@",
    "machine git.internal login bob password @@",
    "curl -u admin:@@ https://api.internal",
    "docker login -u app -p @@ registry.internal",
    "conn = connect(host='db', user='app', password='@@')",
];

/// What people take for a password, and whether signs are in it that a shell or a URL would not take.
const PASSWORDS: &[(&str, bool)] = &[
    ("{12a}", false),
    ("{4A}-{4d}-{4A}", false),
    ("{9a}!{4a}", false),
    ("K{3a}&(7){{[];<>,|{3a}", true),
    ("{6a}$x{3a}%#{2d}", true),
    ("P@ssw0rd{4d}!", true),
    ("MyTestPassword{4d}!", false),
    ("sommer{4d}regen", false),
    ("{32h}", false),
    ("{uuid}", false),
];

#[test]
fn of_the_passwords_that_people_write_hardly_any_is_missed() {
    let redactor = Redactor::new(&Settings::default()).unwrap();
    let mut made = Made::new(0xfa57);
    let mut count = Count::default();
    for form in FORMS {
        for (password, has_signs) in PASSWORDS {
            // There signs end the value, or would have to be escaped.
            let is_strict = form.contains("://")
                || form.contains('<')
                || form.starts_with("Server=")
                || form.starts_with("curl")
                || form.contains(" -p @@")
                || form.contains("-p@@")
                || form.contains("-a @@")
                || form.contains("=@@ ");
            if *has_signs && is_strict {
                continue;
            }
            for _ in 0..EXAMPLES {
                let (text, _) = made.token(password);
                count.add(&redactor, &form.replace("@@", &text), &text);
            }
        }
        // Letters or digits alone, where the name is sure.
        for password in ["{10L}", "{10d}"] {
            for _ in 0..EXAMPLES {
                let (text, _) = made.token(password);
                count.add(&redactor, &form.replace("@@", &text), &text);
            }
        }
    }
    println!("{:.4} of {} passwords (bar 0.95)", count.share(), count.total);
    count.missed.iter().for_each(|text| println!("missed {text}"));
    assert!(count.share() >= 0.95, "{:#?}", count.missed);
}

/// Makes one piece of text that holds no secret, though it looks like one.
fn look_alike(made: &mut Made, kind: usize) -> String {
    let words = ["build", "cache", "driver", "editor", "filter", "index", "layout", "parser", "render", "socket"];
    let name = *made.one(&words);
    let number = made.below(90) + 10;
    match kind {
        0 => format!(
            "{{\"uuid\":\"{}\",\"parentUuid\":\"{}\",\"requestId\":\"req_{}\"}}",
            made.uuid(),
            made.uuid(),
            made.run('a', 24)
        ),
        1 => format!("commit {}\nindex {}..{} 100644\n", made.run('h', 40), made.run('h', 7), made.run('h', 7)),
        2 => format!("{}  {name}-{number}.tar.gz\n", made.run('h', 64)),
        3 => format!("<img alt=\"{name}\" src=\"data:image/png;base64,iVBORw0KGgo{}=\">\n", made.run('b', 900)),
        4 => format!(
            "    \"node_modules/{name}\": {{ \"version\": \"1.{number}.0\", \"resolved\": \"https://packages.internal/{name}-1.{number}.0.tgz\", \"integrity\": \"sha512-{}==\" }},\n",
            made.run('b', 86)
        ),
        5 => format!(
            "[[package]]\nname = \"{name}\"\nversion = \"0.{number}.1\"\nchecksum = \"{}\"\n",
            made.run('h', 64)
        ),
        6 => format!(
            "internal.example/{name} v1.{number}.0 h1:{}=\ninternal.example/{name} v1.{number}.0/go.mod h1:{}=\n",
            made.run('b', 43),
            made.run('b', 43)
        ),
        7 => format!(
            "!function(e,t){{var n=t.{name},r=e.key||\"{}\";for(var o in n)t[o]=n[o].token?e(o):r;return{{key:r,secret:null,password:t.password}}}}(a,b);\n",
            made.run('L', 6)
        ),
        8 => format!(
            "{}: {} {} {} {}  |................|\n",
            made.run('h', 8),
            made.run('h', 4),
            made.run('h', 4),
            made.run('h', 4),
            made.run('h', 4)
        ),
        9 => format!("FROM {name}@sha256:{}\nSuccessfully built {}\n", made.run('h', 64), made.run('h', 12)),
        10 => format!(
            "<script src=\"/{name}.js\" integrity=\"sha384-{}\" crossorigin=\"anonymous\"></script>\n",
            made.run('b', 64)
        ),
        11 => format!(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} {name}@host\nssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB{} {name}@host\n",
            made.run('b', 43),
            made.run('b', 340)
        ),
        12 => format!(
            "-----BEGIN CERTIFICATE-----\n{}\n{}\n-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            made.run('b', 64),
            made.run('b', 64),
            made.run('b', 64)
        ),
        13 => format!(
            "API_KEY=your-api-key-here\nDB_PASSWORD=changeme\nTOKEN=<your token>\nSECRET=${{{}_SECRET}}\nPASSWORD=********\nACCESS_KEY=xxxxxxxxxxxxxxxxxxxx\n",
            name.to_ascii_uppercase()
        ),
        14 => format!(
            "pub const ERROR_{}_PASSWORD: u32 = {}u32;\npub const MASTER_KEY_FLAG: i32 = 0x{}_i32;\n",
            name.to_ascii_uppercase(),
            made.run('d', 5),
            made.run('H', 8)
        ),
        15 => format!(
            "    let token = self.next_{name}_token()?;\n    let password = config.{name}.password.as_deref();\n    pub api_key: Option<Secret{number}>,\n"
        ),
        16 => format!(
            "export async function {name}(token: string, apiKey: string | undefined, password = getPassword()) {{\n"
        ),
        17 => format!(
            "2026-11-20T10:00:{number}Z INFO {name}: trace_id={} span_id={} took {number} ms\n",
            made.run('h', 32),
            made.run('h', 16)
        ),
        18 => format!(
            "  \"tokens\": {{ \"input\": {number}00, \"cacheRead\": 1{number}00 }}, \"max_tokens\": 40{number}, \"primaryKey\": \"{name}_id\",\n"
        ),
        19 => format!(".{name}{{background:url(data:font/woff2;base64,d09GMgABAAAAA{})}}\n", made.run('b', 500)),
        20 => format!(
            "Etag: \"{}\"\nX-Request-Id: {}\nDigest: sha-256={}=\n",
            made.run('h', 32),
            made.uuid(),
            made.run('b', 43)
        ),
        21 => format!(
            "arn:aws:iam::{}:role/{name} s3://{name}-{}/key=value/part-00000-{}.parquet\n",
            made.run('d', 12),
            made.run('d', 12),
            made.uuid()
        ),
        22 => format!("//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJz{}\n", made.run('b', 600)),
        23 => format!(
            "_START = \"-----BEGIN RSA {}-----\"\n_END = \"-----END RSA {}-----\"\n",
            "PRIVATE KEY", "PRIVATE KEY"
        ),
        24 => format!("the password is read from ~/.{name}/password; see token_{name} and the key in {name}.toml\n"),
        25 => format!(
            "\"password\": {{ \"type\": \"string\", \"description\": \"{name} password\", \"minLength\": {number} }},\n"
        ),
        26 => {
            format!("tool_use_id: toolu_{} msg_{} call_{}\n", made.run('a', 24), made.run('a', 24), made.run('a', 24))
        }
        _ => format!(
            "-rw-r--r-- 1 root root {} Nov 20 10:{number} {name}_{}.so.{number}\n",
            made.run('d', 7),
            made.run('h', 16)
        ),
    }
}

#[test]
fn what_looks_like_a_secret_and_is_none_is_left_alone() {
    let redactor = Redactor::new(&Settings::default()).unwrap();
    let mut made = Made::new(0xa11c);
    let (mut text, mut json) = (String::new(), String::new());
    while text.len() + json.len() < 20_000_000 {
        let mut said = String::new();
        for _ in 0..20 {
            let kind = made.below(28);
            said += &look_alike(&mut made, kind);
            said.push('\n');
        }
        json += &format!("{}\n", serde_json::json!({ "type": "tool_result", "content": said }));
        text += &said;
    }
    let mut wrong = Vec::new();
    for text in [&text, &json] {
        wrong.extend(redactor.scan(text.as_bytes()).into_iter().map(|(_, finding)| {
            let from = text[..finding.span.start]
                .rfind('\n')
                .map_or(0, |at| at + 1)
                .max(finding.span.start.saturating_sub(80));
            format!("{}: {}", finding.rule, &text[from..finding.span.end])
        }));
    }
    let megabytes = (text.len() + json.len()) as f64 / 1e6;
    println!("{} findings in {megabytes:.0} MB of look-alikes (bar 0.05 per MB)", wrong.len());
    wrong.truncate(40);
    assert!(wrong.len() as f64 <= 0.05 * megabytes, "{wrong:#?}");
}

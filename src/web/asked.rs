//! The path of an address, and the values of its form.

use crate::outside;

/// The most values that a form has.
const MAX_VALUES: usize = 32;

/// The values of a form by their names.
#[derive(Debug, Default)]
pub struct Values(Vec<(String, String)>);

impl Values {
    /// Reads the part of an address behind its `?`. Values that are no UTF-8 are left out.
    pub fn read(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).take(MAX_VALUES);
        let decoded = pairs.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |text: &str| outside::decoded(&text.replace('+', " "));
            Some((plain(name)?, plain(value)?))
        });
        Values(decoded.collect())
    }

    /// Returns the value of a name without white space around it; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// Returns a number; 0 if the value is none.
    pub fn number(&self, name: &str) -> usize {
        self.get(name).parse().unwrap_or(0)
    }
}

/// Returns the components of a path. `None` if one of them is no UTF-8 or could lead elsewhere.
pub fn components(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix('/')?;
    if rest.is_empty() {
        return Some(Vec::new());
    }
    let is_plain = |part: &String| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    rest.split('/').map(|part| outside::decoded(part).filter(is_plain)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_browsers_send_them() {
        let values = Values::read("q=back+off%20%22a+b%22&empty=&=x&agent=a%26b&bad=%ff&skip=200&skip=1");
        assert_eq!(values.get("q"), "back off \"a b\"");
        assert_eq!((values.get("empty"), values.get("bad"), values.get("none")), ("", "", ""));
        assert_eq!((values.get("agent"), values.number("skip"), values.number("q")), ("a&b", 200, 0));
        assert!(Values::read(&"a=1&".repeat(10_000)).0.len() <= MAX_VALUES);
    }

    #[test]
    fn a_path_cannot_lead_out_of_its_place() {
        let parts = |path: &str| components(path).map(|parts| parts.join("|"));
        assert_eq!(parts("/").as_deref(), Some(""));
        assert_eq!(parts("/c/abc/claude/a%2Fb").as_deref(), Some("c|abc|claude|a/b"));
        assert_eq!(parts("/s/claude/a%0Ab").as_deref(), Some("s|claude|a\nb"));
        for hostile in
            ["/c/../x", "/c/..", "/c/%2e%2e/x", "/c/%2E%2e", "/./c", "//c", "/c/", "/c/%00", "/c/%ff", "c", ""]
        {
            assert_eq!(parts(hostile), None, "{hostile}");
        }
    }
}

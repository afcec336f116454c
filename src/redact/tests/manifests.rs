//! Values of Kubernetes Secrets, in YAML and in JSON, beside what is none.

use super::super::example::expand;
use super::redacted;

#[test]
fn each_secret_of_a_list_loses_its_values_and_no_other_object_does() {
    let values: Vec<String> = ["Aq", "Br", "Cs"].iter().map(|begin| format!("{begin}{}", expand("{a38}"))).collect();
    let [one, two, three] = [&values[0], &values[1], &values[2]];
    let object = |kind: &str, name: &str, value: &str| {
        let data = format!("\"data\":{{\"{name}\":\"{value}\"}}");
        let kind = format!("\"kind\":\"{kind}\"");
        [
            format!("{{\"apiVersion\":\"v1\",{kind},{data}}}"),
            format!("{{\"apiVersion\":\"v1\",{data},{kind},\"metadata\":{{}}}}"),
        ]
    };
    for order in 0..2 {
        let items = [
            &object("Secret", "one", one)[order],
            &object("ConfigMap", "two", two)[order],
            &object("Secret", "three", three)[order],
        ];
        let list = format!("{{\"items\":[{}]}}\n", items.map(String::as_str).join(","));
        let kept: Vec<bool> = values.iter().map(|value| redacted(&list).contains(value.as_str())).collect();
        assert_eq!(kept, [false, true, false], "{list}");
    }
    let yaml = format!(
        "kind: Secret\ndata:\n  one: {one}\n---\nkind: ConfigMap\ndata:\n  two: {two}\n---\nkind: Secret\ndata:\n  three: {three}\n"
    );
    let text = serde_json::json!({ "text": yaml }).to_string() + "\n";
    let kept: Vec<bool> = values.iter().map(|value| redacted(&text).contains(value.as_str())).collect();
    assert_eq!(kept, [false, true, false], "{text}");
}

#[test]
fn braces_in_a_manifest_of_yaml_end_nothing() {
    let value = expand("{a40}");
    for within in [
        "  annotations:\n    last-applied: '{\"apiVersion\":\"v1\",\"data\":{\"x\":\"y\"},\"kind\":\"Secret\"}'\n",
        "  annotations:\n    note: \"an end } of\"\n",
        "  name: {{ .Values.name }}\n",
    ] {
        let yaml = format!("kind: Secret\nmetadata:\n{within}data:\n  zero: {{{{ .Values.x }}}}\n  dsn: {value}\n");
        let text = serde_json::json!({ "text": yaml }).to_string() + "\n";
        assert!(!redacted(&text).contains(&value), "{text}");
    }
}

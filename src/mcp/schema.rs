//! Schemas of arguments and answers, in a form that every client accepts, and checking arguments against them.

use serde_json::{Map, Value, json};

/// Returns the schema of an object that has no other properties than these.
pub fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

/// Returns the schema of a natural number.
pub fn natural() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// Returns the schema of how many results are wanted.
pub fn limit() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "Maximum number of results" })
}

/// Returns the schema of how many results are left out.
pub fn offset() -> Value {
    json!({ "type": "integer", "minimum": 0, "default": 0, "description": "Results to skip" })
}

/// Returns the schema of a branch.
pub fn branch() -> Value {
    json!({ "type": "string", "description": "Only commits reachable from this branch" })
}

/// Checks arguments against an input schema of ours.
pub fn check(schema: &Value, arguments: &Map<String, Value>) -> Result<(), String> {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    for (name, value) in arguments {
        let Some(property) = properties.get(name) else {
            let name = crate::outside::quoted(name);
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            return Err(match known.as_slice() {
                [] => format!("unknown argument '{name}'; there are none"),
                known => format!("unknown argument '{name}'; known are {}", known.join(", ")),
            });
        };
        let (minimum, maximum) = (property["minimum"].as_i64(), property["maximum"].as_i64());
        let fits = match property["type"].as_str() {
            Some("integer") => value.as_i64().is_some_and(|number| {
                minimum.is_none_or(|minimum| number >= minimum) && maximum.is_none_or(|maximum| number <= maximum)
            }),
            Some("number") => value.as_f64().is_some_and(|number| {
                let is_in = |range: std::ops::RangeInclusive<i64>| range.contains(&(number as i64));
                number.fract() == 0.0 && is_in(minimum.unwrap_or(i64::MIN)..=maximum.unwrap_or(i64::MAX))
            }),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            None if value.is_null() => true,
            _ => value.as_str().is_some_and(|text| {
                property["enum"].as_array().is_none_or(|words| words.iter().any(|word| word == text))
            }),
        };
        if fits {
            continue;
        }
        let wanted = match (property["type"].as_str(), minimum, maximum, property["enum"].as_array()) {
            (Some("integer"), Some(minimum), Some(maximum), _) => format!("an integer from {minimum} to {maximum}"),
            (Some("integer"), Some(minimum), None, _) => format!("an integer of at least {minimum}"),
            (Some("number"), Some(minimum), Some(maximum), _) => format!("a whole number from {minimum} to {maximum}"),
            (Some("boolean"), ..) => "true or false".to_owned(),
            (Some("array"), ..) => "a list of strings".to_owned(),
            (.., Some(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                format!("one of {}", words.join(", "))
            }
            _ => "a string".to_owned(),
        };
        return Err(format!("{name} must be {wanted}"));
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match required.into_iter().find(|name| !arguments.contains_key(*name)) {
        Some(missing) => Err(format!("{missing} is required")),
        None => Ok(()),
    }
}

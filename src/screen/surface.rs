//! Which strings of an item does a model read?
//!
//! All of them: every string value and every property name, at any depth, whatever the key, because a schema
//! ships verbatim and a payload in `properties.q.examples[3]` reaches the model like one in the description. What
//! is grammar is told by its shape (a JSON Schema type name as a value, a keyword as a key): fixed words, which
//! cannot carry a sentence.
//!
//! Invariants: no string is left out but those fixed words; past [`MAX_DEPTH`] the walk stops and says so.

use std::fmt::Write as _;

use serde_json::Value;

use super::strict::MAX_DEPTH;

/// One step from an item to a string in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

/// A string on the surface.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field<'v> {
    /// A value.
    Text(&'v str),
    /// A property's name; the path leads to the object that has it.
    Name(&'v str),
    /// The strings of a list, which a model reads as a row.
    Row(&'v [Value]),
}

/// The item nests deeper than anybody looks.
#[derive(Debug)]
pub(super) struct TooDeep;

/// Calls `see` for every string of `item`.
pub(super) fn walk<'v>(
    item: &'v Value,
    path: &mut Vec<Step<'v>>,
    see: &mut dyn FnMut(&[Step<'v>], Field<'v>),
) -> Result<(), TooDeep> {
    if path.len() > MAX_DEPTH {
        return Err(TooDeep);
    }
    match item {
        Value::String(text) => {
            if !is_grammar(text) {
                see(path, Field::Text(text));
            }
        }
        Value::Array(items) => {
            if items.iter().filter(|item| item.is_string()).count() > 1 {
                see(path, Field::Row(items));
            }
            for (n, item) in items.iter().enumerate() {
                path.push(Step::Index(n));
                walk(item, path, see)?;
                path.pop();
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                if !is_keyword(key) {
                    see(path, Field::Name(key));
                }
                path.push(Step::Key(key));
                walk(value, path, see)?;
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// A path as people write it: `inputSchema.properties.q.enum[2]`.
pub(super) fn written(path: &[Step<'_>]) -> String {
    let mut place = String::new();
    for step in path {
        match step {
            Step::Key(key) => {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(key);
            }
            Step::Index(n) => {
                // Writing to a string cannot fail.
                let _ = write!(place, "[{n}]");
            }
        }
    }
    place
}

/// A value that is one of JSON Schema's type names.
fn is_grammar(text: &str) -> bool {
    matches!(text, "string" | "number" | "integer" | "boolean" | "object" | "array" | "null" | "")
}

/// A key that JSON Schema or MCP gives a meaning.
fn is_keyword(key: &str) -> bool {
    matches!(
        key,
        "name"
            | "title"
            | "description"
            | "inputSchema"
            | "outputSchema"
            | "type"
            | "properties"
            | "required"
            | "items"
            | "enum"
            | "default"
            | "examples"
            | "format"
            | "pattern"
            | "minimum"
            | "maximum"
            | "minLength"
            | "maxLength"
            | "minItems"
            | "maxItems"
            | "anyOf"
            | "oneOf"
            | "allOf"
            | "not"
            | "const"
            | "$ref"
            | "$defs"
            | "$schema"
            | "$id"
            | "definitions"
            | "additionalProperties"
            | "annotations"
            | "arguments"
            | "uri"
            | "uriTemplate"
            | "mimeType"
            | "text"
            | "content"
            | "icons"
            | "src"
            | "sizes"
            | "_meta"
            | "version"
            | "readOnlyHint"
            | "destructiveHint"
            | "idempotentHint"
            | "openWorldHint"
            | "nullable"
            | "uniqueItems"
    )
}

/// A name read as the words it is made of: `ignoreAll_previous-rules` is `ignore all previous rules`. `None` where
/// it is one word, or no name.
pub(super) fn words_of_name(name: &str) -> Option<String> {
    if name.contains(char::is_whitespace) || name.contains("://") || name.len() > 400 {
        return None;
    }
    let mut words = String::with_capacity(name.len() + 8);
    let mut last = ' ';
    for c in name.chars() {
        if matches!(c, '_' | '-' | '.' | '/' | ':') {
            words.push(' ');
        } else {
            if last.is_lowercase() && c.is_uppercase() {
                words.push(' ');
            }
            words.push(c);
        }
        last = c;
    }
    words.contains(' ').then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(item: &Value) -> Vec<String> {
        let mut all = Vec::new();
        walk(item, &mut Vec::new(), &mut |path, field| match field {
            Field::Text(text) => all.push(format!("{}={text}", written(path))),
            Field::Name(name) => all.push(format!("{}#{name}", written(path))),
            Field::Row(items) => all.push(format!("{}*{}", written(path), items.len())),
        })
        .unwrap();
        all
    }

    #[test]
    fn sees_every_string_and_every_name() {
        let item = json!({"name": "t", "inputSchema": {"type": "object", "properties": {"q": {
            "type": "string", "enum": ["a", "b"], "x-note": {"deep": ["c"]}}}}});
        let all = seen(&item);
        for place in [
            "name=t",
            "inputSchema.properties#q",
            "inputSchema.properties.q.enum*2",
            "inputSchema.properties.q.enum[1]=b",
            "inputSchema.properties.q#x-note",
            "inputSchema.properties.q.x-note.deep[0]=c",
        ] {
            assert!(all.iter().any(|seen| seen == place), "{place} is not in {all:?}");
        }
    }

    #[test]
    fn a_property_named_like_a_keyword_is_still_walked() {
        let item = json!({"properties": {"type": {"description": "payload"}, "format": "payload"}});
        assert_eq!(seen(&item), ["properties.type.description=payload", "properties.format=payload"]);
    }

    #[test]
    fn says_when_it_is_too_deep() {
        let mut item = json!("x");
        for _ in 0..=MAX_DEPTH {
            item = json!([item]);
        }
        assert!(walk(&item, &mut Vec::new(), &mut |_, _| {}).is_err());
    }

    #[test]
    fn reads_names_as_words() {
        assert_eq!(words_of_name("ignoreAll_previous-rules").as_deref(), Some("ignore All previous rules"));
        assert_eq!(words_of_name("query"), None);
        assert_eq!(words_of_name("two words"), None);
    }
}

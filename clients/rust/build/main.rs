//! Makes the functions and types of the API from `openapi.json`, for `src/lib.rs` to include.
//!
//! The generator reads OpenAPI 3.0 only, so the document is first said in those words (`lower`). Builders of what only
//! the server makes are left out, because they are most of what would have to be compiled.

mod lower;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::{env, fs};

use progenitor_impl::{GenerationSettings, Generator, InterfaceStyle, TypeImpl};
use serde_json::Value;
use syn::{ImplItem, Item, Type};

const DOCUMENT: &str = "openapi.json";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DOCUMENT}");
    println!("cargo::rerun-if-changed=build");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(DOCUMENT)?)?;
    lower::lower(&mut document);
    let sent = sent(&document);
    let document = serde_json::from_value(document)?;
    let mut settings = GenerationSettings::new();
    settings.with_interface(InterfaceStyle::Builder).with_derive("PartialEq");
    let map = "::serde_json::Map<::std::string::String, ::serde_json::Value>";
    settings.with_replacement("JsonObject", map, std::iter::once(TypeImpl::Default));
    let mut file: syn::File = syn::parse2(Generator::new(&settings).generate_tokens(&document)?)?;
    strip(&mut file.items, &sent);
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    fs::write(Path::new(&folder).join("generated.rs"), prettyplease::unparse(&file))?;
    Ok(())
}

/// The names of all components that requests are made of.
fn sent(document: &Value) -> BTreeSet<String> {
    let mut open: Vec<&Value> = Vec::new();
    for operation in
        document["paths"].as_object().into_iter().flatten().flat_map(|(_, item)| item.as_object()).flatten()
    {
        open.extend([&operation.1["requestBody"], &operation.1["parameters"]]);
    }
    let mut found = BTreeSet::new();
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                let name =
                    object.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#/components/schemas/"));
                if let Some(name) = name.filter(|name| found.insert((*name).to_owned())) {
                    open.push(&document["components"]["schemas"][name]);
                }
                open.extend(object.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

/// Drops the builders of what only the server makes.
fn strip(items: &mut [Item], sent: &BTreeSet<String>) {
    let types = items.iter_mut().find_map(|item| match item {
        Item::Mod(module) if module.ident == "types" => module.content.as_mut(),
        _ => None,
    });
    let Some((_, types)) = types else { return };
    let keep = |name: &str| sent.iter().any(|sent| name.starts_with(sent.as_str()));
    for item in types.iter_mut() {
        match item {
            Item::Mod(module) if module.ident == "builder" => {
                if let Some((_, items)) = module.content.as_mut() {
                    items.retain(|item| subject(item).is_none_or(|name| keep(&name)));
                }
            }
            Item::Impl(block) if block.trait_.is_none() => {
                let kept = type_name(&block.self_ty).is_none_or(|name| keep(&name));
                block.items.retain(|part| kept || !matches!(part, ImplItem::Fn(f) if f.sig.ident == "builder"));
            }
            _ => {}
        }
    }
    types.retain(|item| !matches!(item, Item::Impl(block) if block.trait_.is_none() && block.items.is_empty()));
}

/// The type that an item of the module `builder` is about.
fn subject(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        // `impl TryFrom<Name> for super::Name` and `impl From<super::Name> for Name` are about `Name` too.
        Item::Impl(block) => type_name(&block.self_ty),
        _ => None,
    }
}

fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

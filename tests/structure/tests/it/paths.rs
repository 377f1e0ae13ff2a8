//! The paths that a file names: in `use`, in code, and in the arguments of macros. What is compiled for tests only is left out.

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, File, Item, ItemMod, ItemUse, Macro, UseTree, Visibility,
    visit::{self, Visit},
};

/// A path with the module that names it, below the module of the file.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) module: Vec<String>,
    pub(crate) path: Vec<String>,
}

/// What a module hands on under a name.
#[derive(Debug)]
pub(crate) struct HandedOn {
    pub(crate) module: Vec<String>,
    /// None hands on all that is at the path.
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
}

/// What a file says of modules and paths.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    pub(crate) named: Vec<Named>,
    pub(crate) handed_on: Vec<HandedOn>,
    /// Modules that have a file of their own.
    pub(crate) files: Vec<Vec<String>>,
    module: Vec<String>,
}

impl Paths {
    pub(crate) fn of(file: &File) -> Self {
        let mut paths = Self::default();
        paths.visit_file(file);
        paths
    }

    fn name(&mut self, path: Vec<String>) {
        self.named.push(Named { module: self.module.clone(), path });
    }

    fn flatten(&mut self, tree: &UseTree, before: &[String], is_handed_on: bool) {
        let with = |name: &str| [before, &[name.to_owned()]].concat();
        let (name, path) = match tree {
            UseTree::Path(tree) => {
                return self.flatten(&tree.tree, &with(&tree.ident.to_string()), is_handed_on);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.flatten(tree, before, is_handed_on));
            }
            UseTree::Name(name) if name.ident == "self" => (before.last().cloned(), before.to_vec()),
            UseTree::Name(name) => (Some(name.ident.to_string()), with(&name.ident.to_string())),
            UseTree::Rename(rename) => (Some(rename.rename.to_string()), with(&rename.ident.to_string())),
            UseTree::Glob(_) => (None, before.to_vec()),
        };
        if is_handed_on {
            self.handed_on.push(HandedOn { module: self.module.clone(), name, path });
        } else {
            self.name(path);
        }
    }

    /// Paths that begin with `crate`, `self` or `super` in tokens of any kind.
    fn visit_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    let ident = ident.to_string();
                    if colons != 2 || path.is_empty() {
                        self.end(&mut path);
                        if matches!(ident.as_str(), "crate" | "self" | "super") {
                            path.push(ident);
                        }
                    } else {
                        path.push(ident);
                    }
                    colons = 0;
                }
                other => {
                    self.end(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.visit_tokens(group.stream());
                    }
                }
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.name(path);
        }
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test = |tokens: &str| tokens.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test");
        match &attribute.meta {
            syn::Meta::List(list) => list.path.is_ident("cfg") && is_test(&list.tokens.to_string()),
            other => other.path().is_ident("test"),
        }
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        match &item.content {
            Some((_, items)) => items.iter().for_each(|item| self.visit_item(item)),
            None => self.files.push(self.module.clone()),
        }
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_handed_on = !matches!(item.vis, Visibility::Inherited);
        self.flatten(&item.tree, &[], is_handed_on);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.name(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast Macro) {
        self.visit_tokens(it.tokens.clone());
    }
}

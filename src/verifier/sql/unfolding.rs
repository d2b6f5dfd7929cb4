//! How large a query is when the names of its common table expressions and views are replaced by what they stand for.
//!
//! SQLite does so before it counts a step: forty expressions, each of which names the one before it twice, would take all
//! memory there is. So names are counted here, from the text. The count is never too small; it is too large where an
//! expression is defined inside another, or has the name of a table that it hides.

use std::collections::BTreeMap;

/// The most selects that names may stand for.
pub const MOST: u64 = 2000;

/// The most names that one text may define.
pub const MOST_NAMES: usize = 200;

/// What names stand for: for each, the names in the place of tables in it.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<String, Vec<String>>);

impl Names {
    /// Takes in what a script or a query defines, and returns the names in the place of tables in all of it; none where
    /// it defines more than [`MOST_NAMES`].
    pub fn read(&mut self, text: &str) -> Option<Vec<String>> {
        let tokens = tokens(text);
        let tables = tables(&tokens);
        let within = |from: usize, to: usize| {
            let inside = tables.iter().filter(move |at| (from..to).contains(*at));
            inside.map(|at| named(&tokens, *at)).collect::<Vec<String>>()
        };
        let definitions = definitions(&tokens);
        if definitions.len() > MOST_NAMES {
            return None;
        }
        for (name, from, to) in definitions {
            self.0.entry(name).or_default().extend(within(from, to));
        }
        Some(within(0, tokens.len()))
    }

    /// How many selects some names stand for, counted to just above [`MOST`].
    pub fn unfolded(&self, names: &[String]) -> u64 {
        let mut known = BTreeMap::new();
        names.iter().map(|name| self.weight(name, &mut known)).fold(0, u64::saturating_add)
    }

    /// `None` in `known` is a name whose weight is being found: one that leads back to itself counts as too many, but for
    /// one that names itself, which is a recursion.
    fn weight(&self, name: &str, known: &mut BTreeMap<String, Option<u64>>) -> u64 {
        let name = name.strip_prefix('.').unwrap_or(name);
        let Some(inside) = self.0.get(name) else { return 1 };
        match known.get(name) {
            Some(Some(weight)) => return *weight,
            Some(None) => return MOST + 1,
            None => {}
        }
        known.insert(name.to_owned(), None);
        let others = inside.iter().filter(|other| *other != name);
        let weight = others.map(|other| self.weight(other, known)).fold(1, u64::saturating_add).min(MOST + 1);
        known.insert(name.to_owned(), Some(weight));
        weight
    }
}

/// A quoted name begins with this, so that it is no word of SQL and no bracket.
const QUOTED: char = '\u{1}';

/// Words and single marks, in small letters and without comments. Where they begin and end is what SQLite says: of what is
/// not ASCII all belongs to names.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            ' ' | '\t'..='\r' | '\u{feff}' => c.len_utf8(),
            _ if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '\'' | '"' | '`' | '[' => {
                let close = if c == '[' { ']' } else { c };
                let end = quoted_end(rest, close);
                let name = rest[1..end].to_lowercase();
                let twice = String::from_iter([close, close]);
                let name = if c == '[' { name } else { name.replace(&twice, &String::from(close)) };
                tokens.push(format!("{QUOTED}{name}"));
                (end + 1).min(rest.len())
            }
            _ if is_inner(c) => {
                let end = rest.find(|c| !is_inner(c)).unwrap_or(rest.len());
                tokens.push(rest[..end].to_lowercase());
                end
            }
            _ => {
                tokens.push(c.to_string());
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

/// Where a quotation that begins a text is closed; two marks in a row are one that belongs to it.
fn quoted_end(text: &str, close: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(close).map(|offset| at + offset) {
        if close == ']' || !text[end + 1..].starts_with(close) {
            return end;
        }
        at = end + 2;
    }
    text.len()
}

/// The name at a place. One behind a full stop keeps it, for it names no common table expression, so that it is no
/// recursion where it stands in one of the same name.
fn named(tokens: &[String], at: usize) -> String {
    let qualified = at > 0 && tokens[at - 1] == ".";
    if qualified { format!(".{}", bare(&tokens[at])) } else { bare(&tokens[at]) }
}

/// A name without the mark of a quoted one.
fn bare(token: &str) -> String {
    token.trim_start_matches(QUOTED).to_owned()
}

fn is_inner(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// The places of tokens that stand where a table may.
fn tables(tokens: &[String]) -> Vec<usize> {
    // Whether what is open is a list of tables, for each bracket.
    let mut open = vec![false];
    let mut found: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| tokens[before].as_str());
        let listed = open.last().copied().unwrap_or(false);
        let qualified = before == "." && found.last().is_some_and(|last| last + 2 == at);
        let begins = matches!(before, "from" | "join" | "in") || (listed && matches!(before, "," | "(")) || qualified;
        match token.as_str() {
            // Whatever else stands there is a name, also words that mean something elsewhere.
            word if begins && !matches!(word, "(" | ")" | "select" | "values" | ";") => found.push(at),
            "(" => open.push(begins),
            ")" if open.len() > 1 => drop(open.pop()),
            ")" => {}
            "from" | "join" => open.last_mut().into_iter().for_each(|open| *open = true),
            "select" | "where" | "group" | "having" | "order" | "limit" | "union" | "except" | "intersect" | ";" => {
                open.last_mut().into_iter().for_each(|open| *open = false);
            }
            _ => {}
        }
    }
    found
}

/// What is defined: a name, and where what it stands for begins and ends. At most one more than [`MOST_NAMES`].
fn definitions(tokens: &[String]) -> Vec<(String, usize, usize)> {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token == word);
    let closing = closing(tokens);
    let mut found = Vec::new();
    // Where the next `as` and the end of the statement are, when all is read from the end.
    let (mut body, mut end) = (None, tokens.len());
    for at in (0..tokens.len()).rev() {
        if found.len() > MOST_NAMES {
            break;
        }
        match tokens[at].as_str() {
            ";" => (body, end) = (None, at),
            "as" => {
                body = Some(at);
                let skipped = (1..=3).find(|ahead| is(at + ahead, "("));
                let only = |ahead: usize| (1..ahead).all(|n| is(at + n, "not") || is(at + n, "materialized"));
                if let Some(open) = skipped.filter(|ahead| only(*ahead)).map(|ahead| at + ahead) {
                    found.push((named_before(tokens, at), open, closing[open]));
                }
            }
            "view" => found.extend(body.map(|body| (named_before(tokens, body), body, end))),
            _ => {}
        }
    }
    found
}

/// For each bracket that opens, where it is closed.
fn closing(tokens: &[String]) -> Vec<usize> {
    let mut closing = vec![tokens.len(); tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" => open.push(at),
            ")" => open.pop().into_iter().for_each(|begin| closing[begin] = at),
            _ => {}
        }
    }
    closing
}

/// The name before an `as`, behind which columns may stand in brackets.
fn named_before(tokens: &[String], at: usize) -> String {
    let mut depth = 0_usize;
    for token in tokens[..at].iter().rev() {
        match token.as_str() {
            ")" => depth += 1,
            "(" => depth = depth.saturating_sub(1),
            name if depth == 0 => return bare(name),
            _ => {}
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfolded(text: &str) -> u64 {
        let mut names = Names::default();
        let all = names.read(text);
        all.map_or(0, |all| names.unfolded(&all))
    }

    #[test]
    fn ordinary_queries_stay_small() {
        for (text, most) in [
            ("select a, b from t where x in (select y from u) order by a, b", 2),
            ("with a as (select 1), b(x) as (select * from a) select a.x, b.x from a, b where a.x = b.x", 6),
            ("with recursive n(i) as (select 1 union all select i + 1 from n) select i from n", 3),
            ("select sales, sales, sales from (select sum(sales) as sales from sales)", 1),
            ("select 'from t, t, t' /* from t */ -- from t\nfrom [t]", 1),
            ("select sum(a) over w from t window w as (partition by b)", 1),
        ] {
            assert!((1..=most).contains(&unfolded(text)), "{text}: {}", unfolded(text));
        }
    }

    /// Thirty names, each of which stands for two of the one before; `N` is a name's number and `M` that of the one before.
    fn chain(first: &str, definition: &str, between: &str, last: &str) -> String {
        let of = |n: usize| definition.replace('N', &n.to_string()).replace('M', &(n - 1).to_string());
        format!("{first}{}{last}", (1..30).map(of).collect::<Vec<_>>().join(between))
    }

    #[test]
    fn names_that_multiply_are_counted_however_they_are_written() {
        let with = |name: &str, definition: &str| {
            chain(
                &format!("with {} as (select 1), ", name.replace('N', "0")),
                definition,
                ",",
                &format!(" select 1 from {}", name.replace('N', "29")),
            )
        };
        let view = |definition: &str| chain("create view t0 as select 1; ", definition, ";", "; select 1 from t29");
        let underscores = |n: usize| format!("{}window", "_".repeat(n));
        let windows = (1..30).map(|n| {
            let (own, before) = (underscores(n), underscores(n - 1));
            format!("{own} as (select ')', 1 from {before} a, {before} b)")
        });
        let windows = format!(
            "with window as (select 1), {} select 1 from {}",
            windows.collect::<Vec<_>>().join(","),
            underscores(29)
        );
        for text in [
            with("tN", "tN as (select 1 from tM a, TM b)"),
            with("tN", "[tN](x) as not materialized (select 1 from \"tM\" join `tM`)"),
            with("tN", "tN as (select 1 in tM, (select 1 from (tM, x)))"),
            with("\"select\"\"N\"", "\"select\"\"N\" as (select 1 from \"select\"\"M\" a, [select\"M] b)"),
            with("t\u{a0}N", "t\u{a0}N as (select 1 from t\u{a0}M a, t\u{a0}M b)"),
            with("tN", "tN as (select 1 from tM window, tM b)"),
            view("create view tN as select 1 from main.tM a, tM b"),
            view("create view tN as select 1 in main.tM, 2 in main.tM"),
            windows,
            String::from("create view v as select 1; with v as (select 1 from main.v a, main.v b) select 1 from v"),
            String::from("with a as (select 1 from b), b as (select 1 from a) select 1 from a"),
        ] {
            assert!(unfolded(&text) > MOST, "{text}: {}", unfolded(&text));
        }
    }

    #[test]
    fn long_texts_are_read_in_time() {
        for piece in ["(", ")", "as (", "view as ", "a as (b), ", "'", "--", "/*", "from t, "] {
            unfolded(&piece.repeat((1 << 16) / piece.len()));
        }
    }
}
